"""The pytest plugin: options for `whyspan.case(…)`, the test's folder, and measured figures in the report."""

from pathlib import Path

import pytest

from .options import Mode, RunOptions, use_options


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("whyspan", "regression tests of AI agents' decisions")
    group.addoption(
        "--whyspan-mode",
        choices=[m.value for m in Mode],
        default=Mode.AUTO.value,
        help="live asks a model, recorded asks nobody, auto (default) is live when a model is configured",
    )
    group.addoption("--whyspan-model-fn", metavar="FILE:FUNCTION", default="", help="a Python function as the model")
    group.addoption("--whyspan-base-url", metavar="URL", default="", help="an OpenAI-compatible endpoint")
    group.addoption(
        "--whyspan-budget", metavar="CALLS", type=int, default=200, help="replays that one assertion may make (200)"
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker."""
    config.addinivalue_line("markers", "whyspan: a regression test of an agent's decision")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> object:
    """Gives the test its options, and its report what was measured."""
    option = item.config.getoption
    options = RunOptions(
        mode=Mode(option("--whyspan-mode")),
        model_fn=option("--whyspan-model-fn"),
        base_url=option("--whyspan-base-url"),
        budget=option("--whyspan-budget"),
        directory=Path(item.path).parent,
    )
    use_options(options)
    try:
        return (yield)
    finally:
        use_options(None)
        item.user_properties += options.properties
