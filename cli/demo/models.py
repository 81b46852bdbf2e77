"""Model clients of the example agents: OpenAI's chat completions (also local servers) and Anthropic's messages.

The agent keeps its conversation in OpenAI chat form; a client sends it in its provider's form
and brings the reply back.
"""

import functools
import json
import os
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import httpx

Message = dict[str, Any]
"""A message or tool definition in OpenAI chat form."""

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com/v1"
OLLAMA_URL = "http://127.0.0.1:11434/v1"
MAX_TOKENS = 1024
TIMEOUT_S = 120.0


class ModelError(Exception):
    """A model that cannot be asked, or that answered with an error; the hint says what to do."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model answered."""

    id: str
    model: str
    message: Message
    finish_reason: str
    """In the provider's own words."""
    input_tokens: int = 0
    """0 when the server does not count."""
    output_tokens: int = 0


class Model(Protocol):
    """A model that an agent can ask."""

    provider: str
    """`gen_ai.provider.name`."""
    name: str
    temperature: float
    base_url: httpx.URL
    separates_system: bool
    """Whether the provider's API takes the system text apart from the messages."""

    def complete(self, messages: Sequence[Message], tools: Sequence[Message]) -> Reply:
        """Asks once. Raises ModelError."""
        ...


class ChatModel:
    """A model behind `POST /chat/completions`: OpenAI, vLLM, llama.cpp, Ollama and many more."""

    provider = "openai"
    separates_system = False

    def __init__(
        self,
        name: str,
        *,
        base_url: str,
        key: str = "",
        temperature: float = 1.0,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """`settings` are further fields of every request, e.g. `response_format`."""
        self.name = name
        self.temperature = temperature
        self.base_url = httpx.URL(base_url)
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._settings = settings or {}

    def complete(self, messages: Sequence[Message], tools: Sequence[Message]) -> Reply:
        """Asks once. Raises ModelError."""
        body = {
            "model": self.name,
            "messages": list(messages),
            "temperature": self.temperature,
            **({"tools": list(tools)} if tools else {}),
            **self._settings,
        }
        answer = _post(f"{self.base_url}/chat/completions", body, self._headers)
        choice, usage = answer["choices"][0], answer.get("usage") or {}
        kept = {key: choice["message"].get(key) for key in ("role", "content", "tool_calls")}
        return Reply(
            id=answer["id"],
            model=answer["model"],
            message={key: value for key, value in kept.items() if value or key != "tool_calls"},
            finish_reason=choice["finish_reason"],
            input_tokens=usage.get("prompt_tokens", 0),
            output_tokens=usage.get("completion_tokens", 0),
        )


class AnthropicModel:
    """A model behind Anthropic's `POST /messages`."""

    provider = "anthropic"
    separates_system = True
    temperature = 1.0

    def __init__(self, name: str, *, base_url: str, key: str) -> None:
        self.name = name
        self.base_url = httpx.URL(base_url)
        self._headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def complete(self, messages: Sequence[Message], tools: Sequence[Message]) -> Reply:
        """Asks once. Raises ModelError."""
        body = {
            "model": self.name,
            "max_tokens": MAX_TOKENS,
            "temperature": self.temperature,
            "system": "\n\n".join(message["content"] for message in messages if message["role"] == "system"),
            "messages": to_anthropic(messages),
            "tools": [
                {
                    "name": tool["function"]["name"],
                    "description": tool["function"]["description"],
                    "input_schema": tool["function"]["parameters"],
                }
                for tool in tools
            ],
        }
        answer = _post(f"{self.base_url}/messages", body, self._headers)
        return Reply(
            id=answer["id"],
            model=answer["model"],
            message=from_anthropic(answer["content"]),
            finish_reason=answer["stop_reason"],
            input_tokens=answer["usage"]["input_tokens"],
            output_tokens=answer["usage"]["output_tokens"],
        )


def to_anthropic(messages: Sequence[Message]) -> list[Message]:
    """Returns a conversation in Anthropic's form: results go back in one user message, the system text elsewhere."""
    turns: list[Message] = []
    for message in messages:
        match message["role"]:
            case "user":
                turns.append({"role": "user", "content": message["content"]})
            case "assistant":
                turns.append({"role": "assistant", "content": _blocks(message)})
            case "tool":
                result = {
                    "type": "tool_result",
                    "tool_use_id": message["tool_call_id"],
                    "content": message["content"],
                }
                if isinstance(turns[-1]["content"], list) and turns[-1]["role"] == "user":
                    turns[-1]["content"].append(result)
                else:
                    turns.append({"role": "user", "content": [result]})
    return turns


def _blocks(message: Message) -> list[Message]:
    text = [{"type": "text", "text": message["content"]}] if message.get("content") else []
    calls = [
        {
            "type": "tool_use",
            "id": call["id"],
            "name": call["function"]["name"],
            "input": json.loads(call["function"]["arguments"]),
        }
        for call in message.get("tool_calls") or ()
    ]
    return text + calls


def from_anthropic(blocks: Sequence[Message]) -> Message:
    """Returns Anthropic's content blocks as one assistant message in OpenAI chat form."""
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    calls = [
        {
            "id": block["id"],
            "type": "function",
            "function": {"name": block["name"], "arguments": json.dumps(block["input"], ensure_ascii=False)},
        }
        for block in blocks
        if block["type"] == "tool_use"
    ]
    message: Message = {"role": "assistant", "content": text or None}
    return {**message, "tool_calls": calls} if calls else message


def choose_model(
    *, openai: str | None = None, anthropic: str | None = None, local: str | None = None, base_url: str | None = None
) -> Model:
    """Returns the client for the one model named; keys come from the environment. Raises ModelError without one."""
    if openai:
        return ChatModel(openai, base_url=base_url or OPENAI_URL, key=_key("OPENAI_API_KEY"))
    if anthropic:
        return AnthropicModel(anthropic, base_url=base_url or ANTHROPIC_URL, key=_key("ANTHROPIC_API_KEY"))
    if local:
        return ChatModel(local, base_url=base_url or OLLAMA_URL, key=os.environ.get("OPENAI_API_KEY", ""))
    raise ModelError("no model was named", hint="use --openai, --anthropic or --local MODEL")


def _key(variable: str) -> str:
    key = os.environ.get(variable)
    if not key:
        raise ModelError(
            f"{variable} is not set", hint=f"export {variable}=…, or use --local MODEL with your own server"
        )
    return key


@functools.cache
def _certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context()  # takes 0.1 s, once


def _post(url: str, body: Message, headers: dict[str, str]) -> Message:
    try:
        response = httpx.post(url, json=body, headers=headers, timeout=TIMEOUT_S, verify=_certificates())
        response.raise_for_status()
        answer: Message = response.json()
    except httpx.HTTPStatusError as error:
        reason = error.response.text.strip()[:300]
        raise ModelError(
            f"{url} answered {error.response.status_code}: {reason}", hint="check the model's name and the key"
        ) from error
    except httpx.HTTPError as error:
        raise ModelError(
            f"{url} cannot be reached: {error}", hint="is the server running? --base-url names it"
        ) from error
    except json.JSONDecodeError as error:
        raise ModelError(
            f"{url} did not answer with JSON", hint="--base-url must end where /chat/completions starts"
        ) from error
    return answer
