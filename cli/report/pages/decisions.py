"""A decision as the pages show it: the prompt with what is believed about each piece, and the claims about it."""

from collections.abc import Mapping, Sequence
from typing import Any

from ....analysis.attribution.why import WhyReport
from ....analysis.fields import Pointer, text_fields
from ....analysis.fields.edits import place_words
from ....analysis.segments import Segment, Segmentation, fold, segment
from ....ingest.calls import ModelCall
from .claims import show_claim

LEVELS = 5
TABLE_LENGTH = 12
JOINT = " … "
"""What stands between the pieces of a claim's subject."""


def show_decision(
    call: ModelCall, number: int, claims: Sequence[dict[str, Any]], report: WhyReport | None, store: str
) -> dict[str, Any]:
    """Returns the values of a decision's section; `report` is what `why` found, None when it cannot be told again."""
    cut = report.segmentation if report else segment(call.api, call.request)
    causes = {
        fold(text)
        for row in claims
        if (row["kind"], row["verdict"]) == ("cause", "supported")
        for text in row["subject"].split(JOINT)
    }
    beliefs = _beliefs(cut, report)
    places = {field.pointer: place_words(field) for field in text_fields(call.api, call.request)}
    return {
        "number": number,
        "span_id": call.span_id,
        "model": call.request_model,
        "grade": call.completeness.grade.value,
        "missing": [f"{m.name}: {m.reason}" for m in call.completeness.missing],
        "messages": _messages(cut, places, causes, beliefs),
        "ranked": _ranked(cut, places, beliefs) if report else [],
        "tested": len(report.attribution.tested) if report else 0,
        "replays": report.attribution.draws if report else 0,
        "replies": [{"text": r.text, "calls": [(c.name, c.arguments) for c in r.tool_calls]} for r in call.replies],
        "causes": [show_claim(row, store) for row in claims if row["kind"] != "fix"],
        "fixes": [show_claim(row, store) for row in claims if row["kind"] == "fix"],
    }


def _beliefs(cut: Segmentation, report: WhyReport | None) -> dict[int, float]:
    """Returns segment id → what the search believes, 0 to 1, that it is a cause."""
    if report is None:
        return {}
    values = [float(v) for v in report.attribution.suspicion]
    return {i: value for value, ids in zip(values, cut.groups, strict=True) for i in ids}


def _messages(
    cut: Segmentation, places: Mapping[Pointer, str], causes: set[str], beliefs: dict[int, float]
) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    last: Pointer | None = None
    for piece in cut.segments:
        if piece.pointer != last:
            last = piece.pointer
            messages.append({"place": places[piece.pointer], "pieces": []})
        messages[-1]["pieces"].append(_piece(piece, causes, beliefs))
    return messages


def _piece(piece: Segment, causes: set[str], beliefs: dict[int, float]) -> dict[str, Any]:
    belief = beliefs.get(piece.id)
    return {
        "text": piece.text,
        "is_cause": fold(piece.text) in causes,
        "level": 0 if belief is None else min(LEVELS, round(belief * LEVELS)),
        "belief": None if belief is None else f"{belief:.2f}",
    }


def _ranked(cut: Segmentation, places: Mapping[Pointer, str], beliefs: dict[int, float]) -> list[dict[str, Any]]:
    """The heat map as a table, for those who do not see colours: each text once, the most suspicious first."""
    rows = [(beliefs[ids[-1]], cut.segments[ids[-1]]) for ids in cut.groups]
    rows.sort(key=lambda row: -row[0])
    return [
        {"belief": f"{belief:.2f}", "text": piece.text, "place": places[piece.pointer]}
        for belief, piece in rows[:TABLE_LENGTH]
        if belief >= 0.005
    ]
