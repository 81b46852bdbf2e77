"""Who plays: the model, command or HTTP agent under test, and the models that fill roles, as providers of the engine.

Going through the replay engine gives all of them its budget, limits, retries and paid replies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ....ingest.calls import Api, Body
from ....ingest.errors import UsageError
from ....ingest.settings import load_section
from ...cases import Case, Origin
from ...fields import with_system, with_user_message
from ...parameters import with_parameter
from ...replay.completion import Provider
from ...replay.configuration import read_entries
from ...replay.limits import Limits
from ...replay.models import ModelChoice, choose_model
from ...replay.providers.function import FunctionModel
from ...replay.vendors import VENDORS
from ...targets import parse_target
from ...yaml_files import Table
from .agents import CommandLine, UrlAgent
from .investigator import BUDGET, Investigator

COMMAND_LINES = {
    "claude-cli": ("claude", "-p", "--output-format", "text"),
    "codex-cli": ("codex", "exec", "--skip-git-repo-check", "-"),
}
"""Command-line clients that answer a prompt on standard input with the account that they are logged in to."""
RULES = "rules"
"""A Python function in a file, `model: FILE:FUNCTION`: needs no key and answers the same every time."""
RECORDED = "recorded"
"""Frozen decisions are replayed on the model that made them."""
WHY = "why"
"""Says what caused a frozen decision of the rule-based `model`, found by experiment: a test of `why` itself."""
FUNCTIONS = (RULES, WHY)
"""Providers whose model is `FILE:FUNCTION`."""
FIELDS = ("provider", "model", "system", "prompt", "parameters", "command", "url", "timeout_s")
OUTPUT_LIMIT = 4096
"""Only where the API demands a limit."""
ANY_REPLY = parse_target("text:/./")


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """Something that answers prompts."""

    provider: str
    """A provider's name, `rules`, a command-line client, `command`, or `url`."""
    model: str = ""
    system: str = ""
    prompt: str = ""
    """Template of the user message."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    url: str = ""
    timeout_s: float = 120.0
    folder: Path = Path()
    """What `rules` files and commands are relative to."""

    @property
    def argv(self) -> tuple[str, ...]:
        """The command that it is; empty for what is none."""
        return self.command or COMMAND_LINES.get(self.provider, ())

    @property
    def api(self) -> Api:
        """The form of its requests."""
        vendor = next((v for v in VENDORS if self.provider in v.names), None)
        return vendor.apis[0] if vendor else Api.OPENAI_CHAT

    def request(self, text: str) -> Body:
        """Returns the request that shows it a text."""
        body: Body = {"model": self.model or self.provider}
        if self.api is Api.ANTHROPIC_MESSAGES:
            body = with_parameter(self.api, body, "max_tokens", OUTPUT_LIMIT)
        for name, value in self.parameters.items():
            body = with_parameter(self.api, body, name, value)
        body = with_user_message(self.api, body, text)
        return with_system(self.api, body, self.system) if self.system else body

    def open(self, choice: ModelChoice | None = None, frozen: Case | None = None) -> tuple[Provider, Limits]:
        """Returns the provider that answers, and its limits; a `choice` of the user's takes its place.

        `frozen` is the decision to replay, where there is one. Raises UsageError or ConfigError, with what to
        configure, when there is no such model.
        """
        if self.provider == WHY:
            return self._investigator(choice, frozen), Limits()
        if choice is not None or frozen is not None:
            choice, case = choice or choose_model(), frozen or self._case
            return choice.open(case), choice.limits(case)
        if self.provider == RULES:
            return FunctionModel.load(str(self.folder / self.model)), Limits()
        if self.provider == "url":
            return UrlAgent(self.url, self.timeout_s), Limits()
        if self.argv:
            return self._program(), Limits()
        chosen = choose_model()
        named = [replace(entry, match={}) for entry in chosen.entries if entry.name == self.provider]
        if named:  # It is meant by its name, whatever recorded calls it is for.
            chosen = replace(chosen, entries=tuple(named))
        return chosen.open(self._case), chosen.limits(self._case)

    def _program(self) -> Provider:
        argv = list(self.argv)
        if not self.command and self.model:
            argv[2:2] = ["--model", self.model]
        return CommandLine(argv, self.folder, self.timeout_s, reads_json=bool(self.command))

    def _investigator(self, choice: ModelChoice | None, frozen: Case | None) -> Provider:
        if frozen is None:
            raise UsageError("the provider why needs cases that are frozen decisions")
        spec = choice.model_fn if choice else str(self.folder / self.model)
        if not isinstance(spec, str) or not spec:
            raise UsageError("the provider why investigates a function", hint="--model-fn FILE:FUNCTION")
        return Investigator(FunctionModel.load(spec), frozen, int(self.parameters.get("budget", BUDGET)))

    @property
    def _case(self) -> Case:
        origin = Origin(provider=self.provider)
        return Case(api=self.api, request={"model": self.model}, target=ANY_REPLY, origin=origin)

    def to_json(self) -> dict[str, Any]:
        """Returns what identifies its answers."""
        return {"provider": self.provider, "model": self.model, "parameters": dict(self.parameters)} | {
            "command": list(self.command),
            "url": self.url,
        }


def read_player(table: Table, *, also: Sequence[str] = ()) -> Player:
    """Reads a `proposer`, `judge` or role of a file."""
    table.only([*FIELDS, *also])
    kinds = [name for name in ("provider", "command", "url") if name in table]
    if len(kinds) != 1:
        table.fail("provider", "give exactly one of provider, command, url")
    provider = kinds[0] if kinds[0] != "provider" else table.choice("provider", provider_names())
    return Player(
        provider=provider,
        model=table.text("model", None if provider in FUNCTIONS else ""),
        system=table.text("system", ""),
        prompt=table.text("prompt", ""),
        parameters=table.table("parameters").plain(),
        command=table.texts("command", ()),
        url=table.text("url", ""),
        timeout_s=table.number("timeout_s", 120.0),
        folder=table.path.parent,
    )


def provider_names() -> list[str]:
    """Returns every provider that a file may name."""
    configured = [entry.name for entry in read_entries(load_section("providers"))]
    return [*FUNCTIONS, RECORDED, *(name for v in VENDORS for name in v.names), *COMMAND_LINES, *configured]
