import json
from typing import Any

import pytest

from whyspan.analysis.cases import Case
from whyspan.analysis.fields import system_prompt, text_fields
from whyspan.analysis.interventions import (
    Drop,
    EditTool,
    InsertMessage,
    InsertRule,
    Intervention,
    Noop,
    Replace,
    SetParameter,
    Several,
    SwapModel,
    SystemPrompt,
    intervention_from_json,
    intervention_id,
)
from whyspan.analysis.targets import parse_target
from whyspan.ingest.calls import Api
from whyspan.ingest.errors import FormatError, UsageError

SCHEMA = {"type": "object", "properties": {"to": {"type": "string", "description": "Whom."}}}
BODIES: dict[Api, dict[str, Any]] = {
    Api.OPENAI_CHAT: {
        "model": "m", "temperature": 1.0,
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Pay Ann 5."}],
        "tools": [{"type": "function", "function": {"name": "pay", "description": "Pays.", "parameters": SCHEMA}}],
    },
    Api.OPENAI_RESPONSES: {
        "model": "m", "temperature": 1.0, "instructions": "Be kind.", "input": "Pay Ann 5.",
        "tools": [{"type": "function", "name": "pay", "description": "Pays.", "parameters": SCHEMA}],
    },
    Api.ANTHROPIC_MESSAGES: {
        "model": "m", "temperature": 1.0, "max_tokens": 9, "system": "Be kind.",
        "messages": [{"role": "user", "content": "Pay Ann 5."}],
        "tools": [{"name": "pay", "description": "Pays.", "input_schema": SCHEMA}],
    },
    Api.GEMINI_GENERATE: {
        "model": "m", "generationConfig": {"temperature": 1.0}, "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [{"role": "user", "parts": [{"text": "Pay Ann 5."}]}],
        "tools": [{"functionDeclarations": [{"name": "pay", "description": "Pays.", "parameters": SCHEMA}]}],
    },
    Api.BEDROCK_CONVERSE: {
        "model": "m", "inferenceConfig": {"temperature": 1.0}, "system": [{"text": "Be kind."}],
        "messages": [{"role": "user", "content": [{"text": "Pay Ann 5."}]}],
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "pay", "description": "Pays.", "inputSchema": {"json": SCHEMA}}}]
        },
    },
    Api.OLLAMA_CHAT: {
        "model": "m", "options": {"temperature": 1.0},
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Pay Ann 5."}],
        "tools": [{"type": "function", "function": {"name": "pay", "description": "Pays.", "parameters": SCHEMA}}],
    },
}  # fmt: skip
EVERY: list[Intervention] = [
    Noop(), Drop(("Be kind.",)), Replace("Ann", "Bob"), Replace("a", "b", "pay"), InsertRule("No."),
    SystemPrompt("Other."), InsertMessage("Stop."), EditTool("pay", "Does not pay."), EditTool("pay", None, "{}"),
    SwapModel("n"), SetParameter.of("temperature", 0), SetParameter.of("temperature", None),
    Several((Drop(("Be kind.",)), SwapModel("n"))),
]  # fmt: skip

each_api = pytest.mark.parametrize("api", BODIES, ids=lambda a: a.value)


def case(api: Api = Api.OPENAI_CHAT) -> Case:
    return Case(api=api, request=BODIES[api], target=parse_target("tool:pay"))


def texts(changed: Case) -> list[str]:
    return [f.text for f in text_fields(changed.api, changed.request)]


@pytest.mark.parametrize("edit", EVERY, ids=lambda e: e.summary)
def test_an_intervention_reads_back_and_keeps_its_identity(edit: Intervention) -> None:
    again = intervention_from_json(json.loads(json.dumps(edit.to_json())))
    assert again == edit
    assert intervention_id(again) == intervention_id(edit)
    assert hash(again) == hash(edit)


def test_interventions_have_different_identities() -> None:
    assert len({intervention_id(e) for e in EVERY}) == len(EVERY)


@pytest.mark.parametrize("value", [{}, {"kind": "magic"}, {"kind": "drop"}, {"kind": "drop", "words": ["a"]}])
def test_what_is_no_intervention_is_a_format_error(value: dict[str, Any]) -> None:
    with pytest.raises(FormatError):
        intervention_from_json(value)


@each_api
@pytest.mark.parametrize("edit", [e for e in EVERY if e != Replace("a", "b", "pay")], ids=lambda e: e.summary)
def test_an_intervention_changes_a_copy_and_nothing_else(api: Api, edit: Intervention) -> None:
    before = json.dumps(BODIES[api])
    changed = edit.apply(case(api))
    assert json.dumps(BODIES[api]) == before
    assert (changed.request == BODIES[api]) is isinstance(edit, Noop)
    assert changed.target == case(api).target


@each_api
def test_a_rule_comes_at_the_end_of_the_system_prompt(api: Api) -> None:
    changed = InsertRule("Never pay.").apply(case(api))
    assert system_prompt(api, changed.request) == "Be kind.\n\nNever pay."


@each_api
def test_a_system_prompt_takes_the_place_of_the_old_one(api: Api) -> None:
    assert system_prompt(api, SystemPrompt("Other.").apply(case(api)).request) == "Other."


@each_api
def test_a_rule_becomes_the_system_prompt_where_there_is_none(api: Api) -> None:
    bare = Drop(("Be kind.",)).apply(case(api))
    assert system_prompt(api, bare.request) == ""
    assert system_prompt(api, InsertRule("No.").apply(bare).request) == "No."


@each_api
def test_a_message_of_the_user_comes_last(api: Api) -> None:
    assert texts(InsertMessage("Stop.").apply(case(api)))[-2:] == ["Pay Ann 5.", "Stop."]


@each_api
def test_a_text_is_replaced_wherever_it_is_read(api: Api) -> None:
    assert "Pay Bob 5." in texts(Replace("Ann", "Bob").apply(case(api)))


@each_api
def test_a_tool_is_described_otherwise(api: Api) -> None:
    assert "Asks first." in texts(EditTool("pay", "Asks first.").apply(case(api)))
    assert "Whom." not in texts(EditTool("pay", schema_json='{"type":"object"}').apply(case(api)))
    with pytest.raises(UsageError, match="no tool 'refund'") as caught:
        EditTool("refund", "x").apply(case(api))
    assert "pay" in (caught.value.hint or "")


@each_api
def test_a_parameter_is_set_where_the_api_has_it(api: Api) -> None:
    holder = next((k for k in ("generationConfig", "inferenceConfig", "options") if k in BODIES[api]), None)

    def at(body: Any) -> Any:
        return body[holder] if holder else body

    assert at(SetParameter.of("temperature", 0.2).apply(case(api)).request)["temperature"] == 0.2
    assert "temperature" not in at(SetParameter.of("temperature", None).apply(case(api)).request)


def test_a_nested_parameter_is_named_with_dots() -> None:
    changed = SetParameter.of("response_format.type", "json_object").apply(case())
    assert changed.request["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize("name", ["messages", "model", "tools"])
def test_content_is_no_parameter(name: str) -> None:
    with pytest.raises(UsageError, match="is no parameter"):
        SetParameter.of(name, 1).apply(case())


def test_a_replacement_of_what_is_not_there_is_an_error() -> None:
    with pytest.raises(UsageError, match="does not say 'Bert'"):
        Replace("Bert", "x").apply(case())


def test_a_replacement_reaches_into_json_and_keeps_it_json() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    result = json.dumps({"rows": [{"note": 'She said "pay Ann".\n'}]})
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": result},
    ]
    question = Case(api=Api.OPENAI_CHAT, request={"model": "m", "messages": messages}, target=parse_target("no-tool"))
    changed = Replace('"pay Ann"', '"pay no one"').apply(question)
    assert json.loads(texts(changed)[-1]) == {"rows": [{"note": 'She said "pay no one".\n'}]}


def test_a_tool_result_is_edited_alone() -> None:
    messages = [
        {"role": "user", "content": "Is it 5?"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"n": "5"}'}}]},
        {"role": "tool", "tool_call_id": "c", "content": "It is 5."},
    ]  # fmt: skip
    question = Case(api=Api.OPENAI_CHAT, request={"model": "m", "messages": messages}, target=parse_target("no-tool"))
    assert texts(Replace("5", "6", "look").apply(question)) == ["Is it 5?", '{"n": "5"}', "It is 6."]


def test_edits_compose_in_order() -> None:
    changed = Several((SwapModel("n"), Replace("Ann", "Bob"), Replace("Bob", "Cy"))).apply(case())
    assert changed.request["model"] == "n"
    assert "Pay Cy 5." in texts(changed)
