"""Which run a word on the command line means."""

from collections.abc import Sequence
from typing import Any

from ..errors import NotFoundError, UsageError
from ..spans import TraceId
from .conditions import FOREIGN
from .querying import Sandbox

_SHOWN = 5


def resolve_run(sandbox: Sandbox, reference: str) -> list[TraceId]:
    """Returns the traces that `last`, a trace id or its beginning, or a session id stands for, the latest first.

    Only a session has several: instrumentations without a root span start a trace for each model call.
    """
    if reference == "last":
        return _found(latest_runs(sandbox, limit=1), reference, sandbox)
    by_prefix = latest_runs(sandbox, "starts_with(trace_id, ?)", [reference.lower()]) if reference else []
    if len(by_prefix) > 1:
        raise UsageError(
            f"{reference!r} is the beginning of several runs",
            hint="say more of it: " + ", ".join(by_prefix[:_SHOWN]),
        )
    return _found(by_prefix or latest_runs(sandbox, "session_id = ?", [reference], limit=None), reference, sandbox)


def _found(traces: list[str], reference: str, sandbox: Sandbox) -> list[TraceId]:
    if traces:
        return [TraceId(trace) for trace in traces]
    latest = latest_runs(sandbox)
    if not latest:
        raise NotFoundError(
            "the store has no runs yet",
            hint="send some to `whyspan serve`, bring them in with `whyspan import`, or see `whyspan demo`",
        )
    raise NotFoundError(f"no run {reference!r}", hint="the latest runs: " + ", ".join(latest[:_SHOWN]))


def latest_runs(
    sandbox: Sandbox,
    condition: str = "true",
    parameters: Sequence[Any] = (),
    *,
    limit: int | None = _SHOWN + 1,
) -> list[str]:
    """Returns the ids of the latest runs that meet a condition on trace_id, started and session_id, the latest first.

    Reads three columns of the spans where the view `runs` would count everything about every run.
    """
    query = f"""SELECT trace_id FROM (
  SELECT trace_id, min(started) AS started, arg_min(session_id, start_ns) AS session_id
  FROM spans WHERE {FOREIGN} GROUP BY trace_id)
WHERE {condition} ORDER BY started DESC, trace_id {f"LIMIT {limit}" if limit else ""}"""
    return [row[0] for row in sandbox.select(query, parameters).rows]
