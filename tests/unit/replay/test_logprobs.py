import math
from collections.abc import Sequence
from typing import Any

import pytest

from whyspan.analysis.cases import Case
from whyspan.analysis.replay.budget import Budget
from whyspan.analysis.replay.completion import Completion
from whyspan.analysis.replay.engine import ReplayEngine
from whyspan.analysis.replay.logprobs import Odds, choice_of, forced_odds, read_choice
from whyspan.analysis.replay.reply_store import SqliteReplyStore
from whyspan.analysis.targets import parse_target
from whyspan.ingest.calls import Api, Body, ModelReply
from whyspan.ingest.errors import UpstreamError

pytestmark = pytest.mark.anyio

ENUM = {
    "model": "m", "messages": [], "temperature": 0.5,
    "response_format": {"type": "json_schema", "json_schema": {"schema": {
        "properties": {"action": {"type": "string", "enum": ["pay", "wait"]}}}}},
}  # fmt: skip
TOOLS = {
    "model": "m", "messages": [], "tool_choice": "required",
    "tools": [{"type": "function", "function": {"name": n}} for n in ("send", "archive")],
}  # fmt: skip
GRAMMAR = {"model": "m", "messages": [], "grammar": 'root ::= "yes" | "no"'}


def token(text: str, **alternatives: float) -> dict[str, Any]:
    return {"token": text, "top_logprobs": [{"token": t, "logprob": math.log(p)} for t, p in alternatives.items()]}


class FakeModel:
    endpoint = "fake"
    batch = 1

    def __init__(self, tokens: Sequence[dict[str, Any]] | UpstreamError) -> None:
        self._tokens = tokens
        self.asked: list[Body] = []

    async def complete(self, request: Body, count: int) -> Sequence[Completion]:
        self.asked.append(request)
        if isinstance(self._tokens, UpstreamError):
            raise self._tokens
        return [Completion(reply=ModelReply(), logprobs=self._tokens)]

    async def aclose(self) -> None:
        """Nothing to release."""


async def odds(request: Body, event: str, tokens: Sequence[dict[str, Any]] | UpstreamError) -> Odds | None:
    case = Case(api=Api.OPENAI_CHAT, request=request, target=parse_target(event))
    return await forced_odds(ReplayEngine(FakeModel(tokens), SqliteReplyStore(None), Budget(9)), case)


async def test_an_enum_in_a_schema_is_a_choice_at_the_requests_temperature() -> None:
    tokens = [token('{"'), token("action"), token('": "'), token("pay", pay=0.4, wait=0.2, x=0.4)]
    found = await odds(ENUM, 'text:/"pay"/', tokens)
    assert found is not None
    assert found.probability == pytest.approx(0.4**2 / (0.4**2 + 0.2**2))
    assert found.calls == 1


async def test_a_tool_that_must_be_called_is_a_choice() -> None:
    tokens = [token('{"name": "'), token("se", se=0.9, arch=0.1)]
    found = await odds(TOOLS, "tool:archive", tokens)
    assert found is not None
    assert found.probability == pytest.approx(0.1)


async def test_a_grammar_of_words_is_a_choice_at_the_first_token() -> None:
    found = await odds(GRAMMAR, "text:/^yes/", [token("yes", yes=0.3, no=0.1, maybe=0.6)])
    assert found is not None
    assert found.options == pytest.approx({"yes": 0.75, "no": 0.25})


@pytest.mark.parametrize(
    "request_body",
    [
        {"model": "m", "messages": []},
        {**ENUM, "top_p": 0.9},
        {**ENUM, "top_k": 40},
        {**ENUM, "min_p": 0.05},
        {**ENUM, "logit_bias": {"17": 5}},
        {**ENUM, "repetition_penalty": 1.1},
        {**TOOLS, "tool_choice": "auto"},
        {**GRAMMAR, "grammar": "root ::= [a-z]+"},
        {**GRAMMAR, "grammar": 'root ::= "yes"'},
    ],
)
def test_what_forces_no_choice_has_to_be_sampled(request_body: Body) -> None:
    assert choice_of(request_body) is None


def test_parameters_that_cut_nothing_leave_the_choice() -> None:
    request = {**ENUM, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "presence_penalty": 0, "logit_bias": None}
    assert choice_of(request) is not None


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [token("something"), token("else")],
        [token('{"action": "'), token("pay")],
        [token('{"action": "'), token("pay", pay=0.5)],
        UpstreamError("logprobs are not supported"),
    ],
)
async def test_unusable_log_probabilities_fall_back_to_sampling(tokens: Any) -> None:
    assert await odds(ENUM, 'text:/"pay"/', tokens) is None


async def test_a_passing_failure_is_no_reason_to_fall_back() -> None:
    with pytest.raises(UpstreamError):
        await odds(ENUM, "no-tool", UpstreamError("busy for hours", transient=True, retry_after_s=9999))


async def test_an_option_too_unlikely_to_be_listed_counts_as_impossible() -> None:
    found = await odds(GRAMMAR, "text:/^no/", [token("yes", yes=0.99)])
    assert found is not None
    assert found.probability == 0.0


async def test_an_option_that_weighs_nothing_at_the_requests_temperature_counts_as_impossible() -> None:
    tokens = [token("yes", yes=0.3, maybe=0.1)]
    assert await odds(GRAMMAR, "text:/^no/", tokens) is None
    cold = await odds({**GRAMMAR, "temperature": 0.2}, "text:/^no/", tokens)
    assert cold is not None
    assert cold.options == {"yes": 1.0, "no": 0.0}


async def test_temperature_0_chooses_the_likeliest_option_however_unlikely_its_token() -> None:
    found = await odds({**GRAMMAR, "temperature": 0}, "text:/^no/", [token("x", x=0.9, yes=1e-6, no=1e-5)])
    assert found is not None
    assert found.probability == pytest.approx(1.0)


async def test_the_limit_of_output_tokens_is_given_under_the_name_that_the_request_uses() -> None:
    model = FakeModel([token("yes", yes=0.6, no=0.4)])
    engine = ReplayEngine(model, SqliteReplyStore(None), Budget(9))
    await read_choice(engine, {**GRAMMAR, "max_completion_tokens": 500})
    assert model.asked[0]["max_completion_tokens"] == 1
    assert "max_tokens" not in model.asked[0]


async def test_the_whole_vocabulary_is_asked_for_only_where_the_choice_is_the_first_token() -> None:
    for request, tokens, widths in (
        (GRAMMAR, [token("yes", yes=0.3)], [20, 2000, 100_000]),
        (ENUM, [token('{"action": "'), token("pay", pay=0.5)], [20, 2000]),
    ):
        model = FakeModel(tokens)
        assert await read_choice(ReplayEngine(model, SqliteReplyStore(None), Budget(9)), request) is None
        assert [asked["top_logprobs"] for asked in model.asked] == widths
