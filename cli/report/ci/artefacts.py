"""Writes the artefacts of a CI run into a folder."""

import json
from collections.abc import Callable
from pathlib import Path

from ....analysis.regression.case_file import write_text
from ....ingest.errors import StoreError
from .junit import render_junit
from .page import render_html
from .results import CiResults
from .sarif import render_sarif
from .summary import render_summary

ARTEFACTS: dict[str, Callable[[CiResults], str]] = {
    "summary.md": render_summary,
    "junit.xml": render_junit,
    "claims.json": lambda results: json.dumps(results.to_json(), indent=2, ensure_ascii=False) + "\n",
    "report.html": render_html,
    "whyspan.sarif": render_sarif,
}
"""File name → what renders it."""


def write_artefacts(folder: Path, results: CiResults) -> tuple[Path, ...]:
    """Writes every artefact, each whole or not at all; returns their paths."""
    try:
        for name, render in ARTEFACTS.items():
            write_text(folder / name, render(results))
    except OSError as error:
        raise StoreError(f"the artefacts cannot be written to {folder}: {error.strerror}") from error
    return tuple(folder / name for name in ARTEFACTS)
