"""`whyspan query`: the shelf of queries."""

import click

from ...ingest.errors import UsageError
from ..output import Session, write_json, write_table
from ..shelf import Query, find_query, load_shelf
from ..tables import Format, format_options, write_result


@click.command(epilog="Example: whyspan query tools_by_error_rate least=20")
@click.argument("name", required=False)
@click.argument("values", nargs=-1, metavar="[PARAMETER=VALUE]...")
@format_options
@click.option("--show", is_flag=True, help="Print the SQL instead of running it.")
@click.pass_obj
def command(session: Session, name: str | None, values: tuple[str, ...], output: Format, show: bool) -> None:
    """Answer a question from the shelf; without NAME, list the shelf.

    NAME is a query of the list or a file NAME.sql. Your own go into the folder `queries` of the store or of
    ~/.config/whyspan: SQL, with a first line that says what it answers.
    """
    if name is None:
        _list(session, output)
        return
    query = find_query(name, session.store_path)
    if show:
        click.echo(query.sql.rstrip())
        return
    from ...ingest.store.querying import run_query

    with session.open_store() as store:
        result = run_query(store, query.sql, query.bind(dict(_pair(value) for value in values)))
    write_result(result, output)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{text!r} is no PARAMETER=VALUE")
    return name, value


def _list(session: Session, output: Format) -> None:
    shelf = load_shelf(session.store_path)
    if output == "json":
        write_json({"queries": [{"name": q.name, "help": q.help, "parameters": _words(q)} for q in shelf.values()]})
        return
    write_table(("query", "answers", "parameters"), [(q.name, q.help, _words(q)) for q in shelf.values()], width=90)
    click.echo(f"\nnext: {session.command('query tools_by_error_rate')}")


def _words(query: Query) -> str:
    return " ".join(p.name if p.default is None else f"{p.name}={p.default}" for p in query.parameters)
