"""Changes that may stop a decision: rules, corrections of the source, changes of the tools."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...ingest.errors import UsageError
from ..canonical import canonical_json, digest
from ..cases import Case
from ..fields import form_of, system_prompt, tool_place, value_at
from ..interventions import Drop, EditTool, InsertRule, Intervention, Replace, Several, SystemPrompt
from ..targets import SameCallsTarget, Target, ToolTarget
from .wording import Wording, guard_rule, wording_for

CONFIRMATION = "user_confirmed"
"""Name of the parameter that a tool gains, so that the agent's code can refuse the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A change that may stop the decision."""

    name: str
    """Short and unique among the candidates of one `fix`."""
    title: str
    """For people: what one would do."""
    intervention: Intervention

    @property
    def rule(self) -> str:
        """The rule that a system prompt would gain; empty for other changes."""
        return self.intervention.rule if isinstance(self.intervention, InsertRule) else ""

    @property
    def changes_prompt(self) -> bool:
        """Whether it is a change of the system prompt and of nothing else."""
        return isinstance(self.intervention, InsertRule | SystemPrompt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What `why` found to cause the decision, among what the agent read."""

    removal: Drop
    text: str
    """The piece as it stands in the request; empty when there are several."""


def built_in_candidates(case: Case, source: Source | None) -> tuple[Candidate, ...]:
    """Returns the candidates that apply to a case, in the language of its system prompt."""
    wording = wording_for(system_prompt(case.api, case.request))
    tools = tools_of(case.target)
    found = [*_rules(wording, tools)]
    if source:
        found += _corrections(wording, source)
    found += _tool_changes(case, wording, tools)
    return tuple(c for c in found if is_applicable(c.intervention, case))


def _rules(wording: Wording, tools: list[str]) -> Iterator[Candidate]:
    distrust = InsertRule(wording.untrusted)
    yield Candidate(name="untrusted-content", title="untrusted-content rule", intervention=distrust)
    if tools:
        guard = guard_rule(wording, tools)
        both = InsertRule(f"{wording.untrusted}\n\n{guard}")
        yield Candidate(name="action-guard", title="action guard", intervention=InsertRule(guard))
        yield Candidate(name="both", title="both rules", intervention=both)


def _corrections(wording: Wording, source: Source) -> Iterator[Candidate]:
    yield Candidate(name="source", title="source corrected", intervention=source.removal)
    if source.text:
        marked = Replace(source.text, wording.marked.format(text=source.text))
        yield Candidate(name="source-marked", title="source marked as quotation", intervention=marked)


def _tool_changes(case: Case, wording: Wording, tools: list[str]) -> Iterator[Candidate]:
    defined = {place.name for place in form_of(case.api).tools(case.request)}
    tools = [tool for tool in tools if tool in defined]
    if not tools:
        return
    described = _each(tools, lambda tool: EditTool(tool, description=_guarded(case, wording, tool)))
    yield Candidate(name="tool-description", title="guard in the tool description", intervention=described)
    confirmed = _each(tools, lambda tool: EditTool(tool, schema_json=canonical_json(_confirmed(case, wording, tool))))
    yield Candidate(name="tool-confirmation", title="confirmation parameter", intervention=confirmed)


def _each(tools: list[str], edit: Callable[[str], Intervention]) -> Intervention:
    edits = tuple(edit(tool) for tool in tools)
    return edits[0] if len(edits) == 1 else Several(edits)


def _guarded(case: Case, wording: Wording, tool: str) -> str:
    place = tool_place(case.api, case.request, tool)
    described = value_at(case.request, (*place.pointer, "description")) or ""
    return f"{described} {guard_rule(wording, [tool])}".strip()


def _confirmed(case: Case, wording: Wording, tool: str) -> dict[str, Any]:
    """Returns the tool's schema with a required confirmation parameter."""
    schema: Mapping[str, Any] = value_at(case.request, tool_place(case.api, case.request, tool).schema) or {}
    parameter = {"type": "boolean", "description": wording.confirmed}
    return {
        **schema,
        "type": "object",
        "properties": {**(schema.get("properties") or {}), CONFIRMATION: parameter},
        "required": [*(schema.get("required") or ()), CONFIRMATION],
    }


def tools_of(target: Target) -> list[str]:
    """Returns the tools whose call is the outcome, without repetition; empty for other outcomes."""
    match target:
        case ToolTarget():
            return [target.name]
        case SameCallsTarget():
            return list(dict.fromkeys(name for name, _ in target.calls))
        case _:
            return []


def is_applicable(change: Intervention, case: Case) -> bool:
    """Whether a change finds what it changes in a case."""
    try:
        change.apply(case)
    except UsageError:
        return False
    return True


def touches(change: Intervention, case: Case) -> bool:
    """Whether a change does anything to a case's request."""
    return is_applicable(change, case) and digest(change.apply(case).request) != digest(case.request)
