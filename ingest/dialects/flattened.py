"""OpenInference's numbered keys, `llm.input_messages.N.message.…` and `llm.tools.N.…`, read back into objects."""

from collections.abc import Iterator, Mapping

from ..calls import Json, ModelReply
from ..spans import Attributes
from .answers import reply_of
from .dialogue import Call, Media, Message, Part, Result, Text, ToolDefinition
from .limits import dropped_attributes, length_limit, without_cut_texts
from .partial import Found, Trust
from .shapes import read_tools
from .values import as_text, first_text, numbering_gaps, parse_json, parse_object, unflatten

REDACTED = "__REDACTED__"


def read_input(attributes: Attributes, dropped: int, dialect: str) -> Found[tuple[Message, ...]] | None:
    """Returns the input messages; `dropped` is the number of attributes that the SDK left out of the span."""
    prefix = "llm.input_messages."
    tree = unflatten(attributes, prefix)
    items = tree if isinstance(tree, list) else []
    messages = tuple(_message(item) for item in items if _has_role(item))
    if not messages:
        return None
    is_damaged = len(messages) < len(items) or numbering_gaps(attributes, prefix)
    gaps = (dropped_attributes(dropped),) if dropped and is_damaged else ()
    limit = length_limit(attributes)
    if limit is not None:
        messages, cut = without_cut_texts(messages, limit)
        gaps = (*gaps, *cut)
    return Found(messages, f"{dialect}:llm.input_messages", Trust.FLATTENED, gaps)


def read_output(attributes: Attributes) -> tuple[ModelReply, ...]:
    """Returns the output messages, one reply each."""
    tree = unflatten(attributes, "llm.output_messages.")
    finish = first_text(attributes, "llm.finish_reason")
    items = [item for item in tree if _has_role(item)] if isinstance(tree, list) else []
    return tuple(reply_of(_message(item), finish_reason=finish) for item in items)


def read_tool_schemas(attributes: Attributes) -> tuple[ToolDefinition, ...]:
    """Returns the tools offered to the model."""
    tree = unflatten(attributes, "llm.tools.")
    raw = [_schema(item) for item in tree] if isinstance(tree, list) else []
    return read_tools(item for item in raw if item is not None)


def _schema(item: Json) -> Json:
    tool = item.get("tool") if isinstance(item, Mapping) else None
    return parse_json(tool.get("json_schema")) if isinstance(tool, Mapping) else None


def _has_role(item: Json) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("message"), Mapping) and "role" in item["message"]


def _message(item: Mapping[str, Json]) -> Message:
    raw = item["message"]
    role = as_text(raw.get("role"))
    call_id = as_text(raw.get("tool_call_id"))
    content = raw.get("content")
    parts = tuple(_parts(raw.get("contents")))
    answers = tuple(_function_results(item.get("function")))
    if answers:
        return Message(role="tool", parts=answers)
    if role == "tool" or call_id:
        result = Result(content=parts or as_text(content), call_id=call_id, name=as_text(raw.get("name")))
        return Message(role="tool", parts=(result,))
    texts = (Text(text=content),) if isinstance(content, str) and not parts else ()
    calls = tuple(_calls(raw.get("tool_calls")))
    return Message(role=role, parts=(*texts, *parts, *calls), name=as_text(raw.get("name")), is_plain=not parts)


def _function_results(raw: Json) -> Iterator[Result]:
    """Yields the tool results that AutoGen's instrumentation keeps beside the message, one object each."""
    for entry in raw if isinstance(raw, list) else ():
        answer = parse_object(entry)
        if answer is not None and "content" in answer:
            yield Result(
                content=as_text(answer["content"]),
                call_id=as_text(answer.get("call_id")),
                name=as_text(answer.get("name")),
            )


def _parts(raw: Json) -> Iterator[Part]:
    for item in raw if isinstance(raw, list) else ():
        content = item.get("message_content") if isinstance(item, Mapping) else None
        if not isinstance(content, Mapping):
            continue
        image = content.get("image")
        inner = image.get("image") if isinstance(image, Mapping) else None
        if isinstance(inner, Mapping) and isinstance(inner.get("url"), str):
            if inner["url"] != REDACTED:
                yield Media(kind="image", url=inner["url"])
        elif isinstance(content.get("text"), str):
            yield Text(text=content["text"])


def _calls(raw: Json) -> Iterator[Call]:
    for item in raw if isinstance(raw, list) else ():
        call = item.get("tool_call") if isinstance(item, Mapping) else None
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(call, Mapping) and isinstance(function, Mapping):
            yield Call(
                name=as_text(function.get("name")), arguments=function.get("arguments"), id=as_text(call.get("id"))
            )
