"""Where the texts and tools of a request sit, for every API, and the edits that need to know it."""

from .edits import (
    emptied_to_valid,
    place_of,
    place_words,
    previous_calls,
    system_prompt,
    text_fields,
    tool_place,
    with_model_message,
    with_system,
    with_system_rule,
    with_tool_definition,
    with_user_message,
)
from .form import REMOVED, Pointer, RequestForm, TextField, ToolPlace, value_at, with_values
from .registry import form_of, forms

__all__ = [
    "REMOVED",
    "Pointer",
    "RequestForm",
    "TextField",
    "ToolPlace",
    "emptied_to_valid",
    "form_of",
    "forms",
    "place_of",
    "place_words",
    "previous_calls",
    "system_prompt",
    "text_fields",
    "tool_place",
    "value_at",
    "with_model_message",
    "with_system",
    "with_system_rule",
    "with_tool_definition",
    "with_user_message",
    "with_values",
]
