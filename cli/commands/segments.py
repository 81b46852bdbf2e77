"""`whyspan segments`."""

import click

from ...analysis.segments import Segment, segment
from ...ingest.overlays import Overlays
from ..output import Session, write_json, write_table
from ..overlay_options import overlay_options
from ..selecting import choose_cases, words


@click.command(epilog="Example: whyspan segments last tool:forward_email")
@click.argument("run", default="last")
@click.argument("event", default="last")
@overlay_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(session: Session, run: str, event: str, overlays: Overlays, as_json: bool) -> None:
    """List the pieces of a decision's context, as `why` removes them.

    A number stands for a text wherever it is said: `whyspan replay RUN EVENT --drop NUMBER` leaves it out.
    """
    with session.open_store() as store:
        (case,) = choose_cases(store, run, event, "", overlays=overlays)
    cut = segment(case.api, case.request)
    numbers = {i: n for n, ids in enumerate(cut.groups) for i in ids}
    if as_json:
        pieces = [{"number": numbers[s.id], **_to_json(s)} for s in cut.segments]
        write_json({"case_id": case.id, "api": case.api.value, "segments": pieces})
        return
    write_table(("piece", "where", "text"), [(numbers[s.id], s.place, s.text) for s in cut.segments], width=76)
    click.echo(f"\nnext: {session.command('replay ' + words(run, event) + ' --drop NUMBER')}")


def _to_json(segment: Segment) -> dict[str, object]:
    return {
        "text": segment.text, "role": segment.role.value, "place": segment.place, "message": segment.message,
        "call_id": segment.call_id,
        "pointer": list(segment.pointer), "start": segment.start, "end": segment.end,
    }  # fmt: skip
