"""Spans for home-made agents: `run` around the loop, `tool` around each tool; standard GenAI conventions."""

import functools
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar, overload

from opentelemetry import trace
from opentelemetry.trace import Span

from .exchange import shielded
from .tracing import get_tracer

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def run(name: str, *, session: str = "") -> Iterator[Span]:
    """Opens a span for one run of an agent, as a context manager or as a decorator.

    `session` is the id of the conversation, which ties the runs of one user together.
    """
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    if session:
        attributes["gen_ai.conversation.id"] = session
    with get_tracer().start_as_current_span(f"invoke_agent {name}", attributes=attributes) as span:
        yield span


@overload
def tool(function: Callable[P, T]) -> Callable[P, T]: ...
@overload
def tool(*, name: str) -> Callable[[Callable[P, T]], Callable[P, T]]: ...
def tool(function: Any = None, *, name: str = "") -> Any:
    """Records each call of a function as the execution of a tool: arguments, result, error; sync or async."""
    if function is None:
        return functools.partial(_traced, name=name)
    return _traced(function, name="")


def _traced(function: Callable[..., Any], *, name: str) -> Callable[..., Any]:
    title = name or function.__name__
    signature = inspect.signature(function)
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": title,
        "gen_ai.tool.type": "function",
        **({"gen_ai.tool.description": doc} if (doc := inspect.getdoc(function)) else {}),
    }

    def start() -> Any:
        return get_tracer().start_as_current_span(f"execute_tool {title}", attributes=attributes)

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            with start() as span:
                _note_arguments(span, signature, args, kwargs)
                result = await function(*args, **kwargs)
                _note_result(span, result)
                return result

        return call_async

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with start() as span:
            _note_arguments(span, signature, args, kwargs)
            result = function(*args, **kwargs)
            _note_result(span, result)
            return result

    return call


@shielded
def _note_arguments(
    span: trace.Span, signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> None:
    bound = signature.bind(*args, **kwargs).arguments
    span.set_attribute("gen_ai.tool.call.arguments", json.dumps(bound, ensure_ascii=False, default=str))


@shielded
def _note_result(span: trace.Span, result: Any) -> None:
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
    span.set_attribute("gen_ai.tool.call.result", text)
