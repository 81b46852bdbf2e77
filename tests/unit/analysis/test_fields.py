"""What only some APIs have, and has to be right in a request that is edited."""

from typing import Any

import pytest

from whyspan.analysis.fields import (
    form_of,
    forms,
    place_of,
    previous_calls,
    text_fields,
    value_at,
    with_model_message,
    with_user_message,
)
from whyspan.analysis.segments import segment
from whyspan.ingest.calls import Api, Body
from whyspan.ingest.errors import NotReplayableError


def without(api: Api, body: Body, *texts: str) -> Any:
    cut = segment(api, body)
    return cut.without(cut.groups_saying(texts))


def anthropic(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 5, "messages": list(messages), **more}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


ASK = {"role": "user", "content": "Go."}


def test_every_api_has_a_form() -> None:
    assert set(forms()) == {api.value for api in Api}


def test_an_unknown_role_is_not_replayable() -> None:
    with pytest.raises(NotReplayableError, match="role 'critic'"):
        text_fields(Api.OPENAI_CHAT, {"messages": [{"role": "critic", "content": "x"}]})


def test_thinking_is_signed_and_never_edited() -> None:
    thought = {"type": "thinking", "thinking": "Secret plan.", "signature": "s"}
    body = anthropic(ASK, {"role": "assistant", "content": [thought, text("Said this.")]}, ASK)
    assert "Secret plan." not in " ".join(f.text for f in text_fields(Api.ANTHROPIC_MESSAGES, body))
    changed = without(Api.ANTHROPIC_MESSAGES, body, "Said this.")
    assert changed["messages"][1]["content"] == [thought, text("[removed]")]


def test_reasoning_items_keep_the_item_that_follows_them() -> None:
    items = [
        {"role": "user", "content": "Go."},
        {"type": "reasoning", "id": "r", "summary": []},
        {"role": "assistant", "content": "Working on it."},
        {"role": "user", "content": "And?"},
        {"role": "user", "content": "Now."},
    ]
    changed = without(Api.OPENAI_RESPONSES, {"model": "m", "input": items}, "Working on it.", "And?")
    assert changed["input"][2] == {"role": "assistant", "content": "[removed]"}


def test_documents_and_search_results_can_be_cut() -> None:
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "One. Two."}}
    found = {"type": "search_result", "source": "u", "title": "t", "content": [text("Three.")]}
    body = anthropic(user(document, found, text("Go.")))
    assert [s.text for s in segment(Api.ANTHROPIC_MESSAGES, body).segments] == ["One.", "Two.", "Three.", "Go."]
    blocks = without(Api.ANTHROPIC_MESSAGES, body, "One.", "Two.", "Three.")["messages"][0]["content"]
    assert [b["type"] for b in blocks] == ["search_result", "text"]
    assert blocks[0]["content"] == [text("[removed]")]


@pytest.mark.parametrize(
    ("system", "left"),
    [
        ("Be kind. Be brief.", "Be kind. "),
        ([text("Be brief.")], None),
        ([text("Be kind."), text("Be brief.")], [text("Be kind.")]),
    ],
)
def test_a_system_prompt_loses_a_sentence_or_goes(system: Any, left: Any) -> None:
    changed = without(Api.ANTHROPIC_MESSAGES, anthropic(ASK, system=system), "Be brief.")
    assert changed.get("system") == left


def test_a_cache_point_alone_is_no_system_prompt() -> None:
    body = {
        "model": "m",
        "messages": [user({"text": "Go."})],
        "system": [{"text": "Hi."}, {"cachePoint": {"type": "default"}}],
    }
    assert "system" not in without(Api.BEDROCK_CONVERSE, body, "Hi.")


def test_images_stay_where_texts_go() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    body = {"model": "m", "messages": [{"role": "user", "content": [text("Look here."), image]}]}
    assert without(Api.OPENAI_CHAT, body, "Look here.")["messages"][0]["content"] == [image]


def test_older_functions_and_custom_tools_are_read() -> None:
    body = {
        "model": "m",
        "functions": [{"name": "old", "description": "Old way.", "parameters": {}}],
        "tools": [{"type": "custom", "custom": {"name": "sql", "description": "Runs SQL."}}],
        "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": "Thinking.", "tool_calls": [
                {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "1"},
            {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}},
            {"role": "function", "name": "old", "content": "Done."},
        ],
    }  # fmt: skip
    said = {f.text: f.tool for f in text_fields(Api.OPENAI_CHAT, body)}
    assert (said["Old way."], said["Runs SQL."], said["select 1"], said["Done."]) == ("old", "sql", "sql", "old")
    changed = without(Api.OPENAI_CHAT, body, "Thinking.", "Old way.", "Runs SQL.")
    assert changed["messages"][1]["content"] is None
    assert changed["functions"] == [{"name": "old", "parameters": {}}]
    assert changed["tools"] == [{"type": "custom", "custom": {"name": "sql"}}]


def test_responses_may_ask_in_one_text() -> None:
    body = {"model": "m", "input": "Pay. Then stop."}
    assert without(Api.OPENAI_RESPONSES, body, "Pay.")["input"] == "Then stop."
    assert without(Api.OPENAI_RESPONSES, body, "Pay.", "Then stop.")["input"] == "[removed]"
    longer = with_user_message(Api.OPENAI_RESPONSES, body, "Now.")["input"]
    assert [i["content"] for i in longer] == ["Pay. Then stop.", "Now."]


def test_the_output_of_a_custom_tool_may_have_parts() -> None:
    items = [
        {"role": "user", "content": "Go."},
        {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "One row."}]},
    ]
    assert (
        without(Api.OPENAI_RESPONSES, {"model": "m", "input": items}, "One row.")["input"][2]["output"] == "[removed]"
    )


def test_empty_turns_that_were_recorded_are_left_alone() -> None:
    messages = [ASK, {"role": "assistant", "content": ""}, {"role": "user", "content": "One. Two."}]
    changed = without(Api.OPENAI_CHAT, {"model": "m", "messages": messages}, "One.")
    assert changed["messages"][1] is messages[1]


def test_unchanged_branches_are_shared_with_the_recorded_request() -> None:
    body = anthropic(ASK, {"role": "assistant", "content": "One. Two."}, ASK, system="Be kind.")
    changed = without(Api.ANTHROPIC_MESSAGES, body, "One.")
    assert changed["messages"][0] is body["messages"][0]
    assert changed["system"] is body["system"]


def test_a_place_is_told_in_words() -> None:
    body = anthropic(ASK, system="Be kind.")
    assert place_of(Api.ANTHROPIC_MESSAGES, body, ("system",)) == "the system prompt"
    assert place_of(Api.ANTHROPIC_MESSAGES, body, ("messages", 0, "content")) == "the user's words"
    assert place_of(Api.ANTHROPIC_MESSAGES, body, ("nowhere",)) == "the request"


def test_previous_calls_are_compared_without_their_formatting() -> None:
    call = {"type": "tool_use", "id": "c", "name": "read", "input": {"b": 1, "a": 2}}
    body = anthropic(ASK, {"role": "assistant", "content": [call]})
    assert previous_calls(Api.ANTHROPIC_MESSAGES, body) == {("read", '{"a":2,"b":1}')}


def test_a_pointer_to_nothing_is_none() -> None:
    assert value_at({"a": [1]}, ("a", 5)) is None
    assert value_at({"a": 1}, ("a", "b")) is None
    assert form_of(Api.OPENAI_CHAT) is forms()["openai.chat"]


@pytest.mark.parametrize("api", list(Api))
def test_a_conversation_goes_on_with_what_the_model_said_and_the_user_after_it(api: Api) -> None:
    said = with_model_message(api, with_user_message(api, {"model": "m"}, "one"), "two")
    body = with_user_message(api, said, "three")
    assert [(f.role.value, f.text) for f in text_fields(api, body)] == [
        ("user", "one"), ("assistant", "two"), ("user", "three"),
    ]  # fmt: skip
