"""A case: one frozen decision, which is the exact model request and the outcome asked about.

Its identity is the SHA-256 of its canonical JSON, so the same decision has the same id in every store and file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..ingest.calls import Api, Body, Grade, Json, ModelCall
from ..ingest.errors import FormatError, NotReplayableError
from .canonical import digest
from .targets import Target, parse_target


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a case was recorded; not part of its identity."""

    trace_id: str = ""
    span_id: str = ""
    start_ns: int = 0
    """Unix time of the recorded call in nanoseconds."""
    service: str = ""
    provider: str = ""
    """The provider as it was recorded; says where replays may go."""
    base_url: str = ""
    """Where the request went, as far as it was recorded."""
    grade: str = Grade.EXACT.value
    """How complete the rebuilt request is."""

    def to_json(self) -> dict[str, Json]:
        """Returns the form used in case files."""
        return {
            "trace_id": self.trace_id,
            "span_id": self.span_id,
            "start_ns": self.start_ns,
            "service": self.service,
            "provider": self.provider,
            "base_url": self.base_url,
            "grade": self.grade,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One frozen decision."""

    api: Api
    request: Body
    """The provider-native body, as it was sent. It always holds its `model`, also for APIs that have it in the URL."""
    target: Target
    origin: Origin = field(default_factory=Origin)

    @property
    def id(self) -> str:
        """SHA-256 over request and target, 64 hex digits."""
        return digest({"api": self.api.value, "request": self.request, "target": self.target.spec})

    def with_request(self, request: Body) -> "Case":
        """Returns the same question about another request."""
        return replace(self, request=request)

    def to_json(self) -> dict[str, Json]:
        """Returns the form used in case files."""
        return {
            "api": self.api.value,
            "target": self.target.spec,
            "request": dict(self.request),
            "origin": self.origin.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Case":
        """Reads what `to_json` wrote; FormatError names the field that is wrong."""
        try:
            return cls(
                api=Api(value["api"]),
                target=parse_target(value["target"]),
                request=value["request"],
                origin=Origin(**value["origin"]),
            )
        except KeyError as error:
            raise FormatError(f"the case has no field {error.args[0]!r}") from error
        except (TypeError, ValueError) as error:
            raise FormatError(f"the case cannot be read: {error}") from error


def freeze(call: ModelCall, target: Target) -> Case:
    """Returns the case of a recorded call.

    Raises NotReplayableError when the messages were not recorded; the hint is the first remedy that is known.
    """
    complete = call.completeness
    if complete.grade is Grade.NOT_REPLAYABLE:
        missing = complete.missing[0] if complete.missing else None
        reason = f": {missing.name} ({missing.reason})" if missing else ""
        remedy = next((m.remedy for m in complete.missing if m.remedy), None)
        raise NotReplayableError(f"call {call.span_id[:8]} cannot be replayed{reason}", hint=remedy)
    origin = Origin(
        trace_id=call.trace_id,
        span_id=call.span_id,
        start_ns=call.start_ns,
        service=call.service,
        provider=call.provider,
        base_url=call.base_url,
        grade=complete.grade.value,
    )
    named = {} if "model" in call.request or not call.request_model else {"model": call.request_model}
    return Case(api=call.api, request={**call.request, **named}, target=target, origin=origin)
