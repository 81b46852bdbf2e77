"""HTML pages that stand alone: one file, no network, no script, readable in dark and on paper.

Everything comes from templates with escaping on. Trace content is untrusted and never marked as safe; a policy in the
page forbids whatever a mistake would let through.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def render_page(template: str, values: Mapping[str, Any]) -> str:
    """Returns a page: a template of `cli/report/templates` with its values."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("whyspan.cli.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment
