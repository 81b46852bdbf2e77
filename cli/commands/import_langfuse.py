"""`whyspan import langfuse`."""

from dataclasses import replace

import click

from ...ingest.sources.langfuse.exports import export_source
from ...ingest.sources.source import Selection
from ..output import Session
from ..pulling import import_from, import_source, window_options


@click.command(epilog="Example: whyspan import langfuse --since 7d --tag production")
@click.argument("files", nargs=-1, metavar="[FILE]…")
@window_options
@click.option("--session", "session_id", default="", metavar="ID", help="Only traces of this session.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only traces with this tag, or one of several.")
@click.option("--name", default="", help="Only traces with this name.")
@click.option("--environment", default="", help="Only this environment.")
@click.option("--profile", default="", metavar="NAME", help="The project that [langfuse.NAME] in whyspan.toml says.")
@click.option("--media", is_flag=True, help="Fetch the images and recordings that Langfuse keeps apart.")
@click.pass_obj
def command(
    session: Session,
    files: tuple[str, ...],
    selection: Selection,
    session_id: str,
    tags: tuple[str, ...],
    name: str,
    environment: str,
    profile: str,
    media: bool,
    follow: bool,
    as_json: bool,
) -> None:
    """Import traces and scores from Langfuse, Cloud or self-hosted, version 2 or later.

    LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and LANGFUSE_BASE_URL say which project. A repeat goes on where the last
    import ended, and one that was interrupted is continued; nothing is stored twice.

    With files, those are read instead: a downloaded trace, tables, the export to blob storage; JSON, CSV or Parquet.
    """
    if files:
        return import_source("langfuse", session, export_source(files), follow=False, as_json=as_json)
    chosen = replace(selection, session_id=session_id, tags=tags, name=name, environment=environment)
    import_from("langfuse", session, chosen, follow=follow, as_json=as_json, profile=profile, media=media)
