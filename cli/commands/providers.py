"""`whyspan providers`."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import click

from ..output import write_json, write_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A provider that can be asked."""

    provider: str
    where: str
    configured: bool
    needs: str
    priced: str
    """`free`, `own price`, `listed`, or `no`: then a cap in US dollars cannot be kept."""


@click.command(epilog="Example: whyspan providers --check")
@click.option("--check", is_flag=True, help="Also see whether each configured endpoint answers; sends no content.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(check: bool, as_json: bool) -> None:
    """List the models that can be asked: what is configured and priced, and with --check what can be reached.

    priced: free (nothing is paid), own price ([prices] in the settings has it), listed (the public price list has the
    provider's models), no (a cap in US dollars cannot be kept there).
    """
    rows = [
        {"provider": row.provider, "where": row.where, "configured": "yes" if row.configured else "no",
         "needs": row.needs, "priced": row.priced}
        for row in (*_local(), *_vendors(), *_entries())
    ]  # fmt: skip
    if check:
        for row in rows:
            row["reachable"] = _reachable(row["where"]) if row["configured"] == "yes" else ""
    if as_json:
        write_json({"providers": rows})
    else:
        write_table(tuple(rows[0]), [tuple(row.values()) for row in rows])


def _local() -> Iterator[Row]:
    from ...analysis.learning.play.players import COMMAND_LINES, RULES

    yield Row(provider=RULES, where="a Python function in a file", configured=True, needs="nothing", priced="free")
    for name, argv in COMMAND_LINES.items():
        found = shutil.which(argv[0])
        # What its account pays, the client does not say.
        yield Row(provider=name, where=found or argv[0], configured=bool(found), needs="its login", priced="no")


def _vendors() -> Iterator[Row]:
    from ...analysis.replay.prices import has_listed_prices
    from ...analysis.replay.vendors import VENDORS

    for vendor in VENDORS:
        moved = os.environ.get(vendor.url_variable, "") if vendor.url_variable else ""
        where = moved or vendor.url
        is_listed = has_listed_prices(where.replace("{region}", "us-east-1"))
        yield Row(
            provider=vendor.names[0], where=where, needs=" or ".join(vendor.keys) or "nothing",
            configured=bool(vendor.key(os.environ) or moved or not vendor.keys),
            priced="listed" if is_listed else "no" if vendor.keys else "free",
        )  # fmt: skip


def _entries() -> Iterator[Row]:
    from ...analysis.replay.configuration import read_entries
    from ...analysis.replay.prices import has_listed_prices
    from ...ingest.prices import read_prices
    from ...ingest.settings import load_section

    prices = read_prices(load_section("prices"))
    for entry in read_entries(load_section("providers")):
        own = prices.own_price(entry.model) if entry.model else None
        priced = "own price" if own else "listed" if has_listed_prices(entry.base_url) else "no"
        yield Row(
            provider=entry.name, where=entry.base_url, configured=not entry.key or bool(os.environ.get(entry.key)),
            needs=entry.key or "nothing", priced=priced,
        )  # fmt: skip


def _reachable(url: str) -> str:
    """Asks the root of an endpoint; any answer, even a refusal, means that it is there."""
    import httpx

    if not url.startswith("http") or "{" in url:
        return ""
    try:
        httpx.get(url, timeout=3.0)
    except httpx.HTTPError:
        return "no"
    return "yes"
