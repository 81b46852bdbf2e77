"""Telling formats apart by their content, and decoding each."""

import json
from collections.abc import Iterator
from typing import Any

import orjson

from ..errors import FormatError
from .console import decode_log, decode_span, is_log, is_span
from .decoded import Decoded, Reject, combine
from .framed import split_frames
from .otlp_documents import decode_document, decode_message, is_otlp_json
from .runtape import decode_records, is_record

_EXCERPT = 200
_DECODER = json.JSONDecoder()


def decode_input(data: bytes, name: str) -> Decoded:
    """Returns what a file holds: OTLP as JSON, JSON lines or protobuf, console exporter output, or runtape traces."""
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start in (b"{", b"["):
        return _decode_text(data, name)
    if not data.strip():
        return Decoded(rejects=(Reject(place=name, reason="the file is empty"),))
    frames = split_frames(data)
    if frames is not None:
        return combine(decode_message(frame, f"{name}, message {i}") for i, frame in enumerate(frames, 1))
    return decode_message(data, name)


def _decode_text(data: bytes, name: str) -> Decoded:
    try:
        documents: list[tuple[str, Any]] = [(name, orjson.loads(data))]
    except orjson.JSONDecodeError:
        documents, rejects = _split_documents(data, name)
        return combine([_decode_documents(documents, name), Decoded(rejects=tuple(rejects))])
    return _decode_documents(documents, name)


def _split_documents(data: bytes, name: str) -> tuple[list[tuple[str, Any]], list[Reject]]:
    """Returns the JSON documents that follow one another, a line each or spread over lines, and what is none."""
    text = data.decode("utf-8", "replace")
    documents: list[tuple[str, Any]] = []
    rejects: list[Reject] = []
    position, line = 0, 1
    while True:
        start = _skip_blank(text, position)
        line += text.count("\n", position, start)
        if start == len(text):
            return documents, rejects
        place = f"{name}, line {line}"
        try:
            document, position = _DECODER.raw_decode(text, start)
            documents.append((place, document))
        except (ValueError, RecursionError) as error:
            position = text.find("\n", start)
            position = len(text) if position < 0 else position
            excerpt = text[start : start + _EXCERPT].partition("\n")[0]
            rejects.append(Reject(place=place, reason=f"not JSON: {error}", excerpt=excerpt))
        line += text.count("\n", start, position)


def _skip_blank(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n\ufeff,":
        position += 1
    return position


def _decode_documents(documents: list[tuple[str, Any]], name: str) -> Decoded:
    objects = list(_objects(documents))
    if any(is_record(document) for _, document in objects[:5]):
        return decode_records(objects)
    return combine(_decode_object(place, document) for place, document in objects)


def _objects(documents: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for place, document in documents:
        if isinstance(document, list):
            yield from ((f"{place}, element {i}", item) for i, item in enumerate(document, 1))
        else:
            yield place, document


def _decode_object(place: str, document: Any) -> Decoded:
    if is_otlp_json(document):
        return decode_document(document, place)
    try:
        if is_span(document):
            return Decoded(spans=(decode_span(document),))
        if is_log(document):
            return Decoded(logs=(decode_log(document),))
    except FormatError as error:
        return Decoded(rejects=(Reject(place=place, reason=error.message, excerpt=str(document)[:_EXCERPT]),))
    reason = "neither OTLP, nor console exporter output, nor a runtape record"
    return Decoded(rejects=(Reject(place=place, reason=reason, excerpt=str(document)[:_EXCERPT]),))
