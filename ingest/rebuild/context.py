"""What the spans around a call add: agents hold tools and settings, tool spans hold schemas, HTTP spans the URL."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from ..calls import Json, MissingField
from ..dialects.dialogue import Call, Result, ToolDefinition
from ..dialects.fields import TOOLS
from ..dialects.partial import Found, PartialCall, Role, Trust
from .grouping import Draft, Tree
from .reading import Reading
from .repair import name_users


@dataclass(frozen=True, slots=True)
class RunTools:
    """What a run tells about the tools of its calls."""

    spans: Sequence[Reading]
    """The tool spans."""
    answered: AbstractSet[str]
    """Ids of the tool calls that a reply made and a later request brings the result of."""
    are_recorded: bool
    """Whether some call of the run holds its tools, so that a call without any had none."""

    @classmethod
    def of(cls, calls: Sequence[PartialCall], spans: Sequence[Reading]) -> "RunTools":
        """Returns what the calls and tool spans of a run tell."""
        replies = [reply for call in calls for reply in (call.replies.value if call.replies else ())]
        parts = [p for call in calls for m in (call.messages.value if call.messages else ()) for p in m.parts]
        made = {c.id for reply in replies for c in reply.tool_calls if c.id}
        answered = {p.call_id for p in parts if isinstance(p, Result)}
        return cls(spans, frozenset(made & answered), any(call.tools is not None for call in calls))


_SOME_TOOLS = MissingField(
    name="tools[] (tool names, descriptions, schemas)",
    reason="known only from tools that were called; those never called, and what no span describes, are missing",
    remedy="--tools FILE, or whyspan.record() in the agent's process",
)


def add_context(call: PartialCall, draft: Draft, tree: Tree, run: RunTools) -> PartialCall:
    """Returns the draft's call with the fields that only the spans around it have.

    Nothing that the call itself says is replaced.
    """
    outermost = draft.members[-1].span
    above = list(tree.ancestors(outermost))
    agents = [r.partial for r in above if r.role is Role.AGENT]
    call = name_users(call, agents)
    same_library = [r.partial for r in above if r.role is Role.AGENT and r.span.scope.name == outermost.scope.name]
    return replace(
        call,
        tools=call.tools or _first(a.tools for a in agents[:1]) or _known_tools(call, run),
        params={**_contextual(same_library, call), **call.params},
        # An enclosing call is the application's span that a library has written its settings to.
        model=call.model or _first(r.partial.model for r in above if r.role in (Role.AGENT, Role.CALL)),
        session_id=call.session_id or _first(a.session_id for a in agents),
        agent=call.agent or _first(a.agent for a in agents),
    )


def _first(candidates: Iterable[Found[Json] | None]) -> Found[Json] | None:
    found = next((c for c in candidates if c is not None), None)
    return Found(found.value, f"enclosing span, {found.source}", Trust.CONTEXT, found.gaps) if found else None


def _contextual(agents: Sequence[PartialCall], call: PartialCall) -> Mapping[str, Found[Json]]:
    """Returns settings of the enclosing spans, which some libraries write there only, and the nearest one's first."""
    if call.body is not None:
        return {}
    return {
        name: Found(found.value, f"enclosing span, {found.source}", Trust.CONTEXT)
        for agent in reversed(agents)
        for name, found in agent.params.items()
        if name not in call.retracted
    }


def _known_tools(call: PartialCall, run: RunTools) -> Found[tuple[ToolDefinition, ...]] | None:
    """Returns the tools that tool spans define or that the run has used: some of those offered; the gap says so."""
    if TOOLS not in call.unrecorded and (call.body is not None or run.are_recorded):
        return None
    by_name = {name: ToolDefinition(name=name) for name in _used(call, run.answered)}
    sources = ["tool calls"] if by_name else []
    for reading in run.spans:
        found = reading.partial.tools
        for tool in found.value if found else ():
            known = by_name.get(tool.name)
            if found is not None and (known is None or known.parameters is None):
                by_name[tool.name] = tool
                sources.append(f"tool spans, {found.source}")
    if not by_name:
        return None
    return Found(tuple(by_name.values()), sources[-1], Trust.CONTEXT, (_SOME_TOOLS,))


def _used(call: PartialCall, answered: AbstractSet[str]) -> Iterator[str]:
    """Yields the names of tools that the model could call.

    A convention that has a place for tools and shows none speaks against a call that nothing answered.
    """
    certain = TOOLS in call.unrecorded
    for message in call.messages.value if call.messages else ():
        for part in message.parts:
            if isinstance(part, Call) and part.name and (certain or part.id in answered):
                yield part.name
    for reply in call.replies.value if call.replies else ():
        for made in reply.tool_calls:
            if made.name and (certain or made.id in answered):
                yield made.name
