import concurrent.futures
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from whyspan.cli.demo.standin import RequestError, model, serve_standin

REQUEST = {
    "model": "standin-refund",
    "messages": [{"role": "user", "content": "Order LC-58213 came with a scratch."}],
    "tools": [
        {"type": "function", "function": {"name": name, "description": "", "parameters": {}}}
        for name in ("lookup_order", "search_help")
    ],
}


@pytest.fixture
def url() -> Iterator[str]:
    with serve_standin(seed=7) as base_url:
        yield f"{base_url}/chat/completions"


def replies(url: str, **fields: Any) -> list[str]:
    answer = httpx.post(url, json={**REQUEST, **fields}).raise_for_status().json()
    return [json.dumps(choice["message"]) for choice in answer["choices"]]


def test_answers_in_openai_chat_form(url: str) -> None:
    answer = httpx.post(url, json=REQUEST).raise_for_status().json()
    choice = answer["choices"][0]
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "standin-refund"
    assert choice["finish_reason"] == "tool_calls"
    assert [call["function"]["name"] for call in choice["message"]["tool_calls"]] == ["lookup_order", "search_help"]
    assert len({call["id"] for call in choice["message"]["tool_calls"]}) == 2
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]


def test_repeated_request_gets_fresh_samples(url: str) -> None:
    assert len({replies(url)[0] for _ in range(5)}) == 5


def test_n_choices_are_the_samples_of_n_requests() -> None:
    with serve_standin(seed=3) as base_url:
        together = replies(f"{base_url}/chat/completions", n=4)
    with serve_standin(seed=3) as base_url:
        apart = [replies(f"{base_url}/chat/completions")[0] for _ in range(4)]
    assert together == apart


def test_samples_do_not_depend_on_the_order_of_other_requests() -> None:
    temperatures = [0.1, 0.4, 0.7, 1.0] * 6
    with serve_standin(seed=5) as base_url:
        one_by_one = Counter(replies(f"{base_url}/chat/completions", temperature=t)[0] for t in temperatures)
    with serve_standin(seed=5) as base_url, concurrent.futures.ThreadPoolExecutor(8) as pool:
        at_once = Counter(
            pool.map(lambda t: replies(f"{base_url}/chat/completions", temperature=t)[0], reversed(temperatures))
        )
    assert at_once == one_by_one


def test_seed_changes_the_samples() -> None:
    first = []
    for seed in (1, 2):
        with serve_standin(seed=seed) as base_url:
            first += replies(f"{base_url}/chat/completions")
    assert first[0] != first[1]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"{", 400, "not JSON"),
        (b"[]", 400, "not a JSON object"),
        (b'{"model": "standin-inbox"}', 400, "not a chat request"),
        (b'{"model": "gpt-9", "messages": []}', 404, "standin-inbox, standin-refund, standin-ops"),
        (b'{"model": "standin-inbox", "messages": [], "stream": true}', 400, "streaming"),
    ],
)
def test_bad_request_is_refused_in_openai_form(url: str, body: bytes, status: int, words: str) -> None:
    answer = httpx.post(url, content=body)
    assert answer.status_code == status
    assert words in answer.json()["error"]["message"]


def test_connection_serves_many_requests_without_delay(url: str) -> None:
    with httpx.Client() as client:
        for _ in range(20):
            client.post(url, json=REQUEST).raise_for_status()
        # Nagle's algorithm against delayed acknowledgements would take 40 ms a request.
        assert client.post(url, json=REQUEST).elapsed.total_seconds() < 0.04


def test_function_answers_like_the_server() -> None:
    answer = model(dict(REQUEST))
    assert answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "lookup_order"
    with pytest.raises(RequestError, match="does not exist"):
        model({"model": "gpt-9", "messages": []})
