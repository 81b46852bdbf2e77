"""A request that holds only what is new since an earlier response, as the whole conversation that the model read.

OpenAI's Responses API keeps the conversation at the provider when a request names a `previous_response_id`. What was
sent is the delta, and that is what a rebuilt call holds; what an experiment changes is the whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..calls import Api, Completeness, Grade, Json, ModelCall, ModelReply


def unfold(call: ModelCall, run: Sequence[ModelCall]) -> ModelCall:
    """Returns the call with the turns before it, taken from the earlier calls of its run.

    Unchanged when it names no response, when the run does not hold that response, or when a tool result in it answers
    a call that is not found there: the provider still knows that conversation, and half of one is none.
    """
    named = call.request.get("previous_response_id")
    if call.api is not Api.OPENAI_RESPONSES or not named:
        return call
    earlier = next((c for c in run if c is not call and any(r.id == named for r in c.replies)), None)
    if earlier is None:
        return call
    before = unfold(earlier, [c for c in run if c is not call])
    if "previous_response_id" in before.request:
        return call
    items = [*_items(before.request.get("input")), *_answer(earlier.replies[0]), *_items(call.request.get("input"))]
    if not _is_joined(items):
        return call
    request = {k: v for k, v in call.request.items() if k != "previous_response_id"} | {"input": items}
    known = call.completeness
    whole = Completeness(
        grade=Grade.SEMANTIC if known.grade is Grade.EXACT else known.grade,
        missing=known.missing,
        provenance={**known.provenance, "input": "earlier calls of the run, by previous_response_id"},
    )
    return replace(call, request=request, completeness=whole)


def _items(value: Json) -> list[Json]:
    return [{"role": "user", "content": value}] if isinstance(value, str) else list(value or ())


def _answer(reply: ModelReply) -> Iterator[Json]:
    if reply.text:
        yield {"role": "assistant", "content": reply.text}
    for made in reply.tool_calls:
        yield {"type": "function_call", "call_id": made.id, "name": made.name, "arguments": made.arguments}


def _is_joined(items: Sequence[Json]) -> bool:
    """Whether every tool result answers a call of the list, and every call has its result."""

    def ids(kind: str) -> set[str]:
        return {item.get("call_id", "") for item in items if item.get("type") == kind}

    return ids("function_call_output") == ids("function_call")
