"""What the spans around a call add: agents hold tools and settings, tool spans hold schemas, HTTP spans the URL."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ..calls import Json, MissingField
from ..dialects.dialogue import ToolDefinition
from ..dialects.partial import Found, PartialCall, Role, Trust
from .grouping import Draft, Tree
from .reading import Reading


def add_context(draft: Draft, tree: Tree, tools: Sequence[Reading]) -> PartialCall:
    """Returns the draft's partial call with the fields that only the spans around it have.

    `tools` are the tool spans of the trace. Nothing that the call itself says is replaced.
    """
    call = draft.partial
    outermost = draft.members[-1].span
    agents = [r.partial for r in tree.ancestors(outermost) if r.role is Role.AGENT]
    nearest = agents[:1]
    return replace(
        call,
        tools=call.tools or _first(a.tools for a in nearest) or _called_tools(call, tools),
        params=call.params or _contextual(nearest),
        model=call.model or _first(a.model for a in nearest),
        session_id=call.session_id or _first(a.session_id for a in agents),
        agent=call.agent or _first(a.agent for a in agents),
    )


def _first(candidates: Iterable[Found[Json] | None]) -> Found[Json] | None:
    found = next((c for c in candidates if c is not None), None)
    return Found(found.value, f"enclosing span, {found.source}", Trust.CONTEXT, found.gaps) if found else None


def _contextual(agents: Sequence[PartialCall]) -> Mapping[str, Found[Json]]:
    return {
        name: Found(found.value, f"enclosing span, {found.source}", Trust.CONTEXT)
        for agent in agents
        for name, found in agent.params.items()
    }


def _called_tools(call: PartialCall, tools: Sequence[Reading]) -> Found[tuple[ToolDefinition, ...]] | None:
    """Returns the definitions that tool spans carry: only of tools that were called, and the gap says so."""
    if call.body is not None and "tools" not in call.unrecorded:
        return None
    by_name: dict[str, ToolDefinition] = {}
    source = ""
    for reading in tools:
        found = reading.partial.tools
        for tool in found.value if found else ():
            if tool.parameters is not None and tool.name not in by_name:
                by_name[tool.name] = tool
                source = found.source if found else ""
    if not by_name:
        return None
    gap = MissingField(
        name="tools[] (tool names, descriptions, schemas)",
        reason="taken from the spans of executed tools, so tools that were offered and never called are missing",
        remedy="--tools FILE, or whyspan.record()",
    )
    return Found(tuple(by_name.values()), f"tool spans, {source}", Trust.CONTEXT, (gap,))
