"""What `whyspan.record()` writes: request and reply bodies as they went over the wire, and where to."""

from collections.abc import Sequence

from ..calls import Usage
from ..conventions import RECORD_REQUEST, RECORD_RESPONSE, RECORD_URL
from ..spans import LogRecord, Span
from .answers import read_response, read_usage
from .partial import Found, PartialCall, Trust
from .urls import split_api_path
from .values import as_text, first_text, parse_object

NAME = "record"


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns the recorded request and reply; None for spans without a recorded request."""
    body = parse_object(span.attributes.get(RECORD_REQUEST))
    if body is None:
        return None
    response = parse_object(span.attributes.get(RECORD_RESPONSE)) or {}
    replies = read_response(response)
    usage = read_usage(response.get("usage") or response.get("usageMetadata") or response)
    url, api = split_api_path(first_text(span.attributes, RECORD_URL))
    model, response_id = as_text(body.get("model")), as_text(response.get("id") or response.get("responseId"))
    return PartialCall(
        api=Found(api, f"{NAME}:{RECORD_URL}", Trust.RAW) if api else None,
        body=Found(body, f"{NAME}:{RECORD_REQUEST}", Trust.RAW),
        model=Found(model, f"{NAME}:{RECORD_REQUEST}", Trust.RAW) if model else None,
        base_url=Found(url, f"{NAME}:{RECORD_URL}", Trust.RAW) if url else None,
        replies=Found(replies, f"{NAME}:{RECORD_RESPONSE}", Trust.RAW) if replies else None,
        usage=Found(usage, f"{NAME}:{RECORD_RESPONSE}", Trust.RAW) if usage and usage != Usage() else None,
        response_id=Found(response_id, f"{NAME}:{RECORD_RESPONSE}", Trust.RAW) if response_id else None,
    )
