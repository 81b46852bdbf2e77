"""Tools called and words said, in the shapes that conventions and providers use."""

from typing import Any

import pytest

from whyspan.ingest.store.outputs import TEXT_LENGTH
from whyspan.ingest.store.promotion import promote

CHAT = {"gen_ai.operation.name": "chat"}
OPENAI = '{"choices":[{"message":{"role":"assistant","content":%s,"tool_calls":%s}}]}'
CALL = '[{"type":"function","id":"c1","function":{"name":"mail","arguments":"{\\"to\\": 1}"}}]'

CALLING: dict[str, dict[str, Any]] = {
    "semconv": {
        "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"Done."},'
        '{"type":"tool_call","id":"c1","name":"mail","arguments":{"to":1}}]}]'
    },
    "openai": {"output.value": OPENAI % ('"Done."', CALL)},
    "anthropic": {
        "output.value": '{"role":"assistant","content":[{"type":"text","text":"Done."},'
        '{"type":"tool_use","id":"c1","name":"mail","input":{"to":1}}]}'
    },
    "gemini": {
        "output.value": '{"candidates":[{"content":{"role":"model","parts":[{"text":"Done."},'
        '{"functionCall":{"name":"mail","args":{"to":1}}}]}}]}'
    },
    "bedrock": {
        "output.value": '{"output":{"message":{"role":"assistant","content":[{"text":"Done."},'
        '{"toolUse":{"name":"mail","input":{"to":1}}}]}}}'
    },
    "openinference": {
        "llm.output_messages.0.message.content": "Done.",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "mail",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"to":1}',
    },
    "openllmetry": {
        "gen_ai.completion.0.content": "Done.",
        "gen_ai.completion.0.tool_calls.0.name": "mail",
        "gen_ai.completion.0.tool_calls.0.arguments": '{"to":1}',
    },
    "vercel": {
        "ai.response.text": "Done.",
        "ai.response.toolCalls": '[{"toolCallId":"c1","toolName":"mail","input":{"to":1}}]',
    },
}


@pytest.mark.parametrize("found", CALLING.values(), ids=CALLING)
def test_a_reply_is_read_whatever_the_convention(found: dict[str, Any]) -> None:
    promoted = promote({**CHAT, **found})
    assert promoted.reply_text == "Done."
    assert [(c.name, (c.arguments or "").replace(" ", "")) for c in promoted.tool_calls] == [("mail", '{"to":1}')]


def test_a_call_in_two_outputs_of_a_span_counts_once() -> None:
    twice = promote({**CHAT, **CALLING["semconv"], **CALLING["openai"]})
    assert [c.name for c in twice.tool_calls] == ["mail"]


def test_two_calls_of_a_tool_are_two() -> None:
    twice = promote({**CHAT, "output.value": OPENAI % ("null", CALL[:-1] + "," + CALL[1:])})
    assert [c.name for c in twice.tool_calls] == ["mail", "mail"]
    assert twice.reply_text is None


def test_a_reply_in_plain_words_is_kept_to_its_length() -> None:
    assert promote({**CHAT, "output.value": "word " * 1000}).reply_text == ("word " * 1000)[:TEXT_LENGTH]


def test_spans_that_are_no_model_calls_say_nothing() -> None:
    promoted = promote({"gen_ai.operation.name": "execute_tool", **CALLING["openai"]})
    assert (promoted.tool_calls, promoted.reply_text) == ((), None)
