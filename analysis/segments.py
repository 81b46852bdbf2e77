"""The removable pieces of a request, and the request without some of them.

Identical texts are one group: a model that reads a sentence twice has not lost it when one copy is gone.
"""

import json
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from ..ingest.calls import Api, Body, Json
from ..ingest.errors import UsageError
from .attribution.problem import Leaf, Role
from .document import Document, split
from .fields import Pointer, TextField, emptied_to_valid, place_words, text_fields, with_values


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One removable piece of a request."""

    id: int
    """Position among the segments of the request, in reading order."""
    text: str
    role: Role
    message: int
    """Index into the messages; -1 for tool definitions."""
    pointer: Pointer
    """The place of the request that holds it."""
    place: str
    """That place in words, as in `the result of read_email`."""
    tool: str
    """The tool that a definition, result or call belongs to; empty for other texts."""
    call_id: str
    """The tool call that it came from or was part of, by which its span is found; empty for other texts."""
    start: int
    end: int
    """Character range in that string, or in the JSON text of that value."""
    before: str
    """What stands right before it, as it stands there, markup included; empty at the beginning."""
    after: str


@dataclass(frozen=True, slots=True)
class Segmentation:
    """A request cut into segments; segments with the same text form a group, and groups are what is removed."""

    api: Api
    body: Body
    segments: tuple[Segment, ...]
    groups: tuple[tuple[int, ...], ...]
    """Segment ids of each group; a group is numbered by its position here."""
    _documents: tuple[tuple[TextField, Document, int], ...] = field(repr=False)
    """(place, its document, id of its first segment) of each text."""
    _owners: tuple[int, ...] = field(repr=False)
    """Segment id → index of its document."""

    def leaves(self) -> tuple[Leaf, ...]:
        """Returns the groups as the attribution engine takes them; a group stands where its text was read last."""
        last = (self.segments[ids[-1]] for ids in self.groups)
        return tuple(Leaf(text=s.text, message=s.message, role=s.role) for s in last)

    def group(self, number: int) -> tuple[Segment, ...]:
        """Returns the segments of a group."""
        return tuple(self.segments[i] for i in self.groups[number])

    def without(self, groups: Collection[int]) -> Body:
        """Returns a valid request without the segments of these groups."""
        gone: dict[int, set[int]] = defaultdict(set)
        for number in groups:
            for i in self.groups[number]:
                index = self._owners[i]
                gone[index].add(i - self._documents[index][2])
        if not gone:
            return self.body
        edited = with_values(self.body, [self._change(index, pieces) for index, pieces in gone.items()])
        return emptied_to_valid(self.api, edited, self.body)

    def _change(self, index: int, pieces: Collection[int]) -> tuple[Pointer, Json]:
        place, document, _ = self._documents[index]
        text = document.without(pieces)
        return place.pointer, json.loads(text) if place.is_json else text

    def find(self, name: str) -> int:
        """Returns the group that a number, or some of its words, name; UsageError when none or several do."""
        if name.isdecimal() and int(name) < len(self.groups):
            return int(name)
        folded = fold(name)
        said = [self.said(n) for n in range(len(self.groups))]
        found = [n for n, text in enumerate(said) if text == folded] or [n for n, t in enumerate(said) if folded in t]
        if len(found) == 1:
            return found[0]
        if not found:
            raise UsageError(f"no piece says {name!r}", hint="`whyspan segments` lists the pieces and their numbers")
        several = ", ".join(map(str, found[:10]))
        raise UsageError(f"{len(found)} pieces say {name!r}", hint=f"give a number: {several}")

    def groups_saying(self, texts: Collection[str]) -> list[int]:
        """Returns the groups whose text, white space folded, is one of these."""
        return [n for n in range(len(self.groups)) if self.said(n) in texts]

    def said(self, number: int) -> str:
        """Returns a group's text with white space folded: what identifies it across requests."""
        return fold(self.segments[self.groups[number][0]].text)


def fold(text: str) -> str:
    """Returns the text on one line, runs of white space as one space."""
    return " ".join(text.split())


def segment(api: Api, body: Body) -> Segmentation:
    """Cuts a request into segments."""
    segments: list[Segment] = []
    documents = []
    for text_field in text_fields(api, body):
        document = split(text_field.text)
        documents.append((text_field, document, len(segments)))
        segments += _segments_of(text_field, document, len(segments))
    by_text: dict[str, list[int]] = defaultdict(list)
    for s in segments:
        by_text[fold(s.text)].append(s.id)
    groups = tuple(sorted((tuple(ids) for ids in by_text.values()), key=lambda ids: ids[-1]))
    owners = tuple(index for index, (_, document, _) in enumerate(documents) for _ in document.pieces)
    return Segmentation(api, body, tuple(segments), groups, tuple(documents), owners)


def _segments_of(text_field: TextField, document: Document, first: int) -> list[Segment]:
    return [
        Segment(
            id=first + n,
            text=piece.text,
            role=text_field.role,
            message=text_field.message,
            pointer=text_field.pointer,
            place=place_words(text_field),
            tool=text_field.tool,
            call_id=text_field.call_id,
            start=piece.start,
            end=piece.end,
            before=piece.before,
            after=piece.after,
        )
        for n, piece in enumerate(document.pieces)
    ]
