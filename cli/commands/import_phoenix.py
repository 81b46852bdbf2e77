"""`whyspan import phoenix`."""

from dataclasses import replace

import click

from ...ingest.sources.source import Selection
from ..output import Session
from ..pulling import import_from, window_options


@click.command(epilog="Example: whyspan import phoenix --project default --since 7d")
@window_options
@click.option("--project", "projects", metavar="NAME", multiple=True, help="Only this project; default: all.")
@click.pass_obj
def command(session: Session, selection: Selection, projects: tuple[str, ...], follow: bool, as_json: bool) -> None:
    """Import traces and annotations from a running Phoenix.

    PHOENIX_COLLECTOR_ENDPOINT and PHOENIX_API_KEY say which server; by default the one at http://127.0.0.1:6006.
    A repeat goes on where the last import ended; nothing is stored twice.
    """
    import_from("phoenix", session, replace(selection, projects=projects), follow=follow, as_json=as_json)
