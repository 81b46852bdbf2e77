"""The shape that all APIs share, a list of turns with a text or blocks each; and how emptied ones are mended.

An emptied turn goes away. It stays, and says `[removed]`, where the request needs it: when it is the first or the
last turn, when a tool call or result depends on it, and when two turns of one speaker would meet without it, which
several APIs and chat templates refuse. Turns that the edit did not touch are left exactly as they were recorded.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from ...ingest.calls import Body, Json
from .form import REMOVED, same_items


class TurnForm:
    """The base of the forms; an API says what its turns and blocks look like."""

    turns_key: ClassVar[str] = "messages"
    content_key: ClassVar[str] = "content"
    model_role: ClassVar[str] = "assistant"

    def text_block(self, text: str) -> Json:
        """Returns a content block that says a text."""
        return {"type": "text", "text": text}

    def mend_block(self, block: Json, original: Json) -> Json | None:
        """Returns an edited block in valid form, or None when nothing is left of it."""
        return None if block.get("text") == "" else block

    def is_bound(self, turn: Body, previous: Body) -> bool:
        """Whether something else in the request depends on the turn, so that it cannot go."""
        return False

    def is_complete(self, blocks: Sequence[Any]) -> bool:
        """Whether blocks that were left over make a turn of their own."""
        return bool(blocks)

    def speaker(self, turn: Body) -> str:
        """Who speaks; an empty string for turns that do not count, such as system messages."""
        role = turn.get("role", "")
        return "" if role in {"system", "developer"} else str(role)

    def user_turn(self, text: str) -> Json:
        """Returns a turn in which the user says a text."""
        return {"role": "user", self.content_key: text}

    def with_user_message(self, body: Body, text: str) -> Body:
        """Returns the body with another user message at the end."""
        return self.with_turn(body, self.user_turn(text))

    def with_model_message(self, body: Body, text: str) -> Body:
        """Returns the body with another message of the model's own at the end."""
        return self.with_turn(body, {**self.user_turn(text), "role": self.model_role})

    def with_turn(self, body: Body, turn: Json) -> Body:
        """Returns the body with another turn at the end."""
        return {**body, self.turns_key: [*(body.get(self.turns_key) or ()), turn]}

    def tidy(self, body: Body, original: Body) -> Body:
        """Returns a body that the API accepts after texts were emptied."""
        turns, before = body.get(self.turns_key), original.get(self.turns_key)
        if turns is before or not isinstance(turns, list) or not isinstance(before, list):
            return body
        kept = self._tidy_turns(turns, before)
        return body if same_items(kept, turns) else {**body, self.turns_key: kept}

    def _tidy_turns(self, turns: Sequence[Any], before: Sequence[Any]) -> list[Any]:
        speakers = [self.speaker(t) for t in turns]
        spoken = [i for i, s in enumerate(speakers) if s]
        ends = {spoken[0], spoken[-1]} if spoken else {len(turns) - 1}
        kept: list[Any] = []
        last = ""
        for index, (turn, old) in enumerate(zip(turns, before, strict=True)):
            mended = turn
            if turn is not old:
                following = next((s for s in speakers[index + 1 :] if s), "")
                must_stay = (
                    index in ends
                    or bool(speakers[index] and last == following)
                    or self.is_bound(turn, turns[index - 1] if index else {})
                )
                mended = self.mend_turn(turn, old, must_stay)
            if mended is not None:
                kept.append(mended)
                last = speakers[index] or last
        return kept

    def mend_turn(self, turn: Any, old: Any, must_stay: bool) -> Any:
        """Returns an edited turn in valid form, or None when it may go."""
        content = turn.get(self.content_key)
        if isinstance(content, str):
            return turn if content.strip() else self.emptied(turn, must_stay)
        if not isinstance(content, list):
            return turn
        mended = [
            block if block is was else self.mend_block(block, was)
            for block, was in zip(content, old[self.content_key], strict=True)
        ]
        parts = [b for b in mended if b is not None]
        if not parts:
            return self.emptied(turn, must_stay)
        if not self.is_complete(parts):
            parts.append(self.text_block(REMOVED))
        return turn if same_items(parts, content) else {**turn, self.content_key: parts}

    def emptied(self, turn: Any, must_stay: bool) -> Any:
        """Returns a turn that lost all its content, or None when it may go."""
        if not must_stay:
            return None
        listed = isinstance(turn.get(self.content_key), list)
        return {**turn, self.content_key: [self.text_block(REMOVED)] if listed else REMOVED}
