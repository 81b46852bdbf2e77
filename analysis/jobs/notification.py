"""Telling people what a run came to: standard output, a webhook, or anything that takes Slack's incoming webhooks."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from ...ingest.calls import Json
from ...ingest.errors import ConfigError, UpstreamError
from .ledger import ItemStatus, Run
from .runner import JobResult

KINDS = ("stdout", "webhook", "slack")
TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Channel:
    """Where a summary goes."""

    kind: str
    url: str = ""


def read_channel(text: str, environ: Mapping[str, str] | None = None) -> Channel:
    """Reads `stdout`, `webhook:URL` or `slack:URL`; `$NAME` is taken from the environment, since such URLs are keys.

    Raises ConfigError for anything else, and for a variable that is not set.
    """
    env = os.environ if environ is None else environ
    kind, _, url = text.partition(":")
    if kind not in KINDS or bool(url) == (kind == "stdout"):
        raise ConfigError(f"notify: {text!r} is no channel", hint="channels: stdout, webhook:URL, slack:$SLACK_URL")
    missing = next((name for name in re.findall(r"\$(\w+)", url) if name not in env), None)
    if missing:
        raise ConfigError(f"notify: {missing} is not set", hint=f"export {missing}=https://…")
    return Channel(kind, re.sub(r"\$(\w+)", lambda match: env[match[1]], url))


def summary(result: JobResult, run: Run) -> dict[str, Json]:
    """Returns a run in figures, for machines: nothing in it quotes a trace."""
    return {
        "job": run.job,
        "run_id": run.run_id,
        "status": run.status.value,
        "explained": result.count(ItemStatus.DONE),
        "linked": result.count(ItemStatus.LINKED),
        "skipped": result.count(ItemStatus.SKIPPED),
        "failed": result.count(ItemStatus.FAILED),
        "left": result.count(ItemStatus.WAITING),
        "causes": sum(bool(item.outcome.get("headline")) for item in result.items),
        "fixes": sum(bool(item.outcome.get("fix")) for item in result.items),
        "calls": run.calls,
        "tokens": run.tokens,
        "cost_usd": run.cost_usd,
        "note": run.note,
    }


def summary_line(result: JobResult, run: Run) -> str:
    """Returns a run in one line, for people."""
    facts = summary(result, run)
    words = [f"{facts['explained']} explained ({facts['causes']} with a cause)"]
    words += [f"{facts[key]} {key}" for key in ("linked", "skipped", "failed", "left") if facts[key]]
    cost = f", ${facts['cost_usd']:.2f}" if facts["cost_usd"] else ""
    note = f" ({facts['note']})" if facts["note"] else ""
    return f"job {facts['job']}: {facts['status']}{note}. {', '.join(words)}; {facts['calls']:,} replays paid{cost}"


def notify(channel: Channel, result: JobResult, run: Run) -> None:
    """Sends a run's summary. Raises UpstreamError when the channel does not take it."""
    body = {"text": summary_line(result, run)} if channel.kind == "slack" else summary(result, run)
    try:
        response = httpx.post(channel.url, json=body, timeout=TIMEOUT_S)
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise UpstreamError(f"the {channel.kind} cannot be reached: {type(error).__name__}", transient=True) from error
    if not response.is_success:
        raise UpstreamError(f"the {channel.kind} answered {response.status_code}")
