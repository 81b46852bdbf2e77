"""A claim: the verdict of an experiment over trials. Causes, fixes and regression tests are all claims."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ..ingest.calls import Json
from .attribution.problem import Tally
from .canonical import digest
from .cases import Case


class Verdict(StrEnum):
    """What an experiment says."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    HARMFUL = "harmful"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an intervention does to the rate of a case's target, measured. Scope `case`: the unit is a replay."""

    case: Case
    kind: str
    """`cause` (a removal), `fix` (an insertion or correction), or `none` (nothing tested is a cause)."""
    verdict: Verdict
    detail: str
    """For a cause, how it takes part (`pushes`, `required`, …); for a fix, how far it goes (`holds`, `reduces`, …)."""
    subject: str
    """What was removed or inserted, quoted."""
    intervention_id: str
    base: Tally
    """Outcomes of the request as it was sent."""
    changed: Tally
    """Outcomes with the intervention."""
    interval: tuple[float, float]
    """95 % interval of the effect."""
    e_value: float
    """Evidence against `the intervention does not lower the rate`; 0 when nothing was drawn."""
    alpha: float
    """The level it was tested at: `supported` needs an e-value of at least 1/alpha."""
    calls: int
    """Calls of the model in the whole experiment, those known from before included."""
    model: str
    """The model that was asked."""
    scope: str = "case"
    guards: Mapping[str, Json] | None = None
    """What a fix does to decisions that were right, as `Guarding.to_json` gives it; None where it was not measured."""
    parent: str = ""
    """Id of the claim whose cause this one explains, in a chain of causes."""
    by_logprobs: bool = False
    """The outcomes were drawn from probabilities that the model told, one call for all samples of a request."""
    chain_end: str = ""
    """Why a chain of causes ends with this cause, a word of `attribution.chain.End`; empty where it goes on."""

    @property
    def effect(self) -> float:
        """Rate with the intervention minus the base rate, in [-1, 1]."""
        return self.changed.rate - self.base.rate

    @property
    def id(self) -> str:
        """SHA-256 over case, kind and intervention, 64 hex digits: measuring again updates the same claim."""
        return digest([self.case.id, self.kind, self.intervention_id])

    def to_json(self) -> dict[str, Json]:
        """Returns the form that `--json`, case files and reports use."""
        return {
            "id": self.id,
            "case_id": self.case.id,
            "kind": self.kind,
            "detail": self.detail,
            "verdict": self.verdict.value,
            "scope": self.scope,
            "subject": self.subject,
            "target": self.case.target.spec,
            "effect": self.effect,
            "interval": list(self.interval),
            "base": {"target": self.base.target, "draws": self.base.draws, "rate": self.base.rate},
            "changed": {
                "target": self.changed.target,
                "other": self.changed.other,
                "asks": self.changed.asks,
                "draws": self.changed.draws,
                "rate": self.changed.rate,
            },
            "e_value": self.e_value,
            "alpha": self.alpha,
            "calls": self.calls,
            "by_logprobs": self.by_logprobs,
            "model": self.model,
            "parent": self.parent,
            "chain_end": self.chain_end,
        }


def span_id_of(*parts: str) -> str:
    """Returns the deterministic span id of a record, 16 hex digits, never all zero."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:15] + "1"
