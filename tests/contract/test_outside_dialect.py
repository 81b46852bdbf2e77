"""The example of docs/dialects.md, installed as a package of its own."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from whyspan.ingest.calls import Grade
from whyspan.ingest.dialects.registry import dialects
from whyspan.ingest.errors import ConfigError
from whyspan.ingest.rebuild import rebuild_calls
from whyspan.ingest.spans import Span, SpanId, TraceId

PAGE = (Path(__file__).parents[2] / "docs" / "dialects.md").read_text("utf-8")


def install(folder: Path, entry: str) -> None:
    """Writes the page's module and the metadata that an installer would write."""
    (module,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (folder / "house_dialect.py").write_text(module)
    metadata = folder / "house_dialect-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: house-dialect\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[whyspan.dialects]\n{entry}\n")


@pytest.fixture
def fresh_registry() -> Iterator[None]:
    dialects.cache_clear()
    importlib.invalidate_caches()
    yield
    dialects.cache_clear()


@pytest.mark.usefixtures("fresh_registry")
def test_a_dialect_of_another_package_is_found_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "house = house_dialect:read")
    monkeypatch.syspath_prepend(str(tmp_path))
    request = '{"model": "m", "messages": [{"role": "user", "content": "hello"}]}'
    span = Span(
        trace_id=TraceId("a" * 32),
        span_id=SpanId("b" * 16),
        name="ask",
        start_ns=1,
        end_ns=2,
        attributes={"house.request": request},
    )
    (call,) = rebuild_calls([span], [])
    assert call.request == {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    assert call.completeness.grade is Grade.EXACT
    assert call.completeness.provenance["messages"] == "house:house.request"


@pytest.mark.usefixtures("fresh_registry")
def test_a_dialect_that_cannot_be_loaded_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "house = house_dialect:nothing")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match="'house'"):
        dialects()


def test_the_page_names_every_dialect() -> None:
    assert [name for name in dialects() if f"`{name}`" not in PAGE] == []
