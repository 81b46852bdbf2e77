"""New scenarios: the shipped templates, and a decision that went wrong with decisions that must stay right."""

import json
import shutil
from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from ....ingest.errors import UsageError
from ....ingest.settings import nearest
from ...cases import Case
from ...fixes.guards import GuardCase
from ...yaml_files import yaml_form
from ..play.players import RECORDED
from .scenario import SCENARIOS, is_plain_name
from .variants import variants

TEMPLATES = Path(__file__).parent / "templates"
PLACEHOLDER = "__NAME__"
RUNS = 10
"""Plays of each variant of a decision."""


def template_names() -> list[str]:
    """Returns the shipped templates."""
    return sorted(p.parent.name for p in TEMPLATES.glob("*/scenario.yaml"))


def copy_template(template: str, name: str) -> Path:
    """Makes a scenario from a template; returns its folder. UsageError when there is one of that name."""
    if template not in template_names():
        raise UsageError(f"there is no template {template!r}", hint=nearest(template, template_names()))
    folder = _new_folder(name)
    shutil.copytree(TEMPLATES / template, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in folder.glob("*.yaml"):
        path.write_text(path.read_text("utf-8").replace(PLACEHOLDER, name), "utf-8")
    return folder


def write_variant_scenario(name: str, case: Case, family: str) -> Path:
    """Makes a scenario, and a sweep over its cases, of variants of a decision that was right.

    UsageError when there is nothing to change in it.
    """
    found = variants(family, case)
    content = {
        "family": family,
        "description": f"the agent is about to act: {case.target.label}",
        "evaluator": {"predicate": f"always {case.target.spec}"},
    }
    folder = _write(name, [(v.name, v.expect, v.case) for v in found], content)
    sweep = {"scenario": name, "runs_per_combo": RUNS, "variables": {"case": [v.name for v in found]}}
    _write_yaml(folder / "sweep.yaml", sweep)
    return folder


def write_decision_scenario(name: str, case: Case, guards: tuple[GuardCase, ...]) -> Path:
    """Makes a scenario of a decision that must not come again, and of decisions that must stay as they are.

    The contexts are frozen: only the one model call is replayed, and no tool runs.
    """
    kept = ((f"guard-{n}", f"always {g.case.target.spec}", g.case) for n, g in enumerate(guards, 1))
    content = {
        "family": "agent_task",
        "description": f"the agent is about to act: {case.target.label}",
        "evaluator": {"predicate": f"never {case.target.spec}"},
    }
    return _write(name, [("failing", f"never {case.target.spec}", case), *kept], content)


def _write(name: str, cases: Iterable[tuple[str, str, Case]], content: Mapping[str, Any]) -> Path:
    """Writes a scenario of frozen decisions, each with its name and what should come of it."""
    folder = _new_folder(name)
    (folder / "cases").mkdir(parents=True)
    for file, expect, case in cases:
        value = {"expect": expect, "case": case.to_json()}
        path = folder / "cases" / f"{file}.json"
        path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")
    whole = {"name": name, **content, "proposer": {"provider": RECORDED}, "cases": "cases/*.json"}
    _write_yaml(folder / "scenario.yaml", whole)
    return folder


def _write_yaml(path: Path, content: Mapping[str, Any]) -> None:
    out = StringIO()
    yaml_form().dump(dict(content), out)
    path.write_text(out.getvalue(), "utf-8")


def _new_folder(name: str) -> Path:
    if not is_plain_name(name):
        raise UsageError(f"{name!r} is no name for a scenario", hint="letters, digits, _ and -")
    folder = SCENARIOS / name
    if folder.exists():
        raise UsageError(f"{folder} exists already", hint="choose another --name")
    return folder
