"""Model calls that no span reports, of frameworks that record agents and tools only.

An agent that ran tools asked a model before each round of them and once after the last. Its own span may hold the
whole conversation. What can be known of these requests is given; that they are inferred is said in `missing`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..calls import MissingField, ModelReply
from ..dialects.answers import reply_of
from ..dialects.dialogue import Call, Message, Part, Result, Structured
from ..dialects.fields import NEVER_IN_SEMCONV, SETTINGS, TOOLS
from ..dialects.partial import Found, PartialCall, Role, Trust
from ..spans import Span, SpanId, TraceId
from .grouping import Draft, Tree
from .reading import Reading

_ROUND_GAP_NS = 10_000_000
"""Tools of one round start while others run, or right after; no model answers within this time."""
_REMEDY = "add the instrumentation of the model's client library, or whyspan.record() in the agent's process"
_FROM_TRANSCRIPT = MissingField(
    name="model call",
    reason="no span reports this call; the request is inferred from the agent's own record of the conversation",
    remedy=_REMEDY,
)
_FROM_TOOLS = MissingField(
    name="messages (text, roles, names, tool call args, call ids, result ids, images)",
    reason="no span reports this call; that it was made follows from the tools the agent ran",
    remedy=_REMEDY,
)


def implied_drafts(readings: Sequence[Reading], tree: Tree) -> list[Draft]:
    """Returns a draft for each call that must have been made, of traces in which no span reports any."""
    reported = {r.span.trace_id for r in readings if r.role in (Role.CALL, Role.ECHO)}
    silent = [r for r in readings if r.span.trace_id not in reported]
    agents = [r for r in silent if r.role is Role.AGENT]
    tools: dict[tuple[TraceId, SpanId], list[Reading]] = {}
    for reading in silent:
        agent = _agent_of(reading, tree) if reading.role is Role.TOOL else None
        if agent is not None:
            tools.setdefault((agent.span.trace_id, agent.span.span_id), []).append(reading)
    drafts: list[Draft] = []
    for agent in agents:
        own = tools.get((agent.span.trace_id, agent.span.span_id), [])
        if _has_transcript(agent):
            inner = any(_has_transcript(a) and agent in tree.ancestors(a.span) for a in agents)
            drafts += [] if inner else _from_transcript(agent, own)
        elif own and not any(_has_transcript(a) for a in tree.ancestors(agent.span)):
            drafts += _from_tools(agent, own)
    return drafts


def _agent_of(tool: Reading, tree: Tree) -> Reading | None:
    return next((r for r in tree.ancestors(tool.span) if r.role is Role.AGENT), None)


def _has_transcript(agent: Reading) -> bool:
    found = agent.partial.messages
    return found is not None and any(m.role == "assistant" for m in found.value)


def _from_transcript(agent: Reading, tools: Sequence[Reading]) -> Iterator[Draft]:
    """Yields a draft for each answer of the model after the last message of the user."""
    found = agent.partial.messages
    if found is None:
        return
    messages = found.value
    asked = max((i for i, m in enumerate(messages) if m.role == "user"), default=-1)
    spans = _Spans(agent, tools)
    for i, message in enumerate(messages):
        if i > asked and message.role == "assistant":
            request = Found(messages[:i], f"transcript, {found.source}", Trust.CONTEXT, (_FROM_TRANSCRIPT,))
            replies = _reply(message, f"transcript, {found.source}")
            partial = replace(_implied(agent.partial), messages=request, replies=replies)
            yield Draft(spans.next(message), partial, (agent,))


def _from_tools(agent: Reading, tools: Sequence[Reading]) -> Iterator[Draft]:
    """Yields a draft before each round of tools and one after the last."""
    rounds = _rounds(sorted(tools, key=lambda r: r.span.start_ns))
    spans = _Spans(agent, tools)
    history: list[Message] = []
    for executed in [*rounds, []]:
        made = tuple(p for r in executed for p in _parts(r) if isinstance(p, Call) and p.arguments is not None)
        answer = Message(role="assistant", parts=made)
        request = Found(tuple(history), "tool spans", Trust.CONTEXT, (_FROM_TOOLS,))
        replies = _reply(answer, "tool spans") if made else None
        yield Draft(spans.of(executed), replace(_implied(agent.partial), messages=request, replies=replies), (agent,))
        history += [answer] if made else []
        history += [Message(role="tool", parts=(p,)) for r in executed for p in _results(r)]


def _reply(answer: Message, source: str) -> Found[tuple[ModelReply, ...]]:
    return Found((reply_of(answer),), source, Trust.CONTEXT)


def _rounds(tools: Sequence[Reading]) -> list[list[Reading]]:
    rounds: list[list[Reading]] = []
    busy_until = 0
    for tool in tools:
        if not rounds or tool.span.start_ns > busy_until + _ROUND_GAP_NS:
            rounds.append([])
        rounds[-1].append(tool)
        busy_until = max(busy_until, tool.span.end_ns)
    return rounds


def _parts(tool: Reading) -> tuple[Part, ...]:
    return tool.partial.messages.value[0].parts if tool.partial.messages else ()


def _results(tool: Reading) -> Iterator[Result]:
    for part in _parts(tool):
        if isinstance(part, Result):
            is_lost = isinstance(part.content, Structured) and part.content.value is None
            yield replace(part, content=None) if is_lost or part.content == "" else part


def _implied(agent: PartialCall) -> PartialCall:
    return replace(
        agent,
        role=Role.CALL,
        usage=None,
        response_id=None,
        unrecorded=NEVER_IN_SEMCONV | SETTINGS | {TOOLS},
        content_switch="",
    )


class _Spans:
    """Gives each implied call the span that stands for it: the first tool it asked for, at last the agent."""

    def __init__(self, agent: Reading, tools: Sequence[Reading]) -> None:
        self._agent = agent.span
        self._tools = sorted(tools, key=lambda r: r.span.start_ns)
        self._since_ns = agent.span.start_ns

    def next(self, answer: Message) -> Span:
        """Returns the span of the call that gave an answer, taking the tools it asked for."""
        wanted = [p.name for p in answer.parts if isinstance(p, Call)]
        executed = []
        for tool in list(self._tools):
            names = [t.name for t in (tool.partial.tools.value if tool.partial.tools else ())]
            if any(name in wanted for name in names):
                wanted.remove(names[0])
                executed.append(tool)
                self._tools.remove(tool)
        return self.of(executed)

    def of(self, executed: Sequence[Reading]) -> Span:
        """Returns the span of the call that led to some tools, from the end of what came before it."""
        span = executed[0].span if executed else self._agent
        start_ns = self._since_ns
        end_ns = span.start_ns if executed else span.end_ns
        self._since_ns = max((r.span.end_ns for r in executed), default=end_ns)
        return replace(span, start_ns=start_ns, end_ns=max(start_ns, end_ns))
