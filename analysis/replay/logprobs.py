"""Log-probability mode: one call tells the probability of a forced first choice, where the API gives log-probabilities.

A choice is forced when the request itself names the options: an enum of a JSON schema, a grammar or list of words, or
tools of which one must be called. Options that begin with different tokens are told apart by the token at which they
begin; its alternatives, at the request's temperature and among the options, are the odds. What comes before the choice
is taken as the model most likely says it. Everything else has to be sampled.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ingest.calls import Body, ModelReply, ToolCall, Usage
from ...ingest.errors import UpstreamError
from ..cases import Case
from .completion import Completion
from .engine import ReplayEngine

WIDTHS = (20, 2000)
"""Alternatives asked for: as many as OpenAI gives, then many, as servers of one's own give."""
WHOLE_VOCABULARY = 100_000
"""Alternatives asked for at last where the choice is the first token: of many tokens they would be too much to send."""
UNTOUCHED: Mapping[str, tuple[float, ...]] = {
    "top_p": (1,), "top_k": (0, -1), "min_p": (0,), "typical_p": (1,), "top_a": (0,), "logit_bias": (),
    "frequency_penalty": (0,), "presence_penalty": (0,), "repetition_penalty": (1,), "repeat_penalty": (1,),
}  # fmt: skip
"""Parameters of sampling, with the values at which probabilities are sampled from as they are told."""
MARGIN_TOKENS = 24
"""Tokens that a forced choice may come after."""
MISSING_MASS = 0.02
"""An option that is not listed is taken as impossible when all that is not listed is less likely than this, or when all
such options together weigh less beside the others, at the request's temperature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a request makes the model choose from."""

    options: tuple[str, ...]
    lead: str
    """Regular expression that the text before the option ends with; empty when the option comes first."""
    is_tool: bool = False

    def reply(self, before: str, option: str) -> ModelReply:
        """Returns a reply that makes this choice, for a target to look at."""
        if self.is_tool:
            return ModelReply(tool_calls=(ToolCall(name=option, arguments="{}"),))
        return ModelReply(text=f'{before}{option}"}}' if self.lead else option)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a model told of a choice."""

    choice: Choice
    before: str
    """The text before the option, as the model most likely says it."""
    options: Mapping[str, float]
    """Option → its probability; they sum to 1."""
    usage: Usage
    """What the last call took."""
    calls: int = 1

    def reply(self, option: str) -> ModelReply:
        """Returns a reply that chooses so."""
        return self.choice.reply(self.before, option)


@dataclass(frozen=True, slots=True, kw_only=True)
class Odds:
    """Probability of each option, and of the target."""

    options: Mapping[str, float]
    probability: float
    calls: int


def choice_of(request: Body) -> Choice | None:
    """Returns the choice that a request forces; None when it forces none, or cuts or bends the probabilities."""
    if any(request.get(name) not in (None, *values) for name, values in UNTOUCHED.items()):
        return None
    found = _enum_choice(request) or _word_choice(request) or _tool_choice(request)
    return found if found and len(set(found.options)) > 1 else None


def _enum_choice(request: Body) -> Choice | None:
    wanted = request.get("response_format") or {}
    schema = (wanted.get("json_schema") or {}).get("schema") or {}
    for name, inner in (schema.get("properties") or {}).items():
        options = inner.get("enum") or ()
        if options and all(isinstance(o, str) for o in options):
            return Choice(options=tuple(options), lead=rf"{re.escape(json.dumps(name))}\s*:\s*\"$")
    return None


def _word_choice(request: Body) -> Choice | None:
    words = request.get("guided_choice") or ()
    grammar = re.fullmatch(r'root ::= ("(?:[^"\\])*"(?: \| "(?:[^"\\])*")*)', str(request.get("grammar") or ""))
    if grammar:
        words = re.findall(r'"([^"]*)"', grammar[1])
    return Choice(options=tuple(words), lead="") if words else None


def _tool_choice(request: Body) -> Choice | None:
    if request.get("tool_choice") not in ("required", "any"):
        return None
    names = [t.get("function", {}).get("name", "") for t in request.get("tools") or ()]
    return Choice(options=tuple(filter(None, names)), lead=r'"name"\s*:\s*"$', is_tool=True)


async def forced_odds(engine: ReplayEngine, case: Case) -> Odds | None:
    """Returns the probability of a case's target; None when it has to be sampled instead (`read_choice`)."""
    reading = await read_choice(engine, case.request)
    if reading is None:
        return None
    hits = [o for o in reading.options if case.target.matches(reading.reply(o))]
    return Odds(options=reading.options, probability=sum(reading.options[o] for o in hits), calls=reading.calls)


async def read_choice(engine: ReplayEngine, request: Body, widths: Sequence[int] = WIDTHS) -> Reading | None:
    """Returns the probabilities of the choice that a request forces; `widths` are numbers of alternatives to ask for.

    None when it forces no choice, when the endpoint gives no usable log-probabilities, or when the budget has ended.
    """
    choice = choice_of(request)
    if choice is None:
        return None
    for calls, width in enumerate(widths if choice.lead else (*widths, WHOLE_VOCABULARY), start=1):
        completion = await _ask(engine, request, width, tokens=MARGIN_TOKENS if choice.lead else 1)
        found = _at_choice(completion.logprobs, choice) if completion else None
        if completion is None or found is None:
            return None
        before, alternatives = found
        odds, is_sure = _weights(alternatives, choice.options, _temperature(request))
        if is_sure:
            return Reading(choice=choice, before=before, options=odds, usage=completion.usage, calls=calls)
    return None


async def _ask(engine: ReplayEngine, request: Body, width: int, *, tokens: int) -> Completion | None:
    limit = "max_completion_tokens" if "max_completion_tokens" in request else "max_tokens"
    asked = {**request, "temperature": 0, "logprobs": True, "top_logprobs": width, limit: tokens}
    try:
        return await engine.ask(asked)
    except UpstreamError as error:
        if error.transient:
            raise
        return None  # The endpoint does not take these parameters.


def _temperature(request: Body) -> float:
    value = request.get("temperature")
    return 1.0 if value is None else max(float(value), 1e-3)


def _at_choice(tokens: Sequence[Mapping[str, Any]], choice: Choice) -> tuple[str, Sequence[Mapping[str, Any]]] | None:
    """Returns the text before the choice, and the alternatives of its first token."""
    text = ""
    for token in tokens:
        if not choice.lead or re.search(choice.lead, text):
            return text, token.get("top_logprobs") or ()
        text += token["token"]
    return None


def _weights(
    alternatives: Sequence[Mapping[str, Any]], options: Sequence[str], temperature: float
) -> tuple[dict[str, float], bool]:
    """Returns the share of each option, and whether what is not listed is too little to matter."""
    begun = [
        (found[0], alternative["logprob"])
        for alternative in alternatives
        if len(found := [o for o in options if alternative["token"] and o.startswith(alternative["token"])]) == 1
    ]
    if not begun:
        return dict.fromkeys(options, 0.0), False
    mass = dict.fromkeys(options, 0.0)
    likeliest = max(logprob for _, logprob in begun)
    for option, logprob in begun:
        mass[option] += math.exp((logprob - likeliest) / temperature)
    total = sum(mass.values())
    listed = sum(math.exp(alternative["logprob"]) for alternative in alternatives)
    # An option that is not listed is less likely than the last alternative that is.
    least = min(alternative["logprob"] for alternative in alternatives)
    missing = (len(options) - len({o for o, _ in begun})) * math.exp((least - likeliest) / temperature)
    is_sure = 1.0 - listed < MISSING_MASS or missing <= MISSING_MASS * total
    return {o: m / total for o, m in mass.items()}, is_sure
