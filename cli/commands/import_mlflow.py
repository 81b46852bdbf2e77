"""`whyspan import mlflow`."""

from dataclasses import replace

import click

from ...ingest.sources.source import Selection
from ..output import Session
from ..pulling import import_from, window_options


@click.command(epilog="Example: whyspan import mlflow --experiment default --since 7d")
@window_options
@click.option("--experiment", "projects", metavar="NAME", multiple=True, help="Only this experiment; default: all.")
@click.pass_obj
def command(session: Session, selection: Selection, projects: tuple[str, ...], follow: bool, as_json: bool) -> None:
    """Import traces and feedback from an MLflow tracking server.

    MLFLOW_TRACKING_URI says which server, MLFLOW_TRACKING_USERNAME and _PASSWORD or _TOKEN who asks.
    A repeat goes on where the last import ended; nothing is stored twice.
    """
    import_from("mlflow", session, replace(selection, projects=projects), follow=follow, as_json=as_json)
