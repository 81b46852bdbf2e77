"""The pytest plugin: options for `whyspan.case(…)`, the marker, progress, and measured figures in the test report."""

from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .options import Inconclusive, Mode, RunOptions, use_options

if TYPE_CHECKING:
    from .check import Check

_CHECKS: "pytest.StashKey[list[Check]]" = pytest.StashKey()
REPORT_ATTRIBUTE = "whyspan_checks"
"""Attribute of a test report that holds its checks as JSON; it travels from the workers of pytest-xdist."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("whyspan", "regression tests of AI agents' decisions")
    group.addoption(
        "--whyspan-mode",
        choices=[m.value for m in Mode],
        default=Mode.AUTO.value,
        help="live asks a model, recorded asks nobody, refresh asks and writes what it verified into the case files, "
        "auto (default) is live when a model is configured, else recorded",
    )
    group.addoption("--whyspan-model-fn", metavar="FILE:FUNCTION", default="", help="a Python function as the model")
    group.addoption("--whyspan-base-url", metavar="URL", default="", help="an OpenAI-compatible endpoint")
    group.addoption("--whyspan-model", metavar="NAME", default="", help="ask this model instead of the recorded one")
    group.addoption(
        "--whyspan-budget", metavar="CALLS", type=int, default=200, help="replays that one assertion may make (200)"
    )
    group.addoption(
        "--whyspan-inconclusive",
        choices=[p.value for p in Inconclusive],
        default=Inconclusive.FAIL.value,
        help="what becomes of a test whose budget ends before the rate is clear (fail)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker."""
    config.addinivalue_line(
        "markers",
        "whyspan(mode=…, budget=…, inconclusive=…): a regression test of an agent's decision; "
        "arguments override the command line for this test",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Gives the test its options, and its report what was measured."""
    progress = _Progress(item)
    options = _options(item, progress)
    item.stash[_CHECKS] = options.checks
    use_options(options)
    try:
        return (yield)
    finally:
        use_options(None)
        progress.clear()
        item.user_properties += [p for check in options.checks for p in _properties(check)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Puts the checks on the report of the test's call."""
    report = yield
    if call.when == "call" and item.stash.get(_CHECKS, []):
        setattr(report, REPORT_ATTRIBUTE, [check.to_json() for check in item.stash[_CHECKS]])
    return report


def _options(item: pytest.Item, progress: "_Progress") -> RunOptions:
    option = item.config.getoption
    options = RunOptions(
        mode=Mode(option("--whyspan-mode")),
        model_fn=option("--whyspan-model-fn"),
        base_url=option("--whyspan-base-url"),
        model_name=option("--whyspan-model"),
        budget=option("--whyspan-budget"),
        inconclusive=Inconclusive(option("--whyspan-inconclusive")),
        directory=Path(item.path).parent,
        progress=progress,
    )
    marker = item.get_closest_marker("whyspan")
    return replace(options, **_overrides(item, marker)) if marker else options


_MARKER_ARGUMENTS: dict[str, Callable[[Any], Any]] = {"mode": Mode, "budget": int, "inconclusive": Inconclusive}


def _overrides(item: pytest.Item, marker: pytest.Mark) -> dict[str, Any]:
    """Reads the marker; pytest.UsageError names an argument that it does not have."""
    unknown = [*map(repr, marker.args), *(k for k in marker.kwargs if k not in _MARKER_ARGUMENTS)]
    if unknown:
        known = ", ".join(_MARKER_ARGUMENTS)
        raise pytest.UsageError(f"{item.nodeid}: the marker whyspan takes {known}, not {', '.join(unknown)}")
    try:
        return {k: _MARKER_ARGUMENTS[k](v) for k, v in marker.kwargs.items()}
    except ValueError as error:
        raise pytest.UsageError(f"{item.nodeid}: marker whyspan: {error}") from error


def _properties(check: "Check") -> list[tuple[str, object]]:
    """Returns the figures for JUnit XML; numbers of an assertion that was never drawn are left out."""
    figures = check.to_json()
    figures["interval"] = " to ".join(f"{x:.3f}" for x in check.interval) if check.interval else None
    names = ("assertion", "status", "mode", "hits", "draws", "rate", "interval", "max_rate", "e_excess",
             "e_compliance", "model", "input_tokens", "output_tokens", "cost_usd")  # fmt: skip
    return [(f"whyspan.{name}", figures[name]) for name in names if figures[name] not in (None, "")]


class _Progress:
    """A live line on a terminal, and nothing elsewhere (CI logs, workers of pytest-xdist)."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        self._terminal: Any = item.config.pluginmanager.get_plugin("terminalreporter")
        self._capture: Any = item.config.pluginmanager.get_plugin("capturemanager")
        self._is_shown = False

    def __call__(self, line: str) -> None:
        """Shows a line in the place of the one before."""
        if self._terminal and self._terminal.isatty and self._capture:
            with self._capture.global_and_fixture_disabled():
                self._terminal.rewrite(line[: self._terminal._tw.fullwidth - 1], erase=True)
            self._is_shown = True

    def clear(self) -> None:
        """Takes the line away, and has pytest begin the line of the test again."""
        if self._is_shown:
            with self._capture.global_and_fixture_disabled():
                self._terminal.rewrite("", erase=True)
                self._terminal.currentfspath = None
                self._terminal.pytest_runtest_logstart(self._item.nodeid, self._item.location)
