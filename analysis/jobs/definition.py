"""`[jobs.NAME]` in whyspan.toml.

[jobs.nightly]
select = "list_contains(tool_names, 'issue_refund') AND claims = 0"
do = ["why", "fix", "test"]
budget = 2000
budget_month = 20000
notify = ["slack:$SLACK_URL"]
"""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from ...ingest.errors import ConfigError, UsageError
from ...ingest.settings import load_section, nearest

DEFAULT_TARGETS = ("otlp",)
"""Where `writeback` sends claims."""


class Step(StrEnum):
    """What a job does with a decision, in this order whatever the order given."""

    ODDS = "odds"
    """Measure how often the model decides so."""
    WHY = "why"
    FIX = "fix"
    TEST = "test"
    """Write a regression test."""
    WRITEBACK = "writeback"
    """Send the claims to the trace's own back end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job, one field a key of its table."""

    name: str
    select: str = ""
    """A query that gives trace_id, span_id (event, started), or a condition on `decisions`."""
    triage: int = 0
    """Instead of `select`: so many of the decisions that triage ranks first."""
    do: tuple[Step, ...] = (Step.WHY,)
    limit: int = 100
    """Decisions that one run takes on."""
    budget: int = 2000
    """Replays that one run may pay for."""
    budget_month: int | None = None
    """Replays that all runs of a calendar month (UTC) may pay for."""
    max_cost: float | None = None
    """US dollars for one run."""
    max_cost_month: float | None = None
    """US dollars for a calendar month."""
    per_decision: int = 400
    """Replays for each experiment on one decision, those known from before included."""
    samples: int = 40
    """Replays for `odds`."""
    depth: int | None = None
    """Links that `why` follows a cause back, as its option `--depth`; None: as many as that follows unless told."""
    concurrency: int = 8
    """Replays in flight at once, and decisions worked on at once."""
    model: str = ""
    """Ask this model instead of the recorded one."""
    model_fn: str = ""
    """`FILE:FUNCTION` answers the replays."""
    base_url: str = ""
    """An endpoint that answers them."""
    tests: str = "tests/whyspan"
    """Folder for written tests."""
    to: tuple[str, ...] = DEFAULT_TARGETS
    """Targets of `writeback`: `otlp`, `langfuse`, `phoenix`, `mlflow`."""
    endpoint: str = ""
    """OTLP/HTTP endpoint for the target `otlp`; $OTEL_EXPORTER_OTLP_ENDPOINT when empty."""
    include_content: bool = False
    """Write back what the claims quote from the trace as well."""
    notify: tuple[str, ...] = ()
    """`stdout`, `webhook:URL`, `slack:URL`; `$NAME` in a URL is taken from the environment."""


KINDS: dict[str, tuple[type, ...]] = {
    "select": (str,), "triage": (int,), "do": (list,), "limit": (int,), "budget": (int,), "budget_month": (int,),
    "max_cost": (int, float), "max_cost_month": (int, float), "per_decision": (int,), "samples": (int,),
    "depth": (int,), "concurrency": (int,), "model": (str,), "model_fn": (str,), "base_url": (str,), "tests": (str,),
    "to": (list,), "endpoint": (str,), "include_content": (bool,), "notify": (list,),
}  # fmt: skip
MAY_BE_ZERO = frozenset({"max_cost", "max_cost_month", "depth"})
WORDS = {str: "text", int: "a whole number", float: "a number", list: "a list", bool: "true or false"}


def load_jobs() -> dict[str, Job]:
    """Returns the jobs of the settings files by name. Raises ConfigError that names what is wrong."""
    return {name: _read(name, table) for name, table in load_section("jobs").items()}


def find_job(name: str) -> Job:
    """Returns a job; UsageError names the nearest one there is."""
    jobs = load_jobs()
    if name not in jobs:
        hint = nearest(name, jobs) if jobs else 'define one: [jobs.NAME] with select = "…" in whyspan.toml'
        raise UsageError(f"there is no job {name!r}", hint=hint)
    return jobs[name]


def _read(name: str, table: Any) -> Job:
    where = f"[jobs.{name}]"
    if not isinstance(table, dict):
        raise ConfigError(f"{where} must be a table, not {table!r}")
    known = [field.name for field in fields(Job) if field.name != "name"]
    for key, value in table.items():
        if key not in known:
            raise ConfigError(f"{where}: unknown key {key!r}", hint=nearest(key, known))
        _check(where, key, value)
    if bool(table.get("select")) == bool(table.get("triage")):
        raise ConfigError(f"{where} needs select or triage, one of the two")
    lists = {"notify": tuple(table.get("notify", ())), "to": tuple(table.get("to", DEFAULT_TARGETS))}
    _check_targets(lists["to"])
    values = {**table, **lists, "do": _steps(where, table.get("do", ["why"]))}
    return Job(name=name, **values)


def _check_targets(names: tuple[str, ...]) -> None:
    """Raises UsageError for a target of write-back that there is not; loads them only when one is named."""
    if names != DEFAULT_TARGETS:
        from ..writeback.registry import find_target

        for name in names:
            find_target(name)


def _check(where: str, key: str, value: Any) -> None:
    kinds = KINDS[key]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = is_number if kinds != (bool,) and kinds[0] is int else isinstance(value, kinds)
    if not fits or (is_number and not isinstance(value, kinds)):
        raise ConfigError(f"{where} {key} must be {WORDS[kinds[-1]]}, not {value!r}")
    if is_number and value < (0 if key in MAY_BE_ZERO else 1):
        raise ConfigError(f"{where} {key} cannot be {value}")
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{where} {key} must be a list of words, not {value!r}")


def _steps(where: str, words: list[str]) -> tuple[Step, ...]:
    known = [step.value for step in Step]
    for word in words:
        if word not in known:
            raise ConfigError(f"{where} do: unknown step {word!r}", hint=nearest(word, known))
    if not words:
        raise ConfigError(f"{where} do is empty", hint="steps: " + ", ".join(known))
    return tuple(step for step in Step if step in words)
