"""Langfuse's SDK: the arguments of the call in `langfuse.observation.input`, its settings beside them.

Source: langfuse-python, `langfuse/openai.py`. The SDK records the model that answered, not the one asked for; writes
some settings with their defaults whether they were sent or not; puts a Responses API call's instructions into its
input; and uploads media out of band, leaving a reference.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..calls import Api, Json, MissingField, ModelReply, Usage
from ..spans import Attributes, LogRecord, Span
from .answers import merge_messages, read_choice, read_response, read_usage, reply_of
from .langchain import read_metadata
from .langfuse_langchain import is_handler_input, lift_calls, split_input
from .partial import Found, PartialCall, Role, Trust
from .placeholders import without_placeholders
from .shapes import read_item, read_messages, read_tools
from .values import as_float, as_int, as_text, first, first_text, parse_json, parse_object

NAME = "langfuse"

_INPUT = "langfuse.observation.input"
_PARAMETERS = "langfuse.observation.model.parameters"
_METADATA = "langfuse.observation.metadata."
_ROLES = {
    "generation": Role.CALL,
    "tool": Role.TOOL,
    **dict.fromkeys(("agent", "chain", "span"), Role.AGENT),
}
_DEFAULTS = {"temperature": 1, "top_p": 1, "frequency_penalty": 0, "presence_penalty": 0, "n": 1}
"""Written by the SDK also when the caller did not set them."""
_UNRECORDED = frozenset(
    {
        "stop", "tool_choice", "parallel_tool_calls", "logit_bias", "user", "metadata", "store", "service_tier",
        "logprobs", "top_logprobs", "stream_options", "extra_body",
    }
)  # fmt: skip
_UPLOADED = MissingField(
    name="image",
    reason="uploaded out of band; the span holds a reference only",
    remedy="whyspan import langfuse --media, or LANGFUSE_MEDIA_UPLOAD_ENABLED=false in the agent",
)


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns what a Langfuse observation says; None for other spans."""
    attributes = span.attributes
    role = _ROLES.get(first_text(attributes, "langfuse.observation.type").lower())
    if role is None:
        return None
    session = _text(attributes, "langfuse.session.id", "session.id")
    if role is not Role.CALL:
        return PartialCall(role=role, session_id=session)
    parameters = parse_object(attributes.get(_PARAMETERS)) or {}
    # The default is a whole number; a value that was sent keeps its form, so 1.0 is the caller's.
    invented = {n for n, v in _DEFAULTS.items() if parameters.get(n) == v and not isinstance(parameters[n], float)}
    read = _read_input(attributes)
    model, recorded = read_metadata(attributes, _METADATA)
    return replace(
        read,
        model=Found(model, f"{NAME}:langfuse.observation.metadata.ls_model_name", Trust.RAW) if model else None,
        params={**recorded, **read.params, **dict(_params(attributes, parameters, invented))},
        replies=_replies(attributes),
        usage=_usage(attributes),
        session_id=session,
        retracted={
            name: f"Langfuse's SDK writes {_DEFAULTS[name]} also when nothing was sent" for name in sorted(invented)
        },
        unrecorded=_UNRECORDED | read.unrecorded,
    )


def _text(attributes: Attributes, *keys: str) -> Found[str] | None:
    key = next((k for k in keys if as_text(attributes.get(k))), None)
    return Found(as_text(attributes[key]), f"{NAME}:{key}", Trust.RAW) if key else None


def _read_input(attributes: Attributes) -> PartialCall:
    raw = parse_json(attributes.get(_INPUT))
    cleaned, uploaded = without_placeholders(raw, _is_reference)
    gaps = (_UPLOADED,) if uploaded else ()
    source = f"{NAME}:{_INPUT}"
    if isinstance(cleaned, list):
        cleaned = {"messages": cleaned}
    if not isinstance(cleaned, Mapping):
        return PartialCall()
    messages = cleaned.get("messages")
    if isinstance(messages, list) and is_handler_input(messages):
        turns, definitions = split_input(messages)
        offered = read_tools(definitions)
        return PartialCall(
            messages=Found(read_messages(turns), source, Trust.STRUCTURED, gaps) if turns else None,
            tools=Found(offered, source, Trust.STRUCTURED) if offered else None,
            unrecorded=frozenset({"seed", "n"}),
        )
    if isinstance(messages, list):
        # Verbatim, but without the settings: `rebuild` adds what the other attributes have.
        return PartialCall(body=Found(dict(cleaned), source, Trust.RAW, gaps))
    items = cleaned.get("input")
    tools = read_tools(cleaned["tools"]) if isinstance(cleaned.get("tools"), list) else ()
    messages = read_messages(items if isinstance(items, list) else [{"role": "user", "content": items}])
    lead = messages[:1] if messages and messages[0].role == "system" else ()
    return PartialCall(
        api=Found(Api.OPENAI_RESPONSES, source, Trust.RAW),
        messages=Found(messages[len(lead) :], source, Trust.STRUCTURED, gaps) if items else None,
        system=Found(lead, source, Trust.STRUCTURED) if lead else None,
        tools=Found(tools, source, Trust.RAW) if tools else None,
        params={k: Found(v, source, Trust.RAW) for k, v in cleaned.items() if k not in ("input", "tools")},
    )


def _is_reference(text: str) -> bool:
    return text.startswith(("@@@langfuseMedia:", "<Upload handling failed for LangfuseMedia"))


def _params(
    attributes: Attributes, parameters: Mapping[str, Json], invented: set[str]
) -> Iterator[tuple[str, Found[Json]]]:
    for name, value in parameters.items():
        # The service tier is the response's; an unlimited max_tokens is not JSON and comes as text.
        if name not in invented and name != "service_tier" and value not in (None, "Infinity", "inf"):
            yield name, Found(value, f"{NAME}:{_PARAMETERS}", Trust.STRUCTURED)
    key = "langfuse.observation.metadata.response_format"
    response_format = parse_object(attributes.get(key))
    if response_format:
        yield "response_format", Found(response_format, f"{NAME}:{key}", Trust.STRUCTURED)


def _replies(attributes: Attributes) -> Found[tuple[ModelReply, ...]] | None:
    key = "langfuse.observation.output"
    raw = parse_json(attributes.get(key))
    model = first_text(attributes, "langfuse.observation.model.name")
    finish = first_text(attributes, "langfuse.observation.metadata.finish_reason")
    replies: tuple[ModelReply, ...] = ()
    if isinstance(raw, Mapping):
        answer = lift_calls(raw)
        replies = read_response(answer) or (read_choice({"message": answer, "finish_reason": finish}),)
    elif isinstance(raw, list) and all(isinstance(item, Mapping) for item in raw):
        if any("type" in item for item in raw):
            replies = (reply_of(merge_messages([m for item in raw for m in read_item(item)]), finish_reason=finish),)
        else:
            replies = tuple(read_choice({"message": item, "finish_reason": finish}) for item in raw)
    elif attributes.get(key):
        replies = (ModelReply(text=as_text(attributes[key]), finish_reason=finish),)
    named = tuple(replace(reply, model=reply.model or model) for reply in replies)
    # A bare text may be all that an instrumentation under this one has kept of an answer with tool calls.
    trust = Trust.FLATTENED if raw is None else Trust.RAW
    return Found(named, f"{NAME}:{key}", trust) if named else None


def _usage(attributes: Attributes) -> Found[Usage] | None:
    key = "langfuse.observation.usage_details"
    details = parse_object(attributes.get(key)) or {}
    costs = parse_object(attributes.get("langfuse.observation.cost_details")) or {}
    # The SDK sends the provider's names, its server and its other integrations have these.
    usage = read_usage(details) or Usage(
        input_tokens=as_int(details.get("input")),
        output_tokens=as_int(details.get("output")),
        cached_input_tokens=as_int(first(details, "input_cached_tokens", "input_cache_read")),
        reasoning_tokens=as_int(first(details, "output_reasoning_tokens", "output_reasoning")),
    )
    usage = replace(usage, cost_usd=as_float(costs.get("total")))
    return Found(usage, f"{NAME}:{key}", Trust.RAW) if usage != Usage() else None
