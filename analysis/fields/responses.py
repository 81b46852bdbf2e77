"""OpenAI Responses: `instructions`, and `input` as a text or a list of items.

Source: https://platform.openai.com/docs/api-reference/responses/create.
"""

from collections.abc import Iterator
from typing import Any

from ...ingest.calls import Body, Json
from ..attribution.problem import Role
from .chat import role_of
from .form import REMOVED, SYSTEM_MESSAGE, Pointer, TextField, ToolPlace, without_key
from .turns import TurnForm

CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""Item type → where its arguments are, as a string."""
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})


class ResponsesForm(TurnForm):
    """The form of the Responses API; items without a role are calls, outputs and reasoning."""

    turns_key = "input"

    def texts(self, body: Body) -> Iterator[TextField]:
        """Yields the instructions, message texts, call arguments and outputs."""
        instructions, items = body.get("instructions"), body.get("input")
        if isinstance(instructions, str):
            yield TextField(pointer=("instructions",), text=instructions, role=Role.SYSTEM, message=SYSTEM_MESSAGE)
        if isinstance(items, str):
            yield TextField(pointer=("input",), text=items, role=Role.USER, message=0)
            return
        names = {i.get("call_id"): str(i.get("name", "")) for i in items or () if i.get("type") in CALLS}
        for index, item in enumerate(items or ()):
            yield from self._item(item, index, names)

    def _item(self, item: Any, index: int, names: dict[Any, str]) -> Iterator[TextField]:
        at: Pointer = ("input", index)
        kind = item.get("type", "message")
        if kind in CALLS and isinstance(item.get(CALLS[kind]), str):
            key = CALLS[kind]
            yield TextField(
                pointer=(*at, key), text=item[key], role=Role.CALL_ARGUMENTS, message=index,
                tool=str(item.get("name", "")), call_id=str(item.get("call_id", "")),
            )  # fmt: skip
        elif kind in OUTPUTS:
            call_id = str(item.get("call_id", ""))
            for pointer, text in _texts(item.get("output"), (*at, "output")):
                yield TextField(
                    pointer=pointer, text=text, role=Role.TOOL, message=index, tool=names.get(call_id, ""),
                    call_id=call_id,
                )  # fmt: skip
        elif kind == "message":
            for pointer, text in _texts(item.get("content"), (*at, "content")):
                yield TextField(pointer=pointer, text=text, role=role_of(item), message=index)

    def tools(self, body: Body) -> Iterator[ToolPlace]:
        """Yields function and custom tools; hosted tools have no description of their own."""
        for index, tool in enumerate(body.get("tools") or ()):
            if tool.get("name"):
                at: Pointer = ("tools", index)
                yield ToolPlace(name=str(tool["name"]), pointer=at, schema=(*at, "parameters"))

    def text_block(self, text: str) -> Any:
        """Input blocks only: an emptied answer of the model keeps the type of its blocks, see `emptied`."""
        return {"type": "input_text", "text": text}

    def speaker(self, turn: Body) -> str:
        """Items without a role speak for the model's side or the tool's."""
        return super().speaker(turn) if "role" in turn else str(turn.get("type", ""))

    def is_bound(self, turn: Body, previous: Body) -> bool:
        """Calls and outputs belong together; the API refuses a reasoning item without the item that followed it."""
        return "role" not in turn or previous.get("type") == "reasoning"

    def mend_turn(self, turn: Any, old: Any, must_stay: bool) -> Any:
        """Returns an edited item in valid form; an output that was emptied says so, for the API wants one."""
        return _with_output(turn) if turn.get("type") in OUTPUTS else super().mend_turn(turn, old, must_stay)

    def emptied(self, turn: Any, must_stay: bool) -> Any:
        """An answer of the model keeps its first block, in its own type."""
        content = turn.get("content")
        if must_stay and isinstance(content, list) and turn.get("role") == "assistant":
            return {**turn, "content": [{**content[0], "text": REMOVED}]}
        return super().emptied(turn, must_stay)

    def tidy(self, body: Body, original: Body) -> Body:
        """Returns a body that the API accepts after texts were emptied."""
        if body.get("instructions") == "":
            body = without_key(body, "instructions")
        if isinstance(body.get("input"), str):
            return body if body["input"].strip() or body["input"] == original["input"] else {**body, "input": REMOVED}
        return super().tidy(body, original)

    def with_system(self, body: Body, prompt: str) -> Body:
        """Returns the body with these instructions and no system message."""
        items = body.get("input")
        kept = [i for i in items if i.get("role") not in {"system", "developer"}] if isinstance(items, list) else items
        return {**body, "instructions": prompt, "input": kept}

    def with_turn(self, body: Body, turn: Json) -> Body:
        """Returns the body with another item at the end."""
        items = body.get("input")
        before = [self.user_turn(items)] if isinstance(items, str) else list(items or ())
        return {**body, "input": [*before, turn]}


def _texts(content: Any, at: Pointer) -> Iterator[tuple[Pointer, str]]:
    if isinstance(content, str):
        yield at, content
    for n, part in enumerate(content if isinstance(content, list) else ()):
        if isinstance(part.get("text"), str):
            yield (*at, n, "text"), part["text"]


def _with_output(item: Any) -> Any:
    output = item.get("output")
    if not isinstance(output, list):
        return item if output else {**item, "output": REMOVED}
    kept = [p for p in output if p.get("text") != ""]
    return item if len(kept) == len(output) else {**item, "output": kept or REMOVED}
