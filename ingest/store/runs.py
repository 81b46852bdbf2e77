"""Which run a word on the command line means."""

import duckdb

from ..errors import NotFoundError, UsageError
from ..spans import TraceId

_SHOWN = 5


def resolve_run(db: duckdb.DuckDBPyConnection, reference: str) -> TraceId:
    """Returns the trace that `last`, a trace id or its beginning, or a session id stands for."""
    if reference == "last":
        return _only(_latest(db, "true", []), reference, db)
    by_prefix = _latest(db, "starts_with(run_id, ?)", [reference.lower()]) if reference else []
    if len(by_prefix) > 1:
        raise UsageError(
            f"{reference!r} is the beginning of several runs",
            hint="say more of it: " + ", ".join(by_prefix[:_SHOWN]),
        )
    return _only(by_prefix or _latest(db, "session_id = ?", [reference]), reference, db)


def _only(found: list[str], reference: str, db: duckdb.DuckDBPyConnection) -> TraceId:
    if found:
        return TraceId(found[0])
    latest = _latest(db, "true", [])
    if not latest:
        raise NotFoundError(
            "the store has no runs yet",
            hint="send some to `whyspan serve`, bring them in with `whyspan import`, or see `whyspan demo`",
        )
    raise NotFoundError(f"no run {reference!r}", hint="the latest runs: " + ", ".join(latest[:_SHOWN]))


def _latest(db: duckdb.DuckDBPyConnection, condition: str, parameters: list[str]) -> list[str]:
    query = f"SELECT run_id FROM runs WHERE {condition} ORDER BY started DESC, run_id LIMIT {_SHOWN + 1}"
    return [row[0] for row in db.execute(query, parameters).fetchall()]
