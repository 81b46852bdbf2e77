"""Messages, parts and tool definitions in a form that no provider uses and every provider's form can be read into.

Nothing is normalised away: an argument string stays the string the model wrote, a tool definition keeps the object it
was read from, and whether content was a plain string is remembered when the convention tells.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..calls import Json

MediaKind: TypeAlias = Literal["image", "audio", "video", "file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A piece of text."""

    text: str
    marks: Mapping[str, Json] = field(default_factory=dict)
    """Provider flags beside the text, such as `cache_control`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """An image, a recording or a document; exactly one of `data`, `url` and `file_id` is set."""

    kind: MediaKind
    mime: str = ""
    data: str = ""
    """Base64."""
    url: str = ""
    file_id: str = ""
    detail: str = ""
    marks: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call in the history."""

    name: str
    arguments: Json
    """A string where the convention keeps what the model wrote, else the parsed value."""
    id: str = ""
    marks: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a tool answered."""

    content: "str | tuple[Part, ...] | Structured | None"
    """None when it is known to be lost."""
    call_id: str = ""
    name: str = ""
    is_error: bool | None = None
    marks: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Structured:
    """A tool result that was recorded as a JSON value; what went over the wire is some serialisation of it."""

    value: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """The model's own earlier thinking, passed back to it."""

    text: str = ""
    signature: str = ""
    id: str = ""
    """The provider's id of the item; without it or a signature most providers refuse the item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """A part of a kind that has no place in this form; passed on as it was recorded."""

    native: Mapping[str, Json]


Part: TypeAlias = Text | Media | Call | Result | Reasoning | Opaque


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of the conversation."""

    role: str
    """In the convention's words: `system`, `developer`, `user`, `assistant`, `model`, `tool`."""
    parts: tuple[Part, ...]
    name: str = ""
    is_plain: bool | None = None
    """Whether the content was a string rather than a list of parts; None when the convention does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """A tool offered to the model."""

    name: str
    description: str | None = None
    parameters: Json = None
    """JSON Schema; None when the convention leaves it out."""
    marks: Mapping[str, Json] = field(default_factory=dict)
    """Provider flags: `strict`, `cache_control`."""
    native: Mapping[str, Json] | None = None
    """The definition exactly as recorded, for kinds (`web_search`, …) that have no schema."""
