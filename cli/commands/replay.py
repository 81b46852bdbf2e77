"""`whyspan replay`."""

import asyncio
import json
from pathlib import Path
from typing import Any

import click

from ...analysis.cases import Case
from ...analysis.interventions import (
    Drop,
    InsertRule,
    Intervention,
    Replace,
    SetParameter,
    Several,
    SwapModel,
    SystemPrompt,
)
from ...analysis.replays import compare
from ...analysis.segments import segment
from ...ingest.errors import ExitCode, UsageError
from ..output import Paint, Session, write_json
from ..replaying import ReplayArguments, agree, allow, desk_of, replay_options
from ..report.replay_text import render_replay
from ..selecting import words

PROMPT = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(epilog="Example: whyspan replay last tool:forward_email --drop 12 --param temperature=0")
@click.argument("run", default="last")
@click.argument("event", default="last")
@click.option("--drop", "drops", multiple=True, metavar="SEG", help="Leave out a piece: its number or words.")
@click.option("--replace", "replaces", multiple=True, metavar="A=>B", help="Put one text in the place of another.")
@click.option("--rule", "rules", multiple=True, metavar="TEXT", help="Add a rule to the system prompt.")
@click.option("--system-file", "prompt_file", type=PROMPT, metavar="FILE", help="Another system prompt.")
@click.option("--model", default="", metavar="NAME", help="Ask another model of the same endpoint.")
@click.option("--param", "params", multiple=True, metavar="K=V", help="Set a parameter; K= takes it away.")
@click.option("-n", "count", type=click.IntRange(1), default=20, show_default=True, help="Replays of each.")
@replay_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(
    session: Session, /, run: str, event: str, count: int, replay: ReplayArguments, as_json: bool, **edits: Any
) -> int:
    """Replay a decision with changes, against the request as it was sent.

    All changes are made together. Pieces are listed by `whyspan segments`; RUN and EVENT are those of `whyspan why`.

    Exit codes: 0 done, 5 a cap ended it early.
    """
    with desk_of(session, replay) as desk:
        allow(desk, replay, 2 * count)
        case = desk.case(run, event)
        changed = _intervention(case, edits)
        if not agree(desk, [case], 2 * count, replay):
            return ExitCode.OK
        report = asyncio.run(compare(desk, case, [changed], count))
    if as_json:
        write_json(report.to_json())
    else:
        for line in render_replay(report, Paint.stdout(session)):
            click.echo(line)
        click.echo(f"\nnext: {session.command('why ' + words(run, event) + replay.words())}")
    return ExitCode.OK if report.is_complete else ExitCode.BUDGET


def _intervention(case: Case, edits: dict[str, Any]) -> Intervention:
    parts: list[Intervention] = []
    if edits["drops"]:
        parts.append(_drop(case, edits["drops"]))
    parts += [_replace(text) for text in edits["replaces"]]
    if edits["prompt_file"]:
        parts.append(SystemPrompt(edits["prompt_file"].read_text("utf-8")))
    parts += [InsertRule(rule) for rule in edits["rules"]]
    if edits["model"]:
        parts.append(SwapModel(edits["model"]))
    parts += [_parameter(text) for text in edits["params"]]
    if not parts:
        raise UsageError("nothing is changed", hint="--drop, --replace, --rule, --system-file, --model or --param")
    return parts[0] if len(parts) == 1 else Several(tuple(parts))


def _drop(case: Case, names: tuple[str, ...]) -> Drop:
    cut = segment(case.api, case.request)
    return Drop.of(cut, frozenset(cut.find(name) for name in names))


def _replace(text: str) -> Replace:
    old, arrow, new = text.partition("=>")
    if not arrow or not old:
        raise UsageError(f"{text!r} is not A=>B", hint="--replace 'old text=>new text'")
    return Replace(old, new)


def _parameter(text: str) -> SetParameter:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{text!r} is not K=V", hint="--param temperature=0.2")
    try:
        return SetParameter.of(name, json.loads(value) if value else None)
    except ValueError:
        return SetParameter.of(name, value)
