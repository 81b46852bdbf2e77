"""What an importer of another back end is: it yields batches, each with the position to go on from after it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from ..spans import LogRecord, Span
from .decoded import Reject

Position: TypeAlias = Mapping[str, Any]
"""JSON; only its source understands it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What to import; an empty selection is everything."""

    start_ns: int | None = None
    """Unix ns; None: from where the last import of this selection ended, at first from the beginning."""
    end_ns: int | None = None
    """Unix ns, exclusive; None: until now."""
    is_rolling: bool = False
    """The start is relative to now (`--since`): a later import goes on where the last one ended."""
    trace_ids: tuple[str, ...] = ()
    """Ids in the back end's own words."""
    session_id: str = ""
    tags: tuple[str, ...] = ()
    """Any of them."""
    name: str = ""
    """Name of the trace."""
    environment: str = ""
    projects: tuple[str, ...] = ()

    def words(self) -> dict[str, Any]:
        """Returns the filters without the times: what an import must have in common with an earlier one."""
        lists = {"traces": self.trace_ids, "tags": self.tags, "projects": self.projects}
        texts = {"session": self.session_id, "name": self.name, "environment": self.environment}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in {**lists, **texts}.items() if v}


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Some of what a source has."""

    spans: tuple[Span, ...] = ()
    logs: tuple[LogRecord, ...] = ()
    """Scores, as evaluation events."""
    rejects: tuple[Reject, ...] = ()
    version_key: str = ""
    """The attribute that says when a span was last changed, ISO 8601, where the back end changes spans."""
    position: Position
    """Where to go on once this batch is stored."""


class Source(Protocol):
    """A back end to import from."""

    @property
    def key(self) -> str:
        """Back end, project and selection: imports with the same key continue one another."""

    def batches(self, position: Position | None) -> Iterator[Batch]:
        """Yields what there is from a position on; None is the beginning.

        Raises UpstreamError when the back end fails for good, ConfigError when it refuses the keys.
        """
