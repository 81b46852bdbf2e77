"""OpenAI chat completions, and every server that speaks them: vLLM, llama.cpp, LM Studio, Ollama, OpenRouter, …"""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from ....ingest.calls import Body, ModelReply, ToolCall, Usage
from ....ingest.errors import UpstreamError
from ..completion import Completion

TIMEOUT = httpx.Timeout(120.0, connect=10.0)
TRANSIENT_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_TRANSPORT_ONLY = frozenset({"stream", "stream_options", "n"})
"""Fields of a recorded request that say how the reply travels, not what is asked."""


class OpenAIChat:
    """Asks an OpenAI-compatible endpoint, several samples a request where the server can."""

    def __init__(self, base_url: str, *, api_key: str | None = None, client: httpx.AsyncClient | None = None) -> None:
        """`base_url` includes the version path, as in `https://api.openai.com/v1`."""
        self.endpoint = base_url.rstrip("/")
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = client or httpx.AsyncClient(timeout=TIMEOUT, headers=headers)
        self._takes_n = True

    async def complete(self, request: Body, count: int) -> Sequence[Completion]:
        """Returns up to `count` samples; one when the server ignores or refuses `n`."""
        body = {k: v for k, v in request.items() if k not in _TRANSPORT_ONLY}
        if count > 1 and self._takes_n:
            response = await self._post({**body, "n": count})
            if response.status_code != httpx.codes.BAD_REQUEST:
                return self._decode(response)[:count]
            self._takes_n = False
        return self._decode(await self._post(body))[:1]

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    async def _post(self, body: Body) -> httpx.Response:
        try:
            return await self._client.post(f"{self.endpoint}/chat/completions", json=body)
        except httpx.TimeoutException as error:
            raise UpstreamError(f"{self.endpoint} did not answer in time", transient=True) from error
        except httpx.ConnectError as error:
            raise UpstreamError(
                f"no model answers at {self.endpoint}: {error}",
                hint="is the server running? `--base-url` says where to send replays",
            ) from error
        except httpx.TransportError as error:
            raise UpstreamError(f"{self.endpoint} cut the connection: {error}", transient=True) from error
        except httpx.InvalidURL as error:
            raise UpstreamError(f"{self.endpoint} is not a URL: {error}") from error

    def _decode(self, response: httpx.Response) -> list[Completion]:
        if response.status_code != httpx.codes.OK:
            raise self._failure(response)
        try:
            return decode_completions(response.json())
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UpstreamError(
                f"{self.endpoint} answered something else than a chat completion: {response.text[:200]!r}",
                hint="`--base-url` must point at the root that has /chat/completions below it",
                transient=True,
            ) from error

    def _failure(self, response: httpx.Response) -> UpstreamError:
        status = response.status_code
        hints = {
            401: "set OPENAI_API_KEY to a key of that endpoint",
            403: "the key may not use that model",
            404: "does the endpoint serve that model, and have /chat/completions below it?",
        }
        return UpstreamError(
            f"{self.endpoint} answered {status}: {_message(response)}",
            hint=hints.get(status),
            transient=status in TRANSIENT_STATUS,
            retry_after_s=_retry_after_s(response),
        )


def _message(response: httpx.Response) -> str:
    try:
        error = response.json()["error"]
        return str(error["message"] if isinstance(error, dict) else error)[:300]
    except (ValueError, KeyError, TypeError):
        return response.text[:300]


def _retry_after_s(response: httpx.Response) -> float | None:
    try:
        return max(0.0, float(response.headers["retry-after"]))
    except (KeyError, ValueError):
        return None


def decode_completions(value: Mapping[str, Any]) -> list[Completion]:
    """Reads a chat completion object; one Completion a choice. The usage of all choices is on the first.

    Raises ValueError, KeyError, TypeError or AttributeError for anything that is not a chat completion.
    """
    usage = _usage(value.get("usage") or {})
    completions = [
        Completion(reply=_reply(choice, value), usage=usage if index == 0 else Usage())
        for index, choice in enumerate(value["choices"])
    ]
    if not completions:
        raise ValueError("no choices")
    return completions


def _reply(choice: Mapping[str, Any], whole: Mapping[str, Any]) -> ModelReply:
    message = choice["message"]
    calls = tuple(
        ToolCall(
            name=call["function"]["name"], arguments=call["function"].get("arguments") or "", id=call.get("id") or ""
        )
        for call in message.get("tool_calls") or ()
        if "function" in call
    )
    return ModelReply(
        text=message.get("content") or "",
        tool_calls=calls,
        finish_reason=choice.get("finish_reason") or "",
        refusal=message.get("refusal") or "",
        id=whole.get("id") or "",
        model=whole.get("model") or "",
    )


def _usage(value: Mapping[str, Any]) -> Usage:
    details = value.get("prompt_tokens_details") or {}
    return Usage(
        input_tokens=value.get("prompt_tokens"),
        output_tokens=value.get("completion_tokens"),
        cached_input_tokens=details.get("cached_tokens"),
        reasoning_tokens=(value.get("completion_tokens_details") or {}).get("reasoning_tokens"),
    )
