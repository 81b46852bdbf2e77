"""`whyspan ci`."""

from pathlib import Path

import click


@click.group()
def command() -> None:
    """Show the results of a CI run where people look."""


@command.command(epilog="Example: whyspan ci comment whyspan-report | gh pr comment --body-file -")
@click.argument("report", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--link", default="", metavar="URL", help="Where the full report is kept.")
def comment(report: Path, link: str) -> None:
    """Print the body of a pull-request comment.

    DIR is what `pytest --whyspan-report DIR` or `whyspan export ci --out DIR` has written. The first line is an
    invisible marker, by which a pipeline finds the comment of an earlier run and edits it.
    """
    from ..report.ci.results import read_results
    from ..report.ci.summary import render_comment

    click.echo(render_comment(read_results(report), link=link), nl=False)
