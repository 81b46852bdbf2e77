"""A chain of causes: from a decision back to the outside text or tool that started it, one attribution a link."""

from dataclasses import dataclass
from enum import StrEnum

from ....ingest.calls import Json
from ....ingest.errors import WhyspanError
from ...cases import Case
from ...claims import Claim
from ...segments import Segment
from ..why import WhyReport
from .sources import Source, Way


class End(StrEnum):
    """Why a chain ends where it does."""

    OUTSIDE = "outside"
    """No model of the run wrote the cause: it is the user's words, a prompt or a tool's description."""
    TOOL = "tool"
    """The cause came with a tool's result, and nothing that the caller had read led to that call."""
    OWN = "own"
    """An earlier call wrote the cause, and does so whatever is taken from what it had read."""
    UNTRACED = "untraced"
    """The model wrote the cause or called for it, in a call that the trace does not hold."""
    NOT_REPLAYABLE = "not_replayable"
    """The request that gave rise to the cause was not recorded."""
    RARE = "rare"
    """The earlier call seldom writes it again, so that sampling cannot tell why it did."""
    UNRESOLVED = "unresolved"
    """The earlier call depends on what it had read, but no single cause with a large effect could be confirmed."""
    DIFFUSE = "diffuse"
    """Many pieces contribute a little: there is no one text to follow."""
    DEPTH = "depth"
    """As many links as were asked for."""
    BUDGET = "budget"
    """The budget ended; the same command goes on from here, and pays for nothing twice."""
    FAILED = "failed"
    """The model of the earlier call could not be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A decision of the run and the piece that caused it, which a later link, or none, explains."""

    report: WhyReport
    claim: Claim
    """The headline of the report."""
    piece: Segment
    """The piece of the claim that was followed."""
    source: Source | None
    """The earlier call that the piece came from, when it was found."""
    number: int | None
    """N of `#N` in the run."""
    judged: str
    """How a reply counted as the decision, in words; empty for the decision that was asked about."""

    def to_json(self) -> dict[str, Json]:
        """Returns the form that `--json` uses."""
        source = self.source
        return {
            "claim": self.claim.to_json(),
            "trace_id": self.report.case.origin.trace_id,
            "span_id": self.report.case.origin.span_id,
            "number": self.number,
            "service": self.report.case.origin.service,
            "judged": self.judged,
            "piece": self.piece.text,
            "place": self.piece.place,
            "came_by": source.way.value if source else None,
            "came_from": source.call.span_id if source else None,
            "replays": self.report.attribution.draws,
            "paid": self.report.paid,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The links from the decision backwards, and why there are no more."""

    links: tuple[Link, ...]
    """At least one: the decision that was asked about."""
    end: End
    note: str = ""
    """What stood in the way, where something did."""
    failure: WhyspanError | None = None
    """The error that ended it, where one did."""
    asked: Case | None = None
    """The earlier decision that was asked about last and gave no further link; None when none was."""
    alpha: float
    """Bound on the chance that any claim of the links is false; a single link is bounded as `why` bounds its claims."""
    replays: int
    """Of all links, and of the attempt at a further one."""
    paid: int

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims of the links."""
        return tuple(claim for link in self.links for claim in link.report.claims)

    @property
    def origin(self) -> Link | None:
        """The link whose piece is the outside text that the words came from; None when the chain ends before one.

        Links behind it say how the agent came to read that text.
        """
        for link in self.links:
            if link.source is None:
                return link if self.end is End.OUTSIDE else None
            if link.source.way is Way.RESULT:
                return link
        return None

    def to_json(self) -> dict[str, Json]:
        """Returns the form that `--json` uses."""
        origin = self.origin
        return {
            "alpha": self.alpha,
            "end": self.end.value,
            "note": self.note,
            "origin": None if origin is None else self.links.index(origin),
            "links": [link.to_json() for link in self.links],
            "replays": self.replays,
            "paid": self.paid,
        }
