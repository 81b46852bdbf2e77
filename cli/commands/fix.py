"""`whyspan fix`."""

import asyncio
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ...analysis.attribution.problem import Options
from ...analysis.desk import Desk
from ...analysis.fixes.fix import FixPlan, FixReport, find_fixes
from ...analysis.fixes.guards import guard_of, guards_in
from ...analysis.fixes.own import OwnCandidates
from ...analysis.fixes.prompt_file import PromptDiff, diff_prompt
from ...analysis.regression.redaction import SECRETS, user_rule
from ...analysis.regression.writer import WrittenTest, write_test
from ...ingest.errors import ExitCode, NotFoundError, UsageError
from ..output import Paint, Session, write_json
from ..replaying import ReplayArguments, agree, desk_of, replay_options
from ..report.fix_text import render_fix
from ..report.test_text import render_written
from ..selecting import choose_cases, select_option
from ..writing_back import write_back_claims, writeback_option

FILE = click.Path(path_type=Path)


@dataclass(frozen=True, kw_only=True)
class FixArguments:
    """The options that say what to measure and what to make of it."""

    rules: Sequence[str]
    systems: Sequence[Path]
    models: Sequence[str]
    params: Sequence[str]
    propose: int
    propose_model: str
    also: Sequence[str]
    also_select: str
    keep: Sequence[tuple[str, str]]
    guards: Sequence[Path]
    test_path: Path | None
    redact: Sequence[str]
    prompt_path: Path | None

    def plan(self, desk: Desk, event: str) -> FixPlan:
        """Returns what to measure; errors name the candidate, run or file that is wrong."""
        own = OwnCandidates(rules=self.rules, prompts=self.systems, models=self.models, parameters=self.params)
        named = [guard_of(desk, run, kept) for run, kept in self.keep]
        filed = [guard for path in self.guards for guard in guards_in(path)]
        also = [desk.case(run, event) for run in self.also]
        if self.also_select:
            also += choose_cases(desk.store, "last", "last", self.also_select, overlays=desk.overlays)
        return FixPlan(
            own=own.candidates(),
            proposals=self.propose,
            proposing_model=self.propose_model,
            also=tuple(also),
            guards=(*named, *filed),
        )


def _fix_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; the command takes them as keywords and makes FixArguments of them."""
    options = (
        click.option("--candidate", "rules", multiple=True, metavar="TEXT|FILE", help="Your own rule; repeatable."),
        click.option("--system", "systems", multiple=True, type=FILE, metavar="FILE", help="A whole system prompt."),
        click.option("--model", "models", multiple=True, metavar="NAME", help="Another model; repeatable."),
        click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="Another parameter; repeatable."),
        click.option("--propose", type=click.IntRange(0, 20), default=0, metavar="N", help="Ask a model for N rules."),
        click.option("--propose-model", default="", metavar="NAME", help="Which model to ask [that of the run]."),
        click.option("--also", multiple=True, metavar="RUN", help="Another run with the same failure; repeatable."),
        click.option("--also-select", default="", metavar="SQL", help="Other failing decisions, as for --select."),
        click.option("--keep", nargs=2, multiple=True, metavar="RUN EVENT", help="A decision that must stay so."),
        click.option("--guards", multiple=True, type=FILE, metavar="PATH", help="Case files that must stay so."),
        click.option("--write-test", "test_path", type=FILE, help="Write a regression test: test_NAME.py."),
        click.option("--redact", multiple=True, metavar="REGEX", help="Take this out of the case as well; repeatable."),
        click.option("--apply-to", "prompt_path", type=FILE, help="Print the best fix as a diff of this prompt file."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command(epilog="Example: whyspan fix last tool:forward_email --write-test tests/test_inbox.py --base-url URL")
@click.argument("run", default="last")
@click.argument("event", default="last")
@select_option
@_fix_options
@functools.partial(replay_options, own_system=True)
@writeback_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(
    session: Session,
    /,
    run: str,
    event: str,
    query: str,
    replay: ReplayArguments,
    writeback: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> int:
    """Measure which changes stop a decision, and whether they break others.

    Finds the cause first (free after `why`), then measures rules in the language of the system prompt, the source
    corrected, changes of the tool, and candidates of your own. The best are measured again on the same failure in
    other runs (--also) and on decisions that were right, which are found in the store.

    Exit codes: 0 a change is supported, 1 none is, 5 the budget ended before one was (a larger one goes on for free).
    """
    arguments = FixArguments(**given)
    if query and (arguments.test_path or arguments.prompt_path):
        raise UsageError("--write-test and --apply-to take one decision", hint="`whyspan test --select` writes many")
    with desk_of(session, replay) as desk:
        cases = choose_cases(desk.store, run, event, query, overlays=desk.overlays)
        plan = arguments.plan(desk, event)
        if not agree(desk, cases, desk.budget.cap, replay):
            return ExitCode.OK
        reports = [asyncio.run(find_fixes(desk, case, Options(), plan)) for case in cases]
    write_back_claims(session, (c for report in reports for c in (*report.why.claims, *report.claims)), writeback)
    if query:
        return _print_all(session, reports, as_json)
    report = reports[0]
    written = _write_test(report, arguments)
    diff = _diff(report, arguments.prompt_path) if arguments.prompt_path else None
    if as_json:
        _print_json(report, written, diff)
    elif diff:
        _print_diff(diff, arguments.prompt_path)
    else:
        _print(session, report, written, _next(session, report, run, event, replay, arguments.test_path))
    return _exit_code(report)


def _exit_code(report: FixReport) -> ExitCode:
    if report.best:
        return ExitCode.OK
    return ExitCode.BUDGET if report.is_cut_short else ExitCode.FINDING


def _write_test(report: FixReport, arguments: FixArguments) -> WrittenTest | None:
    if arguments.test_path is None:
        return None
    rules = (*SECRETS, *map(user_rule, arguments.redact))
    return write_test(
        arguments.test_path, report.case, claims=report.why.claims, fix=report.best_rule, rules=rules
    )  # fmt: skip


def _diff(report: FixReport, path: Path) -> PromptDiff:
    if report.best_rule is None:
        raise NotFoundError("no change of the prompt is supported, so there is nothing to apply")
    return diff_prompt(path, report.case, report.best_rule.candidate)


def _print_diff(diff: PromptDiff, path: Path | None) -> None:
    """Prints the diff alone, so that it can be piped into `patch -p0`."""
    click.echo(diff.diff, nl=False)
    if not diff.is_the_recorded_prompt:
        click.echo(f"note: {path} is not the prompt of the recorded run, so nothing was measured about it", err=True)


def _print_json(report: FixReport, written: WrittenTest | None, diff: PromptDiff | None) -> None:
    files = {"test": str(written.test), "case": str(written.case)} if written else None
    write_json({**report.to_json(), "written": files, "diff": diff.diff if diff else None})


def _print(session: Session, report: FixReport, written: WrittenTest | None, following: str) -> None:
    paint = Paint.stdout(session)
    for line in render_fix(report, paint):
        click.echo(line)
    if written:
        click.echo("")
        for line in render_written(written, paint):
            click.echo(line)
    click.echo(f"\nnext: {following}")


def _print_all(session: Session, reports: Sequence[FixReport], as_json: bool) -> int:
    if as_json:
        write_json({"reports": [r.to_json() for r in reports]})
    else:
        for line in (line for report in reports for line in (*render_fix(report, Paint.stdout(session)), "")):
            click.echo(line)
    return ExitCode.OK if reports and all(r.best for r in reports) else ExitCode.FINDING


def _next(
    session: Session, report: FixReport, run: str, event: str, replay: ReplayArguments, test_path: Path | None
) -> str:
    if test_path:
        model = replay.words().replace(" --", " --whyspan-")
        return f"pytest {test_path}{model}"
    if report.best_rule:
        return session.command(f"fix {run} {event}{replay.words()} --write-test tests/test_NAME.py")
    return session.command(f"show {run} {event}")
