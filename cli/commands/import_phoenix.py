"""`whyspan import phoenix`."""

from dataclasses import replace

import click

from ...ingest.sources.phoenix_exports import export_source
from ...ingest.sources.source import Selection
from ..output import Session
from ..pulling import import_from, import_source, window_options


@click.command(epilog="Example: whyspan import phoenix --project default --since 7d")
@click.argument("files", nargs=-1, metavar="[FILE]…")
@window_options
@click.option("--project", "projects", metavar="NAME", multiple=True, help="Only this project; default: all.")
@click.pass_obj
def command(
    session: Session,
    files: tuple[str, ...],
    selection: Selection,
    projects: tuple[str, ...],
    follow: bool,
    as_json: bool,
) -> None:
    """Import traces and annotations from a running Phoenix.

    PHOENIX_COLLECTOR_ENDPOINT and PHOENIX_API_KEY say which server; by default the one at http://127.0.0.1:6006.
    A repeat goes on where the last import ended; nothing is stored twice.

    With files, those are read instead: data frames of spans, JSON or Parquet.
    """
    if files:
        return import_source("phoenix", session, export_source(files), follow=False, as_json=as_json)
    import_from("phoenix", session, replace(selection, projects=projects), follow=follow, as_json=as_json)
