"""`whyspan writeback`."""

import click

from ...analysis.records import without_content
from ...analysis.writeback.otlp import send_spans
from ...analysis.writeback.results import claims_of_run, trials_of
from ...ingest import conventions as names
from ...ingest.errors import ExitCode, NotFoundError, UsageError
from ...ingest.spans import Span, TraceId
from ...ingest.store import Store
from ..output import Session, printable, write_json
from ..pulling import Age
from ..writing_back import Sending, exit_code, find_links, preview, send_claims, summary, to_json

_IS_CLAIM = 8
"""Characters that a reference must have to be looked up as a claim."""


@click.command(epilog="Example: whyspan writeback last --to langfuse --verify")
@click.argument("references", nargs=-1, metavar="[CLAIM|RUN]…")
@click.option("--run", "runs", multiple=True, metavar="RUN", help="All claims about this run.")
@click.option("--since", type=Age(), help="All claims made in the last 30m, 12h, 7d, …")
@click.option("--to", "to", default="otlp", show_default=True, help="otlp, langfuse, phoenix or mlflow.")
@click.option("--endpoint", metavar="URL", help="For otlp; default $OTEL_EXPORTER_OTLP_ENDPOINT.")
@click.option("--profile", default="", metavar="NAME", help="For langfuse: [langfuse.NAME] in whyspan.toml.")
@click.option("--include-content", is_flag=True, help="Send what the claims quote from the trace as well.")
@click.option("--trials", is_flag=True, help="Send each replay behind the claims too, as a span (otlp only).")
@click.option("--verify", is_flag=True, help="Read everything back.")
@click.option("--dry-run", is_flag=True, help="Print the exact requests and send nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(
    session: Session,
    references: tuple[str, ...],
    runs: tuple[str, ...],
    since: int | None,
    to: str,
    endpoint: str | None,
    profile: str,
    include_content: bool,
    trials: bool,
    verify: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Send claims back into your observability: those named, those about a run, or those about the last run.

    otlp sends a span into the run's own trace (and a log event where logs are taken), langfuse a score, phoenix an
    annotation, mlflow feedback. Sending again is harmless. What the other side could not take stays in the store's
    outbox and goes with the next write-back. Keys come from the environment.
    """
    if trials and (to != "otlp" or dry_run):
        raise UsageError("--trials goes with --to otlp, and not with --dry-run")
    sending = Sending(to=to, endpoint=endpoint, profile=profile, include_content=include_content, verify=verify)
    with session.open_store() as store:
        claims = _choose(store, (*references, *runs), since)
        if dry_run:
            write_json(preview(store, claims, sending))
            return ExitCode.OK
        outcome, results = send_claims(store, claims, sending)
        links = find_links(store, claims)
        replays = trials_of(store, claims) if trials else []
    if trials:
        send_spans(replays if include_content else [without_content(s) for s in replays], endpoint=endpoint)
    if as_json:
        sent = [{"claim_id": r.claim_id, "trace_id": r.trace_id, "span_id": r.span_id} for r in results]
        document = {"target": to, "claims": sent, "trials": len(replays), "links": links, **to_json(outcome)}
        write_json(document)
        return exit_code(outcome)
    said = f"{len(claims)} claim{'s' * (len(claims) != 1)}"
    click.echo(f"{said}; {summary(to, outcome)}" + (f"; {len(replays)} replays" if trials else ""))
    for name, link in links.items():
        click.echo(f"in {name}: {printable(link)}")
    for reason in outcome.refused:
        click.echo(f"refused: {printable(reason)}", err=True)
    click.echo(f"\nnext: {session.command(_query(claims[0]))}")
    return exit_code(outcome)


def _choose(store: Store, references: tuple[str, ...], since_ns: int | None) -> list[Span]:
    """Returns the claims that references or an age name; NotFoundError when there are none."""
    if since_ns is not None:
        claims = _made_since(store, since_ns)
        return claims or _nothing(f"in the last {since_ns // 10**9} s", "last")
    chosen: dict[object, Span] = {}
    for reference in references or ("last",):
        for claim in _by_id(store, reference) or claim_spans(store, reference):
            chosen[claim.attributes[names.CLAIM_ID]] = claim
    return list(chosen.values())


def _made_since(store: Store, since_ns: int) -> list[Span]:
    return _select(store, "started >= now()::TIMESTAMP - to_microseconds(?)", since_ns // 1000)


def _by_id(store: Store, reference: str) -> list[Span]:
    found = _select(store, "starts_with(claim_id, ?)", reference.lower()) if len(reference) >= _IS_CLAIM else []
    return [c for c in found if str(c.attributes[names.CLAIM_ID]).startswith(reference.lower())]


def _select(store: Store, condition: str, value: object) -> list[Span]:
    with store.connect() as db:
        query = f"SELECT DISTINCT trace_id, claim_id FROM claims WHERE {condition}"
        rows = db.execute(query, [value]).fetchall()
    wanted = {claim_id for _, claim_id in rows}
    claims = (c for trace in sorted({t for t, _ in rows}) for c in claims_of_run(store, TraceId(trace)))
    return [c for c in claims if c.attributes[names.CLAIM_ID] in wanted]


def claim_spans(store: Store, run: str) -> list[Span]:
    """Returns the claim spans of a run, of each claim the latest; NotFoundError when nothing was claimed yet."""
    return claims_of_run(store, store.resolve_run(run)) or _nothing(f"about run {run!r}", run)


def _nothing(what: str, run: str) -> list[Span]:
    raise NotFoundError(f"nothing has been claimed {what}", hint=f"whyspan why {run} EVENT")


def _query(span: Span) -> str:
    return f"sql \"select kind, verdict, effect, e_value from claims where trace_id = '{span.trace_id}'\""
