"""Bedrock Converse. Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.

Requests are signed by botocore (`pip install whyspan[bedrock]`), or carry the bearer token of a Bedrock API key.
"""

import json
from collections.abc import Generator, Mapping
from typing import Any

import httpx

from ....ingest.calls import Body, ModelReply, ToolCall, Usage
from ....ingest.errors import ConfigError
from ..completion import Completion
from .gemini import model_in_url

MODEL_KEYS = frozenset({"model", "modelId"})
FILTERED = frozenset({"guardrail_intervened", "content_filtered"})


class BedrockWire:
    """How Converse is spoken."""

    samples = 1

    def path(self, request: Body) -> str:
        """Names the model, which may be an ARN."""
        return f"/model/{model_in_url({'model': request.get('modelId') or request.get('model')})}/converse"

    def encode(self, request: Body, count: int) -> Body:
        """Sends the recorded body without its model."""
        return {k: v for k, v in request.items() if k not in MODEL_KEYS}

    def decode(self, value: Any) -> list[Completion]:
        """Reads a Converse response; the API does not say which model answered."""
        blocks = value["output"]["message"]["content"]
        stop = value.get("stopReason") or ""
        reply = ModelReply(
            text="".join(b["text"] for b in blocks if "text" in b),
            tool_calls=tuple(_call(b["toolUse"]) for b in blocks if "toolUse" in b),
            finish_reason=stop,
            refusal=stop if stop in FILTERED else "",
        )
        return [Completion(reply=reply, usage=_usage(value.get("usage") or {}))]


def _call(use: Mapping[str, Any]) -> ToolCall:
    arguments = json.dumps(use["input"], ensure_ascii=False)
    return ToolCall(name=use["name"], arguments=arguments, id=use.get("toolUseId") or "")


def _usage(value: Mapping[str, Any]) -> Usage:
    read, written = value.get("cacheReadInputTokens"), value.get("cacheWriteInputTokens")
    fresh = value.get("inputTokens")
    return Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        output_tokens=value.get("outputTokens"),
        cached_input_tokens=read,
    )


class SigV4(httpx.Auth):
    """Signs requests with the AWS credentials that botocore finds; ConfigError when it finds none."""

    requires_request_body = True

    def __init__(self, region: str) -> None:
        try:
            from botocore.auth import SigV4Auth
            from botocore.session import Session
        except ImportError as error:
            raise ConfigError(
                "Bedrock requests are signed by botocore", hint="pip install 'whyspan[bedrock]'"
            ) from error
        credentials = Session().get_credentials()
        if credentials is None:
            raise ConfigError(
                "there are no AWS credentials", hint="set AWS_ACCESS_KEY_ID, AWS_PROFILE or AWS_BEARER_TOKEN_BEDROCK"
            )
        self._signer = SigV4Auth(credentials, "bedrock", region)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Adds the signature."""
        from botocore.awsrequest import AWSRequest

        signed = AWSRequest(
            method=request.method, url=str(request.url), data=request.content,
            headers={"content-type": request.headers["content-type"]},
        )  # fmt: skip
        self._signer.add_auth(signed)
        request.headers.update(dict(signed.headers))
        yield request
