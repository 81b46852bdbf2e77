import asyncio
from pathlib import Path
from typing import Any

import pytest

from whyspan.analysis.replay.providers.function import FunctionModel, identity_of
from whyspan.ingest.calls import ModelReply
from whyspan.ingest.errors import UpstreamError, UsageError

REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def ask(model: FunctionModel) -> ModelReply:
    return asyncio.run(model.complete(REQUEST, 3))[0].reply


def from_file(tmp_path: Path, source: str) -> FunctionModel:
    path = tmp_path / "model.py"
    path.write_text(source)
    return FunctionModel.load(f"{path}:model")


def test_a_function_may_return_a_text_a_message_or_a_completion(tmp_path: Path) -> None:
    assert ask(from_file(tmp_path, "def model(request): return 'hello'")).text == "hello"
    message = "{'content': None, 'tool_calls': [{'id': 'c', 'function': {'name': 'f', 'arguments': '{}'}}]}"
    assert ask(from_file(tmp_path, f"def model(request): return {message}")).tool_calls[0].name == "f"
    whole = "{'choices': [{'message': {'content': 'x'}, 'finish_reason': 'length'}]}"
    assert ask(from_file(tmp_path, f"def model(request): return {whole}")).finish_reason == "length"


def test_a_function_may_be_async_and_import_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_model.py").write_text("WORD = 'found'")
    source = "from neighbour_of_model import WORD\nasync def model(request): return WORD"
    assert ask(from_file(tmp_path, source)).text == "found"


def test_a_function_cannot_change_the_request(tmp_path: Path) -> None:
    ask(from_file(tmp_path, "def model(request): request['messages'].clear(); return 'x'"))
    assert REQUEST["messages"]


@pytest.mark.parametrize("body", ["return 1 / 0", "return 5", "return {'role': 'assistant', 'tool_calls': [1]}"])
def test_a_function_that_fails_or_answers_nonsense_is_an_upstream_error(tmp_path: Path, body: str) -> None:
    with pytest.raises(UpstreamError, match="the model function"):
        ask(from_file(tmp_path, f"def model(request): {body}"))


@pytest.mark.parametrize(
    ("spec", "problem"),
    [("nothing", "is not FILE:FUNCTION"), ("missing.py:model", "is not FILE:FUNCTION"), ("m.py:other", "no function")],
)
def test_a_wrong_spec_is_a_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.py").write_text("def model(request): return ''")
    with pytest.raises(UsageError, match=problem):
        FunctionModel.load(spec)


def test_a_file_that_cannot_be_imported_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="SyntaxError"):
        from_file(tmp_path, "def model(:")


def test_an_edited_file_is_another_endpoint(tmp_path: Path) -> None:
    before = from_file(tmp_path, "def model(request): return 'a'").endpoint
    assert from_file(tmp_path, "def model(request): return 'a'").endpoint == before
    assert from_file(tmp_path, "def model(request): return 'b'").endpoint != before


def plain(request: dict[str, Any]) -> str:
    return "a"


def test_a_plain_function_keeps_its_identity() -> None:
    assert identity_of(plain) == identity_of(plain)


def test_functions_with_something_bound_to_them_are_new_models_each_time() -> None:
    def make(word: str) -> Any:
        return lambda request: word

    one = make("a")
    assert identity_of(one) != identity_of(one)
    assert identity_of(one) != identity_of(make("b"))


def test_a_file_is_imported_again_only_when_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("calls = []\ndef model(request):\n    calls.append(1)\n    return str(len(calls))\n")
    first, again = (asyncio.run(FunctionModel.load(f"{path}:model").complete({}, 1)) for _ in range(2))
    assert [c.reply.text for c in (*first, *again)] == ["1", "2"]
    path.write_text(path.read_text() + "# changed\n")
    (fresh,) = asyncio.run(FunctionModel.load(f"{path}:model").complete({}, 1))
    assert fresh.reply.text == "1"
