"""`whyspan cache`: the replies that were paid for."""

import time
from datetime import UTC, datetime
from pathlib import Path

import click

from ...analysis.desk import REPLY_FILE
from ...analysis.replay.reply_store import EndpointStats, SqliteReplyStore
from ...ingest.errors import NotFoundError
from ..output import Session, write_json, write_table
from ..replaying import Duration


@click.group(epilog="Example: whyspan cache prune --older-than 30d")
def command() -> None:
    """Look after the replies that were paid for: they are why a command that is done again is free."""


@command.command(epilog="Example: whyspan cache stats")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def stats(session: Session, as_json: bool) -> None:
    """Tell how many replies are kept, from where, and what they cost."""
    path = _path(session)
    replies = SqliteReplyStore(path)
    found = replies.stats()
    replies.close()
    if as_json:
        rows = [{name: getattr(e, name) for name in e.__dataclass_fields__} for e in found]
        write_json({"file": str(path), "bytes": path.stat().st_size, "endpoints": rows})
        return
    columns = ("endpoint", "replies", "requests", "tokens", "cost", "oldest")
    write_table(columns, [_row(e) for e in found])
    click.echo(f"\n{path}: {path.stat().st_size / 1e6:.1f} MB")


@command.command(epilog="Example: whyspan cache prune --older-than 30d")
@click.option("--older-than", type=Duration(), metavar="AGE", required=True, help="30m, 12h, 7d; 0s forgets all.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def prune(session: Session, older_than: float, as_json: bool) -> None:
    """Forget replies; commands that needed them pay for them again."""
    replies = SqliteReplyStore(_path(session))
    removed = replies.prune(before_ns=time.time_ns() - int(older_than * 1e9))
    replies.close()
    if as_json:
        write_json({"removed": removed})
    else:
        click.echo(f"forgot {removed} replies")


def _path(session: Session) -> Path:
    with session.open_store() as store:
        path = Path(store.path) / REPLY_FILE
    if not path.exists():
        raise NotFoundError("no replies are kept yet", hint="`whyspan why` keeps those it pays for")
    return path


def _row(stats: EndpointStats) -> tuple[object, ...]:
    tokens = stats.input_tokens + stats.output_tokens
    return stats.endpoint, stats.replies, stats.requests, tokens, f"${stats.cost_usd:.2f}", _day(stats.oldest_ns)


def _day(time_ns: int) -> str:
    return f"{datetime.fromtimestamp(time_ns / 1e9, tz=UTC):%Y-%m-%d %H:%M}"
