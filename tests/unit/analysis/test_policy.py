"""The policy says what may be used, names the rule where something is refused, and is read from one of two places."""

from pathlib import Path

import pytest

from whyspan.analysis.cases import Case
from whyspan.analysis.desk import open_desk
from whyspan.analysis.policy import NO_POLICY, Limits, Names, Taken, load_policy
from whyspan.analysis.replay.budget import Budget
from whyspan.analysis.replay.models import choose_model
from whyspan.analysis.targets import parse_target
from whyspan.ingest.calls import Api, ModelReply, ToolCall
from whyspan.ingest.errors import FormatError, UsageError
from whyspan.ingest.store import Store


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def calling(tool: str, arguments: str = "{}") -> ModelReply:
    return ModelReply(tool_calls=(ToolCall(name=tool, arguments=arguments),))


def test_without_a_policy_everything_is_allowed(folder: Path) -> None:
    assert load_policy() == NO_POLICY
    NO_POLICY.providers.check("openai")
    NO_POLICY.check_endpoint("https://api.openai.com/v1")
    assert NO_POLICY.refusal(calling("wire_money")) == ""
    assert NO_POLICY.answer_rules == []


def test_the_file_goes_before_the_settings_key_by_key(folder: Path) -> None:
    (folder / "whyspan.toml").write_text(
        '[policy]\nnever = ["tool:wipe"]\nproviders = ["openai"]\nlimits = { usd = 1 }\nbad_below = { reward = -1 }\n'
    )
    (folder / "policy.yaml").write_text("providers: [rules]\nlimits: {calls: 5, seconds: 1.5}\n")
    policy = load_policy()
    assert [rule.spec for rule in policy.never] == ["tool:wipe"]
    assert policy.providers == Names(place="policy.yaml:1: providers", allow=("rules",))
    assert policy.limits == Limits(place="policy.yaml:2: limits", calls=5, seconds=1.5)
    assert policy.bad_below == {"reward": -1.0}


def test_a_refusal_names_the_rule_and_what_is_allowed(folder: Path) -> None:
    (folder / "policy.yaml").write_text("hosts:\n  deny: ['*.example.com']\ncommands: [python, pytest]\n")
    policy = load_policy()
    with pytest.raises(UsageError) as refused:
        policy.commands.check("rm")
    assert refused.value.message == "'rm' is not allowed: policy.yaml:3: commands"
    assert refused.value.hint == "allowed: python, pytest"
    with pytest.raises(UsageError, match=r"'api\.example\.com' is not allowed: policy\.yaml:1: hosts"):
        policy.check_endpoint("https://api.example.com/v1#key")
    policy.check_endpoint("http://127.0.0.1:8000")
    policy.check_endpoint("command:curl https://api.example.com")


def test_an_answer_that_breaks_a_rule_is_refused_with_it(folder: Path) -> None:
    (folder / "policy.yaml").write_text('never: ["tool:refund[usd>100]"]\ntools: {deny: ["wire_*"]}\n')
    policy = load_policy()
    assert policy.refusal(calling("refund", '{"usd": 500}')) == "the policy forbids it: never tool:refund[usd>'100']"
    assert policy.refusal(calling("wire_money")) == "the policy forbids it: tools: wire_money"
    assert policy.refusal(calling("refund", '{"usd": 5}')) == ""
    assert policy.answer_rules == ["tool:refund[usd>'100']", "", "wire_*"]


@pytest.mark.parametrize(
    ("text", "tool", "said"),
    [
        ("", "shop", "live_tools: recorded, which is the default"),
        ("live_tools: recorded\n", "shop", "policy.yaml:1: live_tools"),
        ("live_tools: never\n", None, "environments are not allowed: policy.yaml:1: live_tools: never"),
        ("live_tools: {allow: [search]}\n", "shop", "'shop' is not allowed"),
        ("live_tools: {allow: [shop]}\n", "shop", None),
        ("live_tools: recorded\n", None, None),
    ],
)
def test_environments_act_on_the_world_only_where_that_is_allowed(
    folder: Path, text: str, tool: str | None, said: str | None
) -> None:
    (folder / "policy.yaml").write_text(text or "{}\n")
    tools = [tool] if tool else []
    if said is None:
        load_policy().check_environment(tools)
    else:
        with pytest.raises(UsageError, match=said):
            load_policy().check_environment(tools)


def test_limits_lower_the_caps_by_what_was_spent_before() -> None:
    budget = Budget(100, cost_usd=5.0)
    Limits(calls=20, tokens=1000, usd=2.0).cap(budget, Taken(calls=15, tokens=400, usd=0.5))
    assert (budget.cap, budget.token_cap, budget.cost_cap_usd) == (5, 600, 1.5)
    Limits(calls=3).cap(budget, Taken(calls=9))
    assert (budget.cap, budget.token_cap) == (0, 600)


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("never: [wipe]\n", "policy.yaml:1: never: 'wipe' is not an event", None),
        ("tols: [a]\n", "policy.yaml:1: tols: there is no such field", "did you mean 'tools'?"),
        (
            "never: []\nlive_tools: always\n",
            "policy.yaml:2: live_tools: 'always' is not valid",
            "known: never, recorded",
        ),
        ("tools: {alow: [a]}\n", "policy.yaml:1: tools.alow: there is no such field", "did you mean 'allow'?"),
        ("limits: {calls: many}\n", "policy.yaml:1: limits.calls: must be a whole number of at least 0", None),
        ("network: sometimes\n", "policy.yaml:1: network: must be true or false, not 'sometimes'", None),
        ("hosts: 7\n", "policy.yaml:1: hosts: must be a list of names, or {allow", None),
        ("- never\n", "policy.yaml:1: must be a mapping of fields", None),
    ],
)
def test_a_broken_file_names_line_field_and_valid_values(folder: Path, text: str, said: str, hint: str | None) -> None:
    (folder / "policy.yaml").write_text(text)
    with pytest.raises(FormatError) as caught:
        load_policy()
    assert said in caught.value.message
    assert hint is None or caught.value.hint == hint


def test_a_desk_has_the_budget_that_the_policy_leaves(folder: Path) -> None:
    (folder / "policy.yaml").write_text("limits: {calls: 5, usd: 0.5}\n")
    Store.create(folder / "store").close()
    with open_desk(store=str(folder / "store"), model_fn=lambda request: "", budget=100) as desk:
        assert (desk.budget.cap, desk.budget.cost_cap_usd) == (5, 0.5)


def test_replays_go_to_no_host_that_the_policy_forbids(folder: Path) -> None:
    (folder / "policy.yaml").write_text("hosts: [127.0.0.1]\n")
    case = Case(api=Api.OPENAI_CHAT, request={"model": "m", "messages": []}, target=parse_target("no-tool"))
    with pytest.raises(UsageError, match=r"'models\.example\.com' is not allowed: policy\.yaml:1: hosts"):
        choose_model(base_url="https://models.example.com/v1", environ={}).open(case)
