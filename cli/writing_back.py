"""What the commands that write back share: the targets, sending through the outbox, reading back, and the summary."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

import click

from ..analysis.claims import Claim
from ..analysis.links import links_to, load_links
from ..analysis.writeback.deliver import Outcome, verify, write_back
from ..analysis.writeback.delivery import Target
from ..analysis.writeback.outbox import Outbox
from ..analysis.writeback.registry import find_target
from ..analysis.writeback.results import Result, claims_of_run, decisions_of, results_of
from ..ingest.conventions import CLAIM_ID
from ..ingest.errors import ExitCode, UpstreamError
from ..ingest.remote import Patience
from ..ingest.spans import Span, TraceId
from ..ingest.store import Store
from .output import Session, printable

PATIENCE = Patience(attempts=3)
"""Not long: what is not sent stays in the outbox."""


@dataclass(frozen=True, kw_only=True)
class Sending:
    """How to write back, as the user gave it."""

    to: str
    endpoint: str | None = None
    profile: str = ""
    include_content: bool = False
    verify: bool = False


def writeback_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--writeback`; the command takes it as `writeback: tuple[str, ...]`."""
    return click.option(
        "--writeback",
        multiple=True,
        metavar="TARGET",
        callback=_known,
        help="Send the claims to otlp, langfuse, phoenix or mlflow as well, without what they quote.",
    )(command)


def _known(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    # A wrong name or a missing key must show before anything is paid for.
    for name in names:
        with _open(Sending(to=name)):
            pass
    return names


def write_back_claims(session: Session, made: Iterable[Claim], to: Sequence[str]) -> None:
    """Sends claims that were just made to each target, and says so on standard error."""
    if not to:
        return
    claims = list(made)
    ids = {claim.id for claim in claims}
    with session.open_store() as store:
        runs = sorted({claim.case.origin.trace_id for claim in claims})
        kept = [span for run in runs for span in claims_of_run(store, TraceId(run))]
        spans = [span for span in kept if span.attributes[CLAIM_ID] in ids]
        for name in to:
            try:
                outcome, _ = send_claims(store, spans, Sending(to=name))
                click.echo(summary(name, outcome), err=True)
            except UpstreamError as error:
                # The experiment is paid for; its report must come out whatever the other side does.
                click.echo(f"warning: {printable(error.message)}; {error.hint}", err=True)


def _open(sending: Sending) -> AbstractContextManager[Target]:
    return find_target(sending.to)(endpoint=sending.endpoint, profile=sending.profile, patience=PATIENCE)


def send_claims(store: Store, claims: Sequence[Span], sending: Sending) -> tuple[Outcome, list[Result]]:
    """Sends claims through the store's outbox, and reads them back when that was asked for."""
    results = results_of(store, claims, include_content=sending.include_content, links=load_links())
    with _open(sending) as target, Outbox.open(store.path) as outbox:
        outcome = write_back(target, sending.to, results, outbox)
        if sending.verify:
            verify(target, results, outcome)
    return outcome, results


def preview(store: Store, claims: Sequence[Span], sending: Sending) -> dict[str, Any]:
    """Returns the exact requests that would be sent, without the keys."""
    results = results_of(store, claims, include_content=sending.include_content, links=load_links())
    with _open(sending) as target:
        requests = [
            {"id": d.id, "method": d.method, "url": target.base_url + d.path, "headers": d.headers, "body": d.content()}
            for d in target.deliveries(results)
        ]
    return {"target": sending.to, "requests": requests}


def find_links(store: Store, claims: Sequence[Span]) -> dict[str, str]:
    """Returns tool → link to the decision of the first claim."""
    templates = load_links()
    decisions = list(decisions_of(store, claims).values())
    return links_to(decisions[0], templates) if decisions else {}


def exit_code(outcome: Outcome) -> ExitCode:
    """Returns UPSTREAM when something was refused or is not there."""
    return ExitCode.UPSTREAM if outcome.refused or outcome.lost else ExitCode.OK


def summary(name: str, outcome: Outcome) -> str:
    """Returns one line about what became of a write-back."""
    counts = {
        "sent": outcome.sent,
        "there already": outcome.known,
        "without a place there": outcome.skipped,
        "refused": len(outcome.refused),
        "read back": outcome.verified,
        "lost": outcome.lost,
        "cannot be read back": outcome.unreadable,
    }
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"{name}: {said or 'nothing to send'}"


def to_json(outcome: Outcome) -> dict[str, Any]:
    """Returns the counts for `--json`."""
    return asdict(outcome)
