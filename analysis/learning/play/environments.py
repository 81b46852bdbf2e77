"""A world that a player acts in, one message at a time, instead of a single question.

    class Environment:
        def reset(self, given):     # a case's input → the first message to the player
        def step(self, action):     # {"text": …, "tool_calls": […]} → the next message; None when it is over
        def score(self):            # → {"score": 0..1, "feedback": [text, …], "metrics": {…}}

A message is a text. Where several agents act, it is `{"to": "name", "text": …}`: each of them sees its own messages
alone, and all of them are played by the proposer.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from ....ingest.calls import Api, Body, Json
from ....ingest.errors import FormatError
from ...canonical import digest
from ...fields import with_model_message, with_user_message
from ...policy import Policy
from ...yaml_files import Table
from ..scoring.own_code import OwnCode
from ..scoring.scores import Score, output_of, read_score
from .exchanges import Exchange

TURNS = 20
Message: TypeAlias = str | Mapping[str, str] | None


class Environment(Protocol):
    """What a file of the user's must have."""

    def reset(self, given: dict[str, Any]) -> Message:
        """Begins anew."""
        ...

    def step(self, action: dict[str, Any]) -> Message:
        """Takes what the player did."""
        ...

    def score(self) -> dict[str, Any]:
        """Says what it was worth."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSpec:
    """`environment` of a scenario."""

    code: OwnCode
    turns: int = TURNS
    """Answers of the player after which it is over."""
    live_tools: tuple[str, ...] = ()
    """What it does in the world outside, by name: the policy must allow it."""

    @property
    def fingerprint(self) -> str:
        """Digest of what decides about scores."""
        return digest([self.code.fingerprint, self.code.name, self.turns, list(self.live_tools)])

    def check(self, policy: Policy) -> None:
        """Raises UsageError, with the rule, where the policy does not allow it."""
        policy.check_environment(self.live_tools)


def read_environment(table: Table) -> EnvironmentSpec:
    """Reads the field `environment`: `{module: market, class: Environment, turns: 8, live_tools: [shop_api]}`."""
    table.only(("module", "class", "turns", "live_tools"))
    return EnvironmentSpec(
        code=OwnCode(
            path=table.path.parent / f"{table.text('module')}.py",
            name=table.text("class", "Environment"),
            place=f"{table.path}: {table.place}",
        ),
        turns=table.whole("turns", TURNS, least=1),
        live_tools=table.texts("live_tools", ()),
    )


async def roll_out(
    spec: EnvironmentSpec,
    given: Mapping[str, Json],
    begin: Callable[[str], Body],
    ask: Callable[[Body], Awaitable[Exchange]],
    *,
    api: Api,
    policy: Policy,
) -> tuple[list[Exchange], Score]:
    """Plays until it is over; returns the model calls and the score.

    `begin` makes an agent's first request of its first message. An answer that breaks the policy is never carried out:
    it ends the play with a score of nought.
    """
    world, place = spec.code.load()(), spec.code.place
    talks: dict[str, Body] = {}
    exchanges: list[Exchange] = []
    message = await _called(spec, world.reset, dict(given))
    while message is not None and len(exchanges) < spec.turns:
        agent, text = _addressed(message, place)
        talk = talks.get(agent)
        request = begin(text) if talk is None else with_user_message(api, talk, text)
        exchange = await ask(request)
        exchanges.append(exchange)
        refusal = policy.refusal(exchange.reply)
        if refusal:
            return exchanges, Score(score=0.0, feedback=(refusal,))
        talks[agent] = with_model_message(api, request, exchange.text)
        message = await _called(spec, world.step, output_of(exchange.text, exchange.reply.tool_calls))
    return exchanges, read_score(await _called(spec, world.score), place)


async def _called(spec: EnvironmentSpec, method: Callable[..., Any], *args: Any) -> Any:
    try:
        return await asyncio.to_thread(method, *args)
    except Exception as error:  # the user's own code may raise anything
        raise spec.code.failed(error) from error


def _addressed(message: Any, place: str) -> tuple[str, str]:
    """Returns to whom a message goes, and its text."""
    if isinstance(message, str):
        return "", message
    if isinstance(message, Mapping) and isinstance(message.get("to"), str) and isinstance(message.get("text"), str):
        return message["to"], message["text"]
    raise FormatError(f"{place}: {message!r} is no message", hint='a text, or {"to": name, "text": text}, or None')
