"""`whyspan shell`: one query after the other."""

import sys
from collections.abc import Iterator

import click

from ...ingest.errors import UsageError
from ..output import Session, printable, write_table
from ..tables import write_result

_HELP = """\
A query ends with a semicolon. The store is read-only, and every query sees what has come in by then.
  .views          the views
  .columns VIEW   the columns of a view, with what they mean
  .exit           leave (or Ctrl-D)"""


@click.command(epilog="Example: whyspan shell, then SELECT * FROM runs ORDER BY started DESC LIMIT 5;")
@click.pass_obj
def command(session: Session) -> None:
    """Ask the store one SQL query after the other."""
    from ...ingest.store.querying import run_query

    is_terminal = sys.stdin.isatty()
    if is_terminal:
        import readline  # noqa: F401  # line editing for input()

        click.echo("queries end with a semicolon; .help helps")
    with session.open_store() as store:
        for line in _statements("whyspan> " if is_terminal else ""):
            try:
                if line.startswith("."):
                    if line == ".exit":
                        return
                    _describe(line)
                    continue
                store.refresh()
                write_result(run_query(store, line), None)
            except UsageError as error:
                click.echo(f"error: {printable(error.message)}", err=True)
                click.echo(f"hint: {printable(error.hint or '')}", err=True)


def _statements(prompt: str) -> Iterator[str]:
    """Yields dot commands and whole statements, without their semicolons."""
    pending = ""
    while True:
        try:
            line = input("     ... " if prompt and pending else prompt)
        except EOFError:
            if pending.strip():
                yield pending.strip()
            return
        if not pending and line.startswith("."):
            yield line.strip()
            continue
        pending += line + "\n"
        if line.rstrip().endswith(";"):
            yield pending.strip().rstrip(";")
            pending = ""


def _describe(line: str) -> None:
    from ...ingest.store.views import VIEWS

    word, _, name = line.partition(" ")
    views = {view.name: view for view in VIEWS}
    if word == ".views":
        write_table(("view", "what it holds"), [(view.name, view.help) for view in VIEWS], width=100)
    elif word == ".columns" and name.strip() in views:
        columns = views[name.strip()].columns
        write_table(("column", "type", "meaning"), [(c.name, c.type, c.help) for c in columns], width=80)
    elif word == ".help":
        click.echo(_HELP)
    else:
        raise UsageError(f"there is no {line}", hint=".help lists what there is")
