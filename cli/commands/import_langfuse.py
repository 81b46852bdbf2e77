"""`whyspan import langfuse`."""

from dataclasses import replace

import click

from ...ingest.sources.source import Selection
from ..output import Session
from ..pulling import import_from, window_options


@click.command(epilog="Example: whyspan import langfuse --since 7d --tag production")
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
    """
    chosen = replace(selection, session_id=session_id, tags=tags, name=name, environment=environment)
    import_from("langfuse", session, chosen, follow=follow, as_json=as_json, profile=profile, media=media)
