"""A question to a player and its answer, and the span that they are in the store: a model call like any other."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from .... import __version__
from ....ingest import conventions as names
from ....ingest.calls import Body, Json, ModelReply
from ....ingest.spans import AnyValue, Resource, Scope, Span, SpanId, SpanKind, TraceId
from ...claims import span_id_of
from ...records import RESOURCE, SCOPE
from ...replay.reply_store import StoredReply

RUN_SCOPE = Scope(name=names.RUN_SCOPE, version=__version__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One model call."""

    provider: str
    request: Body
    stored: StoredReply
    cached: bool
    """It was paid for before."""

    @property
    def reply(self) -> ModelReply:
        """What was answered."""
        return self.stored.completion.reply

    @property
    def text(self) -> str:
        """The text of the answer."""
        return self.reply.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The span in which model calls were made."""

    trace_id: TraceId
    span_id: SpanId
    service: str = ""
    """Of an agent, whose calls are analysed like those of any other; empty for a call that a judge or role needed."""


def chat_spans(parent: Parent, exchanges: Iterable[Exchange]) -> list[Span]:
    """Returns a span for each model call; the ids depend on the parent and the order alone."""
    return [_chat_span(parent, exchange, number) for number, exchange in enumerate(exchanges)]


def _chat_span(parent: Parent, exchange: Exchange, number: int) -> Span:
    model = exchange.request.get("model")  # some APIs have it in the URL
    return Span(
        trace_id=parent.trace_id,
        span_id=SpanId(span_id_of("chat", parent.trace_id, parent.span_id, str(number))),
        parent_span_id=parent.span_id,
        name=f"chat {model}" if model else "chat",
        kind=SpanKind.CLIENT,
        start_ns=exchange.stored.start_ns,
        end_ns=exchange.stored.end_ns,
        attributes=_attributes(exchange) | ({"gen_ai.request.model": str(model)} if model else {}),
        resource=Resource(attributes={"service.name": parent.service}) if parent.service else RESOURCE,
        scope=RUN_SCOPE if parent.service else SCOPE,
    )


def _attributes(exchange: Exchange) -> dict[str, AnyValue]:
    reply, usage = exchange.reply, exchange.stored.completion.usage.to_json()
    parts: list[Json] = [{"type": "text", "content": reply.text}] if reply.text else []
    parts += [{"type": "tool_call", "name": c.name, "arguments": c.arguments, "id": c.id} for c in reply.tool_calls]
    said = [{"role": "assistant", "parts": parts, "finish_reason": reply.finish_reason}]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": exchange.provider,
        "gen_ai.output.messages": json.dumps(said, ensure_ascii=False),
        names.RECORD_REQUEST: json.dumps(dict(exchange.request), ensure_ascii=False),
        **{f"gen_ai.usage.{k}": v for k, v in usage.items() if k in ("input_tokens", "output_tokens")},
        **({"gen_ai.usage.cost": usage["cost_usd"]} if "cost_usd" in usage else {}),
    }
