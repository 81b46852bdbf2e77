"""Links between our results and the user's tools, from the templates of `[links]` in whyspan.toml.

    [links]
    langfuse = "https://cloud.langfuse.com/project/{project}/traces/{trace_id}?observation={span_id}"
    phoenix = "http://127.0.0.1:6006/redirects/spans/{span_id}"
    whyspan = "https://whyspan.example.org/runs/{trace_id}"

`whyspan` is where our own results are shown; write-back puts it into its comments. Ids are those that the tool knows.
"""

from collections.abc import Mapping
from string import Formatter
from urllib.parse import quote

from ..ingest.errors import ConfigError
from ..ingest.settings import load_section, nearest
from ..ingest.spans import Span

PLACEHOLDERS = ("trace_id", "span_id", "project", "session_id")
_PROJECT_KEYS = ("langfuse.project.id", "openinference.project.name")


def load_links(*, environ: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """Returns tool → template.

    Raises ConfigError for a template with an unknown placeholder.
    """
    links = load_section("links", environ=environ)
    for name, template in links.items():
        if not isinstance(template, str):
            raise ConfigError(f"[links] {name} must be text, not {template!r}")
        try:
            fields = [field for _, field, _, _ in Formatter().parse(template) if field is not None]
        except ValueError as error:
            raise ConfigError(f"[links] {name} is no template: {error}") from error
        for field in fields:
            if field not in PLACEHOLDERS:
                raise ConfigError(f"[links] {name} has no value for {{{field}}}", hint=nearest(field, PLACEHOLDERS))
    return links


def fill_link(template: str, span: Span) -> str:
    """Returns the link to a span, with the ids that it has where it was imported from."""
    attributes = {**span.resource.attributes, **span.attributes}
    project = next((attributes[key] for key in _PROJECT_KEYS if key in attributes), "")
    values = {
        "trace_id": attributes.get("langfuse.trace.id", span.trace_id),
        "span_id": attributes.get("langfuse.observation.id", span.span_id),
        "project": project,
        "session_id": attributes.get("session.id", ""),
    }
    return template.format(**{name: quote(str(value), safe="") for name, value in values.items()})


def links_to(span: Span, links: Mapping[str, str]) -> dict[str, str]:
    """Returns tool → link to a span in it."""
    return {name: fill_link(template, span) for name, template in links.items() if name != "whyspan"}
