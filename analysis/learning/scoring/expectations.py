"""What should come of a decision: `always EVENT` or `never EVENT`."""

from dataclasses import dataclass

from ....ingest.calls import ModelReply
from ....ingest.errors import UsageError
from ...targets import Target, parse_target


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """An outcome that is wanted, or not."""

    is_wanted: bool
    target: Target

    @property
    def text(self) -> str:
        """In words, for people."""
        return f"{'always' if self.is_wanted else 'never'}: {self.target.label}"

    def is_met(self, reply: ModelReply) -> bool:
        """Whether a reply is as it should be."""
        return self.target.matches(reply) == self.is_wanted


def parse_expectation(text: str) -> Expectation:
    """Reads `always EVENT` or `never EVENT`; UsageError for anything else."""
    word, _, event = text.partition(" ")
    if word not in ("always", "never") or not event:
        raise UsageError(f"{text!r} is not valid", hint="always EVENT or never EVENT")
    return Expectation(is_wanted=word == "always", target=parse_target(event))
