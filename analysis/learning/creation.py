"""New scenarios: the shipped templates, and a decision that went wrong with decisions that must stay right."""

import json
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

from ...ingest.errors import UsageError
from ...ingest.settings import nearest
from ..cases import Case
from ..fixes.guards import GuardCase
from ..yaml_files import yaml_form
from .scenario import SCENARIOS

TEMPLATES = Path(__file__).parent / "templates"
PLACEHOLDER = "__NAME__"


def template_names() -> list[str]:
    """Returns the shipped templates."""
    return sorted(p.parent.name for p in TEMPLATES.glob("*/scenario.yaml"))


def copy_template(template: str, name: str) -> Path:
    """Makes a scenario from a template; returns its folder. UsageError when there is one of that name."""
    if template not in template_names():
        raise UsageError(f"there is no template {template!r}", hint=nearest(template, template_names()))
    folder = _new_folder(name)
    shutil.copytree(TEMPLATES / template, folder, ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "scenario.yaml"
    path.write_text(path.read_text("utf-8").replace(PLACEHOLDER, name), "utf-8")
    return folder


def write_decision_scenario(name: str, case: Case, guards: tuple[GuardCase, ...]) -> Path:
    """Makes a scenario of a decision that must not come again, and of decisions that must stay as they are.

    The contexts are frozen: only the one model call is replayed, and no tool runs.
    """
    folder = _new_folder(name)
    (folder / "cases").mkdir(parents=True)
    cases = [("failing", "never", case), *((f"guard-{n}", "always", g.case) for n, g in enumerate(guards, 1))]
    for file, word, frozen in cases:
        value = {"expect": f"{word} {frozen.target.spec}", "case": frozen.to_json()}
        path = folder / "cases" / f"{file}.json"
        path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")
    content: dict[str, Any] = {
        "name": name,
        "family": "tool_fragility",
        "description": f"the agent is about to act: {case.target.label}",
        "proposer": {"provider": "recorded"},
        "evaluator": {"predicate": f"never {case.target.spec}"},
        "cases": "cases/*.json",
    }
    out = StringIO()
    yaml_form().dump(content, out)
    (folder / "scenario.yaml").write_text(out.getvalue(), "utf-8")
    return folder


def _new_folder(name: str) -> Path:
    if not name or not all(c.isalnum() or c in "_-" for c in name):
        raise UsageError(f"{name!r} is no name for a scenario", hint="letters, digits, _ and -")
    folder = SCENARIOS / name
    if folder.exists():
        raise UsageError(f"{folder} exists already", hint="choose another --name")
    return folder
