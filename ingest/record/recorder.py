"""`whyspan.record()`: one line that makes every request of the agent exact."""

import os
from collections.abc import Iterable

from .endpoints import Endpoints
from .exchange import Recorder, Redact
from .patches import Undo, apply_patches
from .tracing import use_endpoint

_active: "Recording | None" = None


class Recording:
    """The patches that are in place; `stop` takes them off. Works as a context manager."""

    def __init__(self, undo: list[Undo]) -> None:
        self._undo = undo

    def stop(self) -> None:
        """Takes the patches off; exchanges that are open end as they would have."""
        global _active
        while self._undo:
            self._undo.pop()()
        if _active is self:
            _active = None

    def __enter__(self) -> "Recording":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def record(
    *,
    hosts: Iterable[str] = (),
    content: bool | None = None,
    redact: Redact | None = None,
    endpoint: str | None = None,
) -> Recording:
    """Records the body of every request to a model, and of its answer, on a span below the current one.

    It works at the HTTP layer (httpx, httpx2, requests, aiohttp; sync, async, streaming), so it sees what was sent
    whatever framework sent it. The span is its own because the current one may be shared by several calls. Headers
    are never recorded, of the URL only host and path.

    Args:
        hosts: model servers besides the public ones and those named in `OPENAI_BASE_URL` and the like, as
            `host[:port]`; `WHYSPAN_MODEL_HOSTS` lists more.
        content: False records calls without their bodies; `WHYSPAN_RECORD_CONTENT=false` does the same.
        redact: gets each body and returns what may be kept; when it raises, the body is not kept.
        endpoint: OTLP/HTTP server to send to when the application has no OpenTelemetry SDK set up.

    Calling it again changes nothing until `stop` is called on what it returned.
    """
    global _active
    if _active is None:
        use_endpoint(endpoint)
        if content is None:
            content = os.environ.get("WHYSPAN_RECORD_CONTENT", "true").lower() not in ("false", "0", "no", "off")
        _active = Recording(apply_patches(Recorder(Endpoints(hosts), content=content, redact=redact)))
    return _active
