"""What a view is, and the columns and macros that many of them share."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..bodies import FOLDED


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a view."""

    name: str
    type: str
    """DuckDB type."""
    sql: str
    """How it is computed from the view's source."""
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A view: `SELECT columns FROM source`."""

    name: str
    help: str
    columns: tuple[Column, ...]
    source: str

    @property
    def sql(self) -> str:
        """The statement that creates the view."""
        columns = ",\n  ".join(f'({column.sql})::{column.type} AS "{column.name}"' for column in self.columns)
        return f"CREATE VIEW {self.name} AS SELECT\n  {columns}\n{self.source}"


def same(type: str, *columns: tuple[str, str]) -> Iterator[Column]:
    """Yields columns that are in the source under the same name: (name, help) of each."""
    return (Column(name, type, name, help) for name, help in columns)


IDS = tuple(same("VARCHAR", ("trace_id", "Trace, 32 hex digits."), ("span_id", "Span, 16 hex digits.")))

SENDER = tuple(same("VARCHAR", ("service", "`service.name` of the sender."), ("session_id", "Conversation.")))

STARTED = Column("started", "TIMESTAMP", "started", "Start, UTC.")

USAGE = (
    Column("input_tokens", "BIGINT", "input_tokens", "Tokens of the request."),
    Column("output_tokens", "BIGINT", "output_tokens", "Tokens of the reply."),
    Column("cost_usd", "DOUBLE", "cost_usd", "Cost as recorded; never computed here."),
)

ERROR = Column("error", "VARCHAR", "error", "Error type or message; NULL when nothing failed.")

LATENCY = Column("latency_ms", "DOUBLE", "duration_ms", "Duration in milliseconds.")


def attribute(name: str, type: str, key: str, help: str, attributes: str = "attributes") -> Column:
    """Returns a column that is an attribute of the span; NULL where it is absent or of another type."""
    return Column(name, type, f"try_cast(attr({attributes}, '{key}') AS {type})", help)


_ARGUMENT = (
    "list_filter(list_transform(list_filter(tool_calls, lambda call: call.name = tool AND json_valid(call.arguments)), "
    "lambda call: call.arguments ->> path), lambda value: value IS NOT NULL)[1]"
)

MACROS = {
    "whole": f"(kind, text) AS (CASE WHEN ends_with(kind, '{FOLDED}') THEN unfold(text) ELSE text END)",
    "pair_text": "(pair) AS (whole(pair.kind, pair.value))",
    "attr": "(attributes, name) AS (pair_text(list_filter(attributes, lambda pair: pair.key = name)[1]))",
    "argument": f"(tool_calls, tool, path) AS ({_ARGUMENT})",
}
"""`attr(attributes, 'key')`: the value of an attribute as text, NULL when there is none.
`argument(tool_calls, 'tool', '$.path')`: what a call of the tool passes there, as text, NULL when nothing does.
"""
