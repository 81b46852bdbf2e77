"""`whyspan providers`."""

import os
import shutil

import click

from ..output import write_json, write_table


@click.command(epilog="Example: whyspan providers --check")
@click.option("--check", is_flag=True, help="Also see whether each configured endpoint answers; sends no content.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(check: bool, as_json: bool) -> None:
    """List the models that can be asked: what is configured, and with --check what can be reached."""
    from ...analysis.learning.players import COMMAND_LINES, RULES
    from ...analysis.replay.configuration import read_entries
    from ...analysis.replay.vendors import VENDORS
    from ...ingest.settings import load_section

    rows = [{"provider": RULES, "where": "a Python function in a file", "configured": "yes", "needs": "nothing"}]
    for name, argv in COMMAND_LINES.items():
        found = shutil.which(argv[0])
        rows.append(
            {"provider": name, "where": found or argv[0], "configured": "yes" if found else "no", "needs": "its login"}
        )
    for vendor in VENDORS:
        moved = os.environ.get(vendor.url_variable, "") if vendor.url_variable else ""
        configured = bool(vendor.key(os.environ) or moved or not vendor.keys)
        needs = " or ".join(vendor.keys) or "nothing"
        rows.append(
            {"provider": vendor.names[0], "where": moved or vendor.url, "configured": "yes" if configured else "no",
             "needs": needs}
        )  # fmt: skip
    for entry in read_entries(load_section("providers")):
        configured = not entry.key or bool(os.environ.get(entry.key))
        rows.append(
            {"provider": entry.name, "where": entry.base_url, "configured": "yes" if configured else "no",
             "needs": entry.key or "nothing"}
        )  # fmt: skip
    if check:
        for row in rows:
            row["reachable"] = _reachable(row["where"]) if row["configured"] == "yes" else ""
    if as_json:
        write_json({"providers": rows})
    else:
        write_table(tuple(rows[0]), [tuple(row.values()) for row in rows])


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
