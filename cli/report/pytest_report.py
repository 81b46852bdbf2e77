"""The pytest plugin of `--whyspan-report DIR`: collects what the tests measured and writes the CI artefacts.

It is loaded by every pytest run on the machine, so what renders is imported only when there is something to render.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ...analysis.regression.pytest_plugin import REPORT_ATTRIBUTE

if TYPE_CHECKING:
    from .ci.results import Document, TestResult


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    parser.getgroup("whyspan").addoption(
        "--whyspan-report",
        metavar="DIR",
        default="",
        help="write summary.md, junit.xml, claims.json, report.html and whyspan.sarif into DIR",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Starts collecting, in the process that sees all reports."""
    folder = config.getoption("--whyspan-report")
    if folder and not hasattr(config, "workerinput"):
        collector = _Collector(config, Path(config.invocation_params.dir, folder))
        config.pluginmanager.register(collector, "whyspan-report-collector")


class _Collector:
    """Gathers the reports of a run, those of the workers of pytest-xdist too."""

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self._config = config
        self._folder = folder
        self._results: list[TestResult] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Takes the report of a test's call that checked a decision."""
        checks = getattr(report, REPORT_ATTRIBUTE, [])
        if report.when == "call" and checks:
            from .ci.results import TestResult

            file, line, _ = report.location
            self._results.append(
                TestResult(
                    name=report.nodeid,
                    file=Path(file).as_posix(),
                    line=(line or 0) + 1,
                    outcome=report.outcome,
                    duration_s=report.duration,
                    message=report.longreprtext if report.failed else "",
                    checks=tuple(checks),
                )
            )

    def pytest_sessionfinish(self) -> None:
        """Writes the artefacts."""
        from .ci.artefacts import write_artefacts
        from .ci.results import CiResults

        results = CiResults(
            title=f"Decisions of agents: {self._config.rootpath.name}",
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            tests=tuple(sorted(self._results, key=lambda t: t.name)),
            claims=self._claims(),
        )
        write_artefacts(self._folder, results)

    def _claims(self) -> "tuple[Document, ...]":
        """Returns the claims that led to the tests, as their case files hold them, each once."""
        from ...analysis.regression.case_file import read_case_file

        paths = dict.fromkeys(str(c["case_path"]) for t in self._results for c in t.checks)
        return tuple({str(c["id"]): c for path in paths for c in read_case_file(Path(path)).claims}.values())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Says where they are."""
        terminalreporter.write_line(f"whyspan: {len(self._results)} tests in {self._folder / 'report.html'}")
