"""Questions about a request and edits of it, the same for every API: written once over the request forms."""

from collections.abc import Iterator, Sequence
from typing import Any

from ...ingest.calls import Api, Body, Json
from ...ingest.errors import UsageError
from ..attribution.problem import Role
from ..canonical import canonical_arguments
from .form import TOOLS_MESSAGE, Pointer, TextField, ToolPlace, value_at, with_values, without_key
from .registry import form_of


def text_fields(api: Api, body: Body) -> list[TextField]:
    """Returns every text the model reads, in the order it reads them: tool definitions, then the messages."""
    form = form_of(api)
    return [f for tool in form.tools(body) for f in _definition(body, tool)] + list(form.texts(body))


def _definition(body: Body, tool: ToolPlace) -> Iterator[TextField]:
    for pointer, text in _descriptions(value_at(body, tool.pointer), tool.pointer):
        yield TextField(pointer=pointer, text=text, role=Role.TOOL_DEFINITION, message=TOOLS_MESSAGE, tool=tool.name)


def _descriptions(value: Any, at: Pointer) -> Iterator[tuple[Pointer, str]]:
    """Descriptions and textual examples at any depth of a tool definition and its schema."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "description" and isinstance(inner, str):
                yield (*at, key), inner
            elif key == "examples" and isinstance(inner, list):
                yield from (((*at, key, n), text) for n, text in enumerate(inner) if isinstance(text, str))
            else:
                yield from _descriptions(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _descriptions(inner, (*at, index))


def emptied_to_valid(api: Api, body: Body, original: Body) -> Body:
    """Returns a body that the API accepts after texts of `original` were emptied."""
    form = form_of(api)
    tidied = form.tidy(body, original)
    if not any(tidied.get(key) is not original.get(key) for key in ("tools", "functions", "toolConfig")):
        return tidied
    # A description may be missing; some APIs refuse an empty one.
    emptied = [t.pointer for t in form.tools(tidied) if value_at(tidied, (*t.pointer, "description")) == ""]
    return with_values(tidied, [(p, without_key(value_at(tidied, p), "description")) for p in emptied])


def system_prompt(api: Api, body: Body) -> str:
    """Returns the text of the system messages, joined by blank lines."""
    return "\n\n".join(f.text for f in text_fields(api, body) if f.role is Role.SYSTEM)


def with_system(api: Api, body: Body, prompt: str) -> Body:
    """Returns the body with another system prompt in the place of all system texts."""
    return form_of(api).with_system(body, prompt)


def with_system_rule(api: Api, body: Body, rule: str) -> Body:
    """Returns the body with a rule added at the end of the first system text, or as one when there is none."""
    system = [f for f in form_of(api).texts(body) if f.role is Role.SYSTEM]
    if not system:
        return with_system(api, body, rule)
    place = [f for f in system if f.message == system[0].message][-1]
    return with_values(body, [(place.pointer, f"{place.text}\n\n{rule}")])


def with_user_message(api: Api, body: Body, text: str) -> Body:
    """Returns the body with another user message at the end."""
    return form_of(api).with_user_message(body, text)


def with_model_message(api: Api, body: Body, text: str) -> Body:
    """Returns the body with another message of the model's own at the end."""
    return form_of(api).with_model_message(body, text)


def tool_place(api: Api, body: Body, name: str) -> ToolPlace:
    """Returns where a tool is defined; UsageError lists the tools there are."""
    places = list(form_of(api).tools(body))
    for place in places:
        if place.name == name:
            return place
    known = ", ".join(p.name for p in places)
    raise UsageError(f"the request defines no tool {name!r}", hint=f"its tools: {known}" if known else "it has none")


def with_tool_definition(
    api: Api, body: Body, name: str, *, description: str | None = None, schema: Json | None = None
) -> Body:
    """Returns the body with a tool described otherwise, or with another schema of arguments."""
    place = tool_place(api, body, name)
    changes: list[tuple[Pointer, Json]] = []
    if description is not None:
        changes.append(((*place.pointer, "description"), description))
    if schema is not None:
        changes.append((place.schema, schema))
    return with_values(body, changes)


def place_of(api: Api, body: Body, pointer: Pointer) -> str:
    """Returns in words where a text sits, as in `the result of read_email`."""
    field = next((f for f in text_fields(api, body) if f.pointer == pointer), None)
    return "the request" if field is None else place_words(field)


def place_words(field: TextField) -> str:
    """Returns in words where a text sits."""
    words = {
        Role.TOOL_DEFINITION: f"the definition of the tool {field.tool}",
        Role.CALL_ARGUMENTS: f"the arguments of an earlier call of {field.tool}",
        Role.TOOL: f"the result of {field.tool or 'a tool'}",
        Role.SYSTEM: "the system prompt",
        Role.USER: "the user's words",
        Role.ASSISTANT: "the model's own earlier words",
    }
    return words[field.role]


def previous_calls(api: Api, body: Body) -> frozenset[tuple[str, str]]:
    """Returns the (name, canonical arguments) of the tool calls that the history holds."""
    arguments: Sequence[TextField] = [f for f in form_of(api).texts(body) if f.role is Role.CALL_ARGUMENTS]
    return frozenset((f.tool, canonical_arguments(f.text)) for f in arguments)
