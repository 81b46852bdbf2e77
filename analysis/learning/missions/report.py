"""How the steps of a mission stand."""

from dataclasses import dataclass
from enum import StrEnum

from ....ingest.calls import Json
from .mission import Step


class StepStatus(StrEnum):
    """How a step stands."""

    PASSED = "passed"
    FAILED = "failed"
    """Its verifier did not pass: the mission pauses, the output is kept."""
    WAITING = "waiting"
    """A step before it has not passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What came of a step."""

    step: Step
    status: StepStatus
    output: str = ""
    message: str = ""
    """What the verifier said last."""
    resumed: bool = False
    """It had passed before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissionReport:
    """How a mission stands."""

    mission: str
    trace_id: str
    steps: tuple[StepResult, ...]

    @property
    def is_done(self) -> bool:
        """Whether every step has passed."""
        return all(s.status is StepStatus.PASSED for s in self.steps)

    def to_json(self) -> dict[str, Json]:
        """Returns the form that `--json` uses."""
        return {
            "mission": self.mission,
            "trace_id": self.trace_id,
            "status": "done" if self.is_done else "paused",
            "steps": [
                {"id": s.step.id, "status": s.status.value, "message": s.message, "output": s.output,
                 "resumed": s.resumed}
                for s in self.steps
            ],
        }  # fmt: skip
