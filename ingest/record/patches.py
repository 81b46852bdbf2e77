"""Where client libraries meet the wire: one place each in httpx, httpx2, requests and aiohttp."""

import functools
import importlib
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from typing import Any

from .exchange import Exchange, Recorder, shielded

Undo = Callable[[], None]

_inside: ContextVar[bool] = ContextVar("whyspan_record_inside", default=False)
"""Set while a library that stands on another one sends a request, so that it is recorded once."""


def apply_patches(recorder: Recorder) -> list[Undo]:
    """Patches the libraries that are installed and returns what takes the patches off again."""
    undo: list[Undo] = []
    for name in ("httpx", "httpx2"):
        module = _module(name)
        if module is not None:
            undo += [_patch(module.Client, "send", _httpx_send(recorder))]
            undo += [_patch(module.AsyncClient, "send", _httpx_async_send(recorder))]
    requests = _module("requests")
    if requests is not None:
        undo.append(_patch(requests.Session, "send", _requests_send(recorder)))
    aiohttp = _module("aiohttp")
    if aiohttp is not None:
        undo.append(_patch(aiohttp.ClientSession, "_request", _aiohttp_request(recorder)))
    return undo


def _module(name: str) -> Any:
    if name in sys.modules:
        return sys.modules[name]
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _patch(owner: type, name: str, wrap: Callable[[Any], Any]) -> Undo:
    original = owner.__dict__[name]
    setattr(owner, name, functools.wraps(original)(wrap(original)))
    return lambda: setattr(owner, name, original)


def _httpx_send(recorder: Recorder) -> Callable[[Any], Any]:
    def wrap(original: Any) -> Any:
        def send(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
            exchange = _begin_httpx(recorder, request)
            if exchange is None:
                return original(self, request, *args, **kwargs)
            token = _inside.set(True)
            try:
                response = original(self, request, *args, **kwargs)
            except BaseException as error:
                exchange.failed(error)
                raise
            finally:
                _inside.reset(token)
            _take_httpx(exchange, response, _tee)
            return response

        return send

    return wrap


def _httpx_async_send(recorder: Recorder) -> Callable[[Any], Any]:
    def wrap(original: Any) -> Any:
        async def send(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
            exchange = _begin_httpx(recorder, request)
            if exchange is None:
                return await original(self, request, *args, **kwargs)
            token = _inside.set(True)
            try:
                response = await original(self, request, *args, **kwargs)
            except BaseException as error:
                exchange.failed(error)
                raise
            finally:
                _inside.reset(token)
            _take_httpx(exchange, response, _tee_async)
            return response

        return send

    return wrap


@shielded
def _begin_httpx(recorder: Recorder, request: Any) -> Exchange | None:
    # A body that is itself a stream has no `_content`; reading it would take it from the library.
    return recorder.begin(request.method, str(request.url), getattr(request, "_content", b"") or b"")


@shielded
def _take_httpx(exchange: Exchange, response: Any, tee: Callable[[Any, Exchange], Any]) -> None:
    exchange.answered(response.status_code, response.headers)
    if response.is_closed or hasattr(response, "_content"):
        exchange.feed(response.content)
        exchange.end(decoded=True)
    else:
        response.stream = tee(response.stream, exchange)


def _tee(stream: Any, exchange: Exchange) -> Any:
    """Returns a stream of the same class that passes its pieces on; it ends with the stream, however that ends."""

    class Tee(type(stream)):  # type: ignore[misc]
        def __init__(self) -> None:
            self._exchange = exchange

        def __iter__(self) -> Iterator[bytes]:
            try:
                for chunk in stream:
                    exchange.feed(chunk)
                    yield chunk
            finally:
                exchange.end()

        def close(self) -> None:
            stream.close()
            exchange.end()

    return Tee()


def _tee_async(stream: Any, exchange: Exchange) -> Any:
    class Tee(type(stream)):  # type: ignore[misc]
        def __init__(self) -> None:
            self._exchange = exchange

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for chunk in stream:
                    exchange.feed(chunk)
                    yield chunk
            finally:
                exchange.end()

        async def aclose(self) -> None:
            await stream.aclose()
            exchange.end()

    return Tee()


def _requests_send(recorder: Recorder) -> Callable[[Any], Any]:
    def wrap(original: Any) -> Any:
        def send(self: Any, request: Any, **kwargs: Any) -> Any:
            exchange = _begin_requests(recorder, request)
            if exchange is None:
                return original(self, request, **kwargs)
            try:
                response = original(self, request, **kwargs)
            except BaseException as error:
                exchange.failed(error)
                raise
            _take_requests(exchange, response, is_stream=bool(kwargs.get("stream")))
            return response

        return send

    return wrap


@shielded
def _begin_requests(recorder: Recorder, request: Any) -> Exchange | None:
    return recorder.begin(request.method or "", request.url or "", _bytes(request.body))


def _bytes(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else body if isinstance(body, bytes) else b""


@shielded
def _take_requests(exchange: Exchange, response: Any, *, is_stream: bool) -> None:
    exchange.answered(response.status_code, {})
    if is_stream:
        response.iter_content = _fed(response.iter_content, exchange)
    else:
        exchange.feed(response.content)
        exchange.end(decoded=True)


def _fed(iter_content: Callable[..., Iterator[bytes]], exchange: Exchange) -> Callable[..., Iterator[bytes]]:
    def iterate(*args: Any, **kwargs: Any) -> Iterator[Any]:
        try:
            for chunk in iter_content(*args, **kwargs):
                exchange.feed(chunk.encode() if isinstance(chunk, str) else chunk)
                yield chunk
        finally:
            exchange.end(decoded=True)

    return iterate


def _aiohttp_request(recorder: Recorder) -> Callable[[Any], Any]:
    def wrap(original: Any) -> Any:
        async def request(self: Any, method: str, url: Any, **kwargs: Any) -> Any:
            exchange = None if _inside.get() else _begin_aiohttp(recorder, self, method, url, kwargs)
            if exchange is None:
                return await original(self, method, url, **kwargs)
            try:
                response = await original(self, method, url, **kwargs)
            except BaseException as error:
                exchange.failed(error)
                raise
            _take_aiohttp(exchange, response)
            return response

        return request

    return wrap


@shielded
def _begin_aiohttp(recorder: Recorder, session: Any, method: str, url: Any, kwargs: dict[str, Any]) -> Exchange | None:
    base = getattr(session, "_base_url", None)
    full = str(base.join(type(base)(str(url)))) if base is not None else str(url)
    sent = kwargs.get("json")
    return recorder.begin(method, full, json.dumps(sent).encode() if sent is not None else _bytes(kwargs.get("data")))


@shielded
def _take_aiohttp(exchange: Exchange, response: Any) -> None:
    """Listens to the response's stream reader, which every way of reading the body goes through."""
    exchange.answered(response.status, {})
    content = response.content
    for chunk in getattr(content, "_buffer", ()):
        exchange.feed(chunk)
    if content.is_eof():
        exchange.end(decoded=True)
        return
    reader: Any = type(content)
    _listeners[id(content)] = exchange
    content.__class__ = _listening(reader)


_listeners: dict[int, Exchange] = {}
"""Open exchanges by their stream reader, which has no room for attributes of ours."""


@functools.cache
def _listening(reader: Any) -> Any:
    """Returns the reader's class with our ears: the reader's data and methods stay as they are."""

    class Listening(reader):  # type: ignore[misc]
        __slots__ = ()

        def feed_data(self, data: bytes, *args: Any) -> Any:
            if id(self) in _listeners:
                _listeners[id(self)].feed(bytes(data))
            return super().feed_data(data, *args)

        def feed_eof(self) -> None:
            self._end()
            super().feed_eof()

        def set_exception(self, *args: Any) -> None:
            self._end()
            super().set_exception(*args)

        def _end(self) -> None:
            exchange = _listeners.pop(id(self), None)
            if exchange is not None:
                exchange.end(decoded=True)

    return Listening
