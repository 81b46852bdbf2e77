import json

import pytest

from whyspan.cli.demo.models import ChatModel, ModelError, choose_model, from_anthropic, to_anthropic

CALLS = [
    {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"at": "1"}'}},
    {"id": "b", "type": "function", "function": {"name": "look", "arguments": '{"at": "2"}'}},
]


def test_anthropic_gets_the_results_of_parallel_calls_in_one_message() -> None:
    turns = to_anthropic(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Look twice."},
            {"role": "assistant", "content": "Looking.", "tool_calls": CALLS},
            {"role": "tool", "tool_call_id": "a", "content": "one"},
            {"role": "tool", "tool_call_id": "b", "content": "two"},
        ]
    )
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert [block["type"] for block in turns[1]["content"]] == ["text", "tool_use", "tool_use"]
    assert turns[1]["content"][1]["input"] == {"at": "1"}
    assert [(block["tool_use_id"], block["content"]) for block in turns[2]["content"]] == [("a", "one"), ("b", "two")]


def test_anthropic_reply_becomes_a_chat_message() -> None:
    message = from_anthropic(
        [{"type": "text", "text": "Looking."}, {"type": "tool_use", "id": "a", "name": "look", "input": {"at": "é"}}]
    )
    assert message["content"] == "Looking."
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"at": "é"}


def test_anthropic_reply_in_words_has_no_tool_calls() -> None:
    assert from_anthropic([{"type": "text", "text": "Done."}]) == {"role": "assistant", "content": "Done."}


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_missing_key_is_named(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = f"{provider.upper()}_API_KEY"
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ModelError, match=variable):
        choose_model(**{provider: "some-model"})


def test_local_model_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = choose_model(local="llama")
    assert isinstance(model, ChatModel)
    assert model.base_url.port == 11434
