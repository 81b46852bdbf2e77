"""How complete the recorded calls are, by the instrumentation that recorded them, and what would make them complete."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..calls import Grade, Json, MissingField, ModelCall
from ..conventions import SCOPE_NAME
from ..dialects.registry import dialects
from ..spans import LogRecord, Scope, Span
from .assembly import rebuild_calls
from .reading import read_spans

_NO_CALL = MissingField(
    name="model calls",
    reason="no span here is a model call: only HTTP, agent or tool spans, or spans without GenAI attributes",
    remedy="instrument the model's client library, or whyspan.record() in the agent's process",
)


@dataclass(slots=True)
class InstrumentationReport:
    """The calls that one instrumentation library recorded."""

    name: str
    """Instrumentation scope."""
    version: str = ""
    dialects: set[str] = field(default_factory=set)
    """The conventions its spans follow."""
    grades: Counter[Grade] = field(default_factory=Counter)
    gaps: Counter[MissingField] = field(default_factory=Counter)
    """What is missing → in how many calls; positions inside a request are left out."""

    @property
    def calls(self) -> int:
        """The number of calls."""
        return sum(self.grades.values())

    def advice(self) -> Mapping[tuple[str, str], Counter[str]]:
        """Returns (reason, remedy) → the fields it concerns and in how many calls, the most frequent first."""
        grouped: dict[tuple[str, str], Counter[str]] = {}
        for gap, count in self.gaps.most_common():
            grouped.setdefault((gap.reason, gap.remedy), Counter())[gap.name] += count
        return grouped


@dataclass(slots=True)
class Diagnosis:
    """What was found in one or more runs."""

    runs: int = 0
    runs_without_calls: int = 0
    instrumentations: dict[str, InstrumentationReport] = field(default_factory=dict)
    """Instrumentation scope → its report, also of scopes without a call."""
    unread: Counter[str] = field(default_factory=Counter)
    """Scopes whose spans no dialect reads → number of spans."""

    @property
    def grades(self) -> Counter[Grade]:
        """The calls of all instrumentations by grade."""
        total: Counter[Grade] = Counter()
        for report in self.instrumentations.values():
            total.update(report.grades)
        return total

    def add(self, spans: Sequence[Span], logs: Sequence[LogRecord]) -> None:
        """Takes the spans and logs of one run; those that whyspan wrote do not count."""
        own = [span for span in spans if span.scope.name != SCOPE_NAME]
        if not own:
            return
        self.runs += 1
        readings = read_spans(own, logs, dialects())
        by_id = {span.span_id: span for span in own}
        for reading in readings:
            self._report(reading.span.scope).dialects.update(reading.dialects)
        read = {reading.span.span_id for reading in readings}
        self.unread.update(span.scope.name for span in own if span.span_id not in read)
        calls = rebuild_calls(own, logs)
        for call in calls:
            self._count(call, by_id[call.span_id])
        if not calls:
            self.runs_without_calls += 1
            for reading in readings:
                self._report(reading.span.scope).gaps[_NO_CALL] += 1

    def _report(self, scope: Scope) -> InstrumentationReport:
        report = self.instrumentations.setdefault(scope.name, InstrumentationReport(scope.name))
        report.version = report.version or scope.version
        return report

    def _count(self, call: ModelCall, span: Span) -> None:
        report = self._report(span.scope)
        report.grades[call.completeness.grade] += 1
        report.gaps.update({_anywhere(gap) for gap in call.completeness.missing})

    def to_json(self) -> dict[str, Json]:
        """Returns the form that `whyspan doctor --json` prints."""
        return {
            "runs": self.runs,
            "runs_without_calls": self.runs_without_calls,
            "grades": _counts(self.grades),
            "instrumentations": [
                {
                    "name": report.name,
                    "version": report.version,
                    "dialects": sorted(report.dialects),
                    "calls": report.calls,
                    "grades": _counts(report.grades),
                    "missing": [{**gap.to_json(), "calls": count} for gap, count in report.gaps.most_common()],
                }
                for report in self.instrumentations.values()
            ],
            "unread_scopes": dict(self.unread),
        }


def diagnose(runs: Iterable[tuple[Sequence[Span], Sequence[LogRecord]]]) -> Diagnosis:
    """Returns the diagnosis of some runs, each given by its spans and log records."""
    diagnosis = Diagnosis()
    for spans, logs in runs:
        diagnosis.add(spans, logs)
    return diagnosis


def _counts(grades: Counter[Grade]) -> dict[str, int]:
    return {grade.value: grades[grade] for grade in Grade}


def _anywhere(gap: MissingField) -> MissingField:
    """Returns the gap without the position it has in one request, so that like gaps are counted together."""
    head, bracket, rest = gap.name.partition("[")
    name = head + rest.partition("]")[2] if bracket and head == "messages" else gap.name
    reason = "".join("N" if c.isdecimal() else c for c in gap.reason) if name != gap.name else gap.reason
    while "NN" in reason:
        reason = reason.replace("NN", "N")
    return MissingField(name=name, reason=reason, remedy=gap.remedy)
