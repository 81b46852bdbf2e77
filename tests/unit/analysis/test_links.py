"""Links lead to the right trace, in the words of the tool they lead to; a wrong template is named."""

from pathlib import Path

import pytest

from whyspan.analysis.links import links_to, load_links
from whyspan.ingest.errors import ConfigError
from whyspan.ingest.spans import AnyValue, Resource, Span, SpanId, TraceId


def make_span(**attributes: AnyValue) -> Span:
    resource = Resource(attributes={"openinference.project.name": "my project"})
    ids = TraceId("a" * 32), SpanId("b" * 16)
    return Span(
        trace_id=ids[0], span_id=ids[1], name="x", start_ns=1, end_ns=2, attributes=attributes, resource=resource
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_ids_are_those_of_the_tool_and_quoted() -> None:
    templates = {"langfuse": "https://x/{project}/{trace_id}/{span_id}", "whyspan": "https://y/{trace_id}"}
    assert links_to(make_span(), templates) == {"langfuse": f"https://x/my%20project/{'a' * 32}/{'b' * 16}"}
    imported = make_span(**{"langfuse.trace.id": "run/1", "langfuse.observation.id": "g1", "langfuse.project.id": "p"})
    assert links_to(imported, templates) == {"langfuse": "https://x/p/run%2F1/g1"}


@pytest.mark.parametrize(
    ("template", "said"),
    [('"https://x/{trace}"', "trace_id"), ('"https://x/{trace_id"', "no template"), ("5", "must be text")],
)
def test_a_wrong_template_is_named(template: str, said: str, folder: Path) -> None:
    (folder / "whyspan.toml").write_text(f"[links]\nlangfuse = {template}\n", "utf-8")
    with pytest.raises(ConfigError) as caught:
        load_links(environ={})
    assert said in f"{caught.value.message} {caught.value.hint}"
