import asyncio

import httpx
import pytest

from whyspan.analysis.replay.providers.http import HttpProvider, Target, failure, message_of
from whyspan.analysis.replay.providers.openai_chat import OpenAIChatWire, decode_completions
from whyspan.analysis.replay.sizing import BLOB_BYTES, IMAGE_TOKENS, MAX_OUTPUT, Sizing, output_bound
from whyspan.ingest.calls import Body
from whyspan.ingest.errors import UpstreamError


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": {"message": "m"}}', "m"),
        (b'{"error": "m"}', "m"),
        (b'[{"error": {"message": "m"}}]', "m"),
        (b'{"message": "m"}', "m"),
        (b'{"Message": "m"}', "m"),
        (b'"text"', '"text"'),
        (b"<html>m</html>", "<html>m</html>"),
    ],
)
def test_what_an_error_says_is_found_in_every_form(body: bytes, said: str) -> None:
    assert message_of(httpx.Response(500, content=body)) == said


def test_a_redirect_is_not_followed() -> None:
    error = failure("http://a", httpx.Response(307, headers={"location": "http://evil"}))
    assert not error.transient


def ask(url: str, client: httpx.AsyncClient | None = None) -> UpstreamError:
    async def run() -> None:
        provider = HttpProvider(OpenAIChatWire(), Target(url=url), client=client)
        try:
            await provider.complete({"model": "m", "messages": []}, 1)
        finally:
            await provider.aclose()

    with pytest.raises(UpstreamError) as caught:
        asyncio.run(run())
    return caught.value


def test_a_server_that_is_not_there_ends_the_job_with_a_hint() -> None:
    error = ask("http://127.0.0.1:9/v1")
    assert not error.transient
    assert "is the server running" in (error.hint or "")


def test_what_is_no_url_says_so() -> None:
    assert "is not a URL" in ask("http://[::1:80").message


def test_a_server_that_does_not_connect_in_time_is_tried_again() -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectTimeout("slow", request=request)

    assert ask("http://a", httpx.AsyncClient(transport=httpx.MockTransport(respond))).transient


def test_calls_of_the_older_form_and_texts_in_parts_are_read() -> None:
    message = {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
               "function_call": {"name": "f", "arguments": "{}"}}  # fmt: skip
    (completion,) = decode_completions({"choices": [{"message": message}]})
    assert completion.reply.text == "ab"
    assert completion.reply.tool_calls[0].name == "f"


@pytest.mark.parametrize(
    ("body", "bound"),
    [
        ({}, MAX_OUTPUT),
        ({"max_tokens": 5}, 5),
        ({"max_completion_tokens": 7, "max_tokens": 9}, 7),
        ({"generationConfig": {"maxOutputTokens": 8}}, 8),
        ({"inferenceConfig": {"maxTokens": 6}}, 6),
        ({"options": {"num_predict": -1}}, MAX_OUTPUT),
    ],
)
def test_a_reply_is_bounded_by_the_requests_own_limit(body: Body, bound: int) -> None:
    assert output_bound(body) == bound


def test_a_request_has_at_most_a_token_a_byte_until_more_is_known() -> None:
    body = {"messages": [{"role": "user", "content": "x" * 1000}]}
    sizing = Sizing()
    assert sizing.input_bound(body) >= 1000
    sizing.learn(body, 260)
    assert 260 <= sizing.input_bound(body) <= 400
    denser = {"messages": [{"role": "user", "content": "y" * 500}]}
    sizing.learn(denser, 400)
    assert sizing.input_bound(body) >= 800


def test_an_inline_image_is_not_counted_by_its_bytes() -> None:
    image = {"messages": [{"role": "user", "content": [{"image_url": {"url": "data:" + "A" * 10 * BLOB_BYTES}}]}]}
    assert IMAGE_TOKENS <= Sizing().input_bound(image) < IMAGE_TOKENS + 200
