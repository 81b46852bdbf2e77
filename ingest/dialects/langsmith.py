"""LangSmith's OpenTelemetry export: the call's arguments in `gen_ai.prompt`, the response in `gen_ai.completion`.

Source: langsmith-sdk, `python/langsmith/_internal/otel/_otel_exporter.py`. `wrap_openai` records the arguments as they
were; a LangChain model records LangChain's own messages, with its settings in the run's metadata.
"""

from collections.abc import Iterator, Mapping, Sequence

from ..calls import Json
from ..spans import LogRecord, Span
from .answers import read_response, read_usage
from .langchain import is_dump, read_dump, read_generations, read_metadata
from .partial import Found, PartialCall, Role, Trust
from .requests import is_request, request_fields
from .shapes import read_tools
from .values import as_text, first_text, parse_list, parse_object

NAME = "langsmith"

_PROMPT = "gen_ai.prompt"
_COMPLETION = "gen_ai.completion"
_INVOCATION = "langsmith.metadata.ls_invocation_params"
_ROLES = {"llm": Role.CALL, "tool": Role.TOOL, "chain": Role.AGENT, "prompt": Role.AGENT}


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns what a LangSmith run says; None for other spans."""
    attributes = span.attributes
    role = _ROLES.get(first_text(attributes, "langsmith.span.kind"))
    if role is None:
        return None
    session = as_text(attributes.get("langsmith.metadata.session_id") or attributes.get("langsmith.metadata.thread_id"))
    found_session = Found(session, f"{NAME}:langsmith.metadata", Trust.RAW) if session else None
    if role is not Role.CALL:
        return PartialCall(role=role, session_id=found_session)
    prompt = parse_object(attributes.get(_PROMPT)) or {}
    settings = parse_object(attributes.get(_INVOCATION)) or {}
    completion = parse_object(attributes.get(_COMPLETION)) or {}
    replies = read_response(completion) or read_generations(completion)
    usage = read_usage(completion.get("usage") or {}) if isinstance(completion.get("usage"), Mapping) else None
    named, recorded = read_metadata(attributes, "langsmith.metadata.")
    model = as_text(prompt.get("model") or settings.get("model") or named)
    response_id = as_text(completion.get("id"))
    dump = prompt.get("messages")
    messages = read_dump(dump) if is_dump(dump) else ()
    tools = read_tools(parse_list(settings.get("tools")) or ())
    return PartialCall(
        body=Found(request_fields(prompt), f"{NAME}:{_PROMPT}", Trust.RAW) if is_request(prompt) else None,
        messages=Found(messages, f"{NAME}:{_PROMPT}", Trust.STRUCTURED) if messages else None,
        tools=Found(tools, f"{NAME}:{_INVOCATION}", Trust.STRUCTURED) if tools else None,
        params={**recorded, **dict(_params(settings))},
        model=Found(model, f"{NAME}:{_PROMPT}", Trust.RAW) if model else None,
        replies=Found(replies, f"{NAME}:{_COMPLETION}", Trust.RAW) if replies else None,
        usage=Found(usage, f"{NAME}:{_COMPLETION}", Trust.RAW) if usage else None,
        response_id=Found(response_id, f"{NAME}:{_COMPLETION}", Trust.RAW) if response_id else None,
        session_id=found_session,
    )


def _params(settings: Mapping[str, Json]) -> Iterator[tuple[str, Found[Json]]]:
    for name, value in request_fields(settings).items():
        if name not in ("model", "tools", "messages"):
            yield name, Found(value, f"{NAME}:{_INVOCATION}", Trust.STRUCTURED)
