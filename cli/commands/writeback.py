"""`whyspan writeback`."""

import click

from ...analysis.records import without_content
from ...analysis.writeback.otlp import headers_from, resolve_endpoint, send_spans
from ...ingest import conventions as names
from ...ingest.errors import NotFoundError
from ...ingest.spans import Span
from ...ingest.store import Store
from ..output import Session, write_json


@click.command(epilog="Example: whyspan writeback last --endpoint http://127.0.0.1:4318")
@click.argument("run", default="last")
@click.option("--endpoint", metavar="URL", help="OTLP/HTTP endpoint; default $OTEL_EXPORTER_OTLP_ENDPOINT.")
@click.option("--include-content", is_flag=True, help="Send what the claims quote from the trace as well.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(session: Session, run: str, endpoint: str | None, include_content: bool, as_json: bool) -> None:
    """Send a run's claims as spans into the run's own trace.

    Headers come from $OTEL_EXPORTER_OTLP_HEADERS. Sending again is harmless: ids are deterministic.
    """
    url = resolve_endpoint(endpoint)
    with session.open_store() as store:
        spans = claim_spans(store, run)
    sent = spans if include_content else [without_content(s) for s in spans]
    send_spans(sent, url, headers_from())
    if as_json:
        write_json({"endpoint": url, "spans": [{"trace_id": s.trace_id, "span_id": s.span_id} for s in sent]})
        return
    click.echo(f"sent {len(sent)} claims to {url}")
    click.echo(f"\nnext: {session.command(_query(spans[0]))}")


def claim_spans(store: Store, run: str) -> list[Span]:
    """Returns the claim spans of a run; NotFoundError when nothing was claimed yet."""
    spans = store.spans(store.resolve_run(run))
    claims = [s for s in spans if s.attributes.get(names.KIND) == names.KIND_CLAIM]
    if not claims:
        raise NotFoundError(f"nothing has been claimed about run {run!r}", hint=f"whyspan why {run} EVENT")
    return claims


def _query(span: Span) -> str:
    return f"sql \"select kind, verdict, effect, e_value from claims where trace_id = '{span.trace_id}'\""
