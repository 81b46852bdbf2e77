"""Runs an example agent again and again until it fails."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from .agent import Run, Scenario, run
from .models import Model
from .tracing import trace_to_otlp


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunt:
    """What became of it."""

    scenario: Scenario
    runs: tuple[Run, ...]

    @property
    def failure(self) -> Run | None:
        """The run that failed, which is the last one; None when none did."""
        last = self.runs[-1]
        return last if has_failed(self.scenario, last) else None

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens in and out of all runs, as far as the server counts them."""
        return sum(run.input_tokens for run in self.runs), sum(run.output_tokens for run in self.runs)


def has_failed(scenario: Scenario, finished: Run) -> bool:
    """Tells whether the run made the call that it should not make, or gave the answer that it should not give."""
    if scenario.event.startswith("text:"):
        return re.search(scenario.event[len("text:/") : -1], finished.answer) is not None
    return any(name == scenario.failure for name, _ in finished.calls)


def hunt(
    scenario: Scenario, model: Model, endpoint: str, *, tries: int, on_run: Callable[[Run], None] = lambda _: None
) -> Hunt:
    """Runs the agent until it fails, at least once and at most `tries` times, traced to an OTLP/HTTP endpoint.

    When it returns or raises, the spans are sent. Raises ModelError.
    """
    provider = trace_to_otlp(f"{scenario.name}-agent", endpoint)
    tracer = provider.get_tracer("example-agent")
    runs: list[Run] = []
    try:
        while not runs or (len(runs) < tries and not has_failed(scenario, runs[-1])):
            runs.append(run(scenario, model, tracer))
            on_run(runs[-1])
    finally:
        provider.shutdown()
    return Hunt(scenario=scenario, runs=tuple(runs))
