"""A Python function as the model: `--model-fn FILE:FUNCTION`.

The function takes the request as a dict, in the form of the API it was recorded from, and returns a chat completion, a
message in OpenAI chat form, or a text. It may be `async`. It runs in a thread, so it may block.
"""

import asyncio
import hashlib
import importlib.util
import inspect
import json
import sys
import uuid
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from ....ingest.calls import Body
from ....ingest.errors import UpstreamError, UsageError
from ..completion import Completion
from .openai_chat import decode_completions


class FunctionModel:
    """Asks a Python function, one sample a call."""

    def __init__(self, function: Callable[[dict[str, Any]], Any], *, endpoint: str) -> None:
        self.endpoint = endpoint
        self.batch = 1
        self._function = function
        self._is_async = inspect.iscoroutinefunction(function)

    @classmethod
    def load(cls, spec: str) -> "FunctionModel":
        """Loads `FILE:FUNCTION`; UsageError when there is no such thing.

        The endpoint holds a digest of the file, so that replies of an edited function are not taken for its own.
        """
        file, _, name = spec.rpartition(":")
        path = Path(file)
        if not file or not name or not path.is_file():
            raise UsageError(f"{spec!r} is not FILE:FUNCTION", hint="for example --model-fn agent.py:model")
        fingerprint = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        function = getattr(_import(path.resolve(), fingerprint), name, None)
        if not callable(function):
            raise UsageError(f"{file} has no function {name!r}")
        return cls(function, endpoint=f"function:{path.resolve()}:{name}@{fingerprint}")

    async def complete(self, request: Body, count: int) -> Sequence[Completion]:
        """Returns one sample."""
        try:
            argument = _copy(request)
            if self._is_async:
                answer = await self._function(argument)
            else:
                answer = await asyncio.to_thread(self._function, argument)
        except Exception as error:  # the user's own code may raise anything
            raise UpstreamError(f"the model function raised {type(error).__name__}: {error}") from error
        return [_completion(answer)]

    async def aclose(self) -> None:
        """Nothing to release."""


def _copy(request: Body) -> dict[str, Any]:
    """Returns a request that the function may change; JSON goes there and back many times faster than `deepcopy`."""
    copied: dict[str, Any]
    try:
        copied = orjson.loads(orjson.dumps(dict(request)))
    except TypeError:  # integers of more than 64 bits
        copied = json.loads(json.dumps(dict(request)))
    return copied


def identity_of(function: Callable[..., Any]) -> str:
    """Returns what tells a function from others, an edited one included.

    Its source does, when it can be read and nothing is bound to it. For anything else every run is a new model, because
    replies of one must never be taken for replies of another.
    """
    name = f"function:{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', '')}"
    try:
        is_plain = inspect.isfunction(function) and not function.__closure__ and not function.__defaults__
        source = inspect.getsource(function) if is_plain else uuid.uuid4().hex
    except OSError:
        source = uuid.uuid4().hex
    return f"{name}@{hashlib.sha256(source.encode()).hexdigest()[:16]}"


@lru_cache(maxsize=8)
def _import(path: Path, fingerprint: str) -> Any:
    """Returns the module; one that has not changed is imported once, for it may hold a model of its own."""
    name = "whyspan_model_" + hashlib.sha256(str(path).encode()).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # A script finds its neighbours; so does a model function.
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the user's own code may raise anything
        raise UsageError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    return module


def _completion(answer: Any) -> Completion:
    """Reads what a model function may return."""
    if isinstance(answer, str):
        answer = {"role": "assistant", "content": answer}
    try:
        value = answer if "choices" in answer else {"choices": [{"message": answer}]}
        return decode_completions(value)[0]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UpstreamError(
            f"the model function returned {str(answer)[:120]!r}",
            hint="it must return a chat completion, an assistant message, or a text",
        ) from error
