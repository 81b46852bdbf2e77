"""Agents that answer as programs or over HTTP, as providers of the engine."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import httpx

from ....ingest.calls import Body, ModelReply
from ....ingest.errors import UpstreamError, UsageError
from ...replay.completion import Completion


class CommandLine:
    """A command that reads the request, as JSON or as text, on standard input and prints the answer."""

    batch = 1

    def __init__(self, argv: Sequence[str], folder: Path, timeout_s: float, *, reads_json: bool) -> None:
        self._argv = argv
        self._folder = folder
        self._timeout_s = timeout_s
        self._reads_json = reads_json
        self.endpoint = "command:" + json.dumps([*argv, str(folder.resolve())])

    async def complete(self, request: Body, count: int) -> Sequence[Completion]:
        """Runs the command once."""
        program = self._argv[0]
        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv, cwd=self._folder,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
        except OSError as error:
            raise UsageError(
                f"{program!r} cannot be started: {error.strerror}", hint=f"is {program} installed and on the PATH?"
            ) from error
        shown = json.dumps(request) if self._reads_json else _as_text(request)
        try:
            async with asyncio.timeout(self._timeout_s):
                out, err = await process.communicate(shown.encode())
        except TimeoutError:
            raise UpstreamError(f"{program} did not answer within {self._timeout_s:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            said = err.decode(errors="replace").strip() or out.decode(errors="replace").strip()
            hint = None if self._reads_json else f"is {program} logged in?"
            raise UpstreamError(f"{program} failed ({process.returncode}): {said[-300:]}", hint=hint)
        return [Completion(reply=ModelReply(text=out.decode(errors="replace").strip(), finish_reason="stop"))]

    async def aclose(self) -> None:
        """Nothing to release."""


class UrlAgent:
    """An agent behind a URL: gets the request as JSON, answers with text, or JSON with `output` or `text`."""

    batch = 1

    def __init__(self, url: str, timeout_s: float) -> None:
        self.endpoint = url
        self._client = httpx.AsyncClient(timeout=timeout_s)

    async def complete(self, request: Body, count: int) -> Sequence[Completion]:
        """Asks once."""
        try:
            answer = await self._client.post(self.endpoint, json=dict(request))
        except httpx.HTTPError as error:
            raise UpstreamError(f"{self.endpoint}: {error or type(error).__name__}", transient=True) from error
        if answer.is_error:
            transient = answer.status_code in (408, 429) or answer.status_code >= 500
            raise UpstreamError(f"{self.endpoint} answers {answer.status_code}", transient=transient)
        return [Completion(reply=ModelReply(text=_answer_text(answer), finish_reason="stop"))]

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._client.aclose()


def _answer_text(answer: httpx.Response) -> str:
    if not answer.headers.get("content-type", "").startswith("application/json"):
        return answer.text
    value = answer.json()
    if isinstance(value, dict):
        value = value.get("output", value.get("text", value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _as_text(request: Body) -> str:
    return "\n\n".join(str(message["content"]) for message in request["messages"])
