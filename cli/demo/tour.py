"""The whole job on one example agent, from OTLP to a regression test, step by step.

Each step calls what the command in its heading calls; the tour adds the agent, the stand-in model and the words.
"""

import asyncio
import os
import shlex
import subprocess
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from ...analysis.attribution.chain import find_chain
from ...analysis.attribution.problem import Options
from ...analysis.attribution.why import WhyReport
from ...analysis.desk import Desk
from ...analysis.fixes.fix import FixReport, find_fixes
from ...analysis.regression.writer import write_test
from ...collector.background import RunningCollector, running_collector
from ..commands.writeback import claim_spans
from ..output import Session, write_table
from ..replaying import ReplayArguments, desk_of
from ..report.fix_text import render_fix
from ..report.why_text import render_why
from ..writing_back import Sending, send_claims, summary
from .agent import Run, Scenario
from .hunting import hunt
from .models import ChatModel
from .narration import Narrator
from .standin import serve_standin

TRIES = 20
"""Runs in which the failure must show; that all of them go well happens once in 10^21."""
FIX_BUDGET = 400
"""Replays are free here, so that every candidate gets as many as it takes to tell."""
MODEL_FILE = '''\
"""The stand-in model of `whyspan demo`, for --model-fn."""

from whyspan.cli.demo.standin import model

__all__ = ["model"]
'''
QUERY = """\
SELECT kind, detail, round(effect, 2) AS effect,
       format('{{:.3g}}', e_value) AS e_value, subject[:36] AS subject
FROM claims WHERE trace_id LIKE '{trace}%'
ORDER BY kind, parent_claim_id IS NOT NULL, claims.e_value DESC"""
ARRIVED = "SELECT count(*) FROM log_records WHERE event_name = 'gen_ai.evaluation.result' AND trace_id = ?"
"""The claims were in this store before they were sent to its collector; their log events come from nowhere else."""
OWN_AGENT = """\
  whyspan serve
  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python your_agent.py
  whyspan show last
  whyspan why last tool:NAME --base-url URL
  whyspan fix last tool:NAME --base-url URL --write-test tests/test_NAME.py"""
ABOUT_URL = (
    "URL is any OpenAI-compatible endpoint. --model-fn FILE:FUNCTION asks a Python function instead; "
    "with OPENAI_API_KEY set, neither is needed."
)


@dataclass(frozen=True, kw_only=True)
class Tour:
    """One scenario and a folder for its store and files."""

    scenario: Scenario
    folder: Path
    session: Session
    """Its store is `folder / "store"`."""
    narrator: Narrator
    seed: int = 0
    """Of the stand-in model."""
    tries: int = TRIES
    fix_budget: int = FIX_BUDGET
    concurrency: int | None = None
    """Replays in flight at once; None leaves it to the endpoint's settings."""
    params_file: Path | None = None
    """Request fields that no span holds."""

    def take(self, *, stay: bool, keep: bool) -> bool:
        """Does the whole job; tells whether the test fails without a fix and passes with it.

        With `stay` it goes on collecting until Ctrl-C; with `keep` it tells what one can do with the folder.
        """
        say = self.narrator.say
        self.narrator.lines([f"{self.narrator.paint('whyspan demo', bold=True)}  {self.scenario.title}.", ""])
        say("Real agent, real spans, real replays; a stand-in model: no key, no network.", dim=True)
        with running_collector(self.folder / "store") as collector, serve_standin(seed=self.seed) as model_url:
            self.narrator.heading(1, "collect", "whyspan serve")
            say(f"OTLP/HTTP {collector.http_endpoint}   OTLP/gRPC {collector.grpc_endpoint}")
            failed = self._run_agent(collector, model_url)
            why, fix = self._experiment(failed, model_url)
            holds = self._test(why, fix, model_url)
            self._write_back(failed, collector)
            self._finish(keep=keep)
            if stay:
                self._stay(collector)
        return holds

    def _run_agent(self, collector: RunningCollector, model_url: str) -> Run:
        name = self.scenario.name
        self.narrator.heading(2, "run an agent", f"python {name}.py --local standin-{name}")
        model = ChatModel(f"standin-{name}", base_url=model_url)
        hunted = hunt(self.scenario, model, collector.http_endpoint, tries=self.tries)
        failed = hunted.runs[-1]
        self.narrator.run(self.scenario, failed)
        if len(hunted.runs) > 1:
            self.narrator.say(f"({len(hunted.runs) - 1} before this one went well)", dim=True)
        return failed

    def _experiment(self, failed: Run, model_url: str) -> tuple[WhyReport, FixReport]:
        event = self.scenario.event
        self.narrator.heading(3, "find the cause", f"whyspan why last {event}{self._replay_words()}")
        with self._desk(model_url) as desk:
            case = desk.case(failed.trace_id, event)
            why = asyncio.run(find_chain(desk, case, Options()))
        self.narrator.lines(render_why(why, self.narrator.paint))
        fix_command = f"whyspan fix last {event} --budget {self.fix_budget}{self._replay_words()}"
        self.narrator.heading(4, "measure what stops it", fix_command)
        with self._desk(model_url, budget=self.fix_budget) as desk:
            fix = asyncio.run(find_fixes(desk, case, Options()))
        self.narrator.lines(render_fix(fix, self.narrator.paint))
        return why, fix

    def _desk(self, model_url: str, *, budget: int | None = None) -> AbstractContextManager[Desk]:
        replay = ReplayArguments(
            model_fn="", base_url=model_url, budget=budget, concurrency=self.concurrency, params_file=self.params_file
        )
        return desk_of(self.session, replay)

    def _replay_words(self) -> str:
        """Returns the options that replays of this tour need besides the stand-in's."""
        return ""

    def _test(self, why: WhyReport, fix: FixReport, model_url: str) -> bool:
        """Writes the regression test without and with the rule, and runs both."""
        path = self.folder / "tests" / f"test_{self.scenario.name}.py"
        self.narrator.heading(5, "keep it fixed", f"pytest tests/{path.name} --whyspan-base-url URL")
        write_test(path, why.case)
        fails = not self._pytest(path, model_url, "the prompt as it is")
        if fix.best_rule is None:
            self.narrator.say("No rule holds, so there is nothing to keep.")
            return False
        write_test(path, why.case, claims=why.claims, fix=fix.best_rule)
        return self._pytest(path, model_url, f"plus {fix.best_rule.candidate.title}") and fails

    def _pytest(self, path: Path, model_url: str, about: str) -> bool:
        options = [
            "-q",
            "--tb=short",
            "-p",
            "no:cacheprovider",
            "-c",
            os.devnull,
            "--rootdir",
            str(self.folder.resolve()),
        ]
        command = [sys.executable, "-m", "pytest", *options, str(path.resolve()), "--whyspan-base-url", model_url]
        environment = {**os.environ, "PYTEST_ADDOPTS": ""}
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder, env=environment)
        passes = done.returncode == 0
        lines = done.stdout.splitlines() or done.stderr.splitlines()
        color = "green" if passes else "red"
        self.narrator.say(lines[-1], label=f"{about:<34}", fg=color, bold=True)
        for line in (line.removeprefix("E").strip() for line in lines if line.startswith("E ")):
            self.narrator.say(line, label="  ", fg=color)
        return passes

    def _write_back(self, failed: Run, collector: RunningCollector) -> None:
        self.narrator.heading(6, "write it back", "whyspan writeback last --endpoint URL")
        query = QUERY.format(trace=failed.trace_id[:12])
        sending = Sending(to="otlp", endpoint=collector.http_endpoint, include_content=True)
        with self.session.open_store() as store:
            claims = claim_spans(store, failed.trace_id)
            outcome, _ = send_claims(store, claims, sending)
        self.narrator.say(
            f"{len(claims)} claims, each a span in the agent's own trace and a log event; {summary('otlp', outcome)}"
        )
        self.narrator.lines(["", self.narrator.paint(query, dim=True)])
        with self.session.open_store() as store, store.connect() as db:
            result = db.execute(query)
            write_table([column[0] for column in result.description or ()], result.fetchall())
            (arrived,) = db.execute(ARRIVED, [failed.trace_id]).fetchone() or (0,)
        self.narrator.say(f"{arrived} of {len(claims)} arrived over OTLP, as their log events show", dim=True)

    def _finish(self, *, keep: bool) -> None:
        paint = self.narrator.paint
        self.narrator.lines(["", paint("now your own agent", fg="cyan", bold=True), OWN_AGENT])
        self.narrator.say(ABOUT_URL, dim=True)
        if keep:
            self.narrator.lines(["", paint(f"kept in {self.folder}", fg="cyan", bold=True)])
            self.narrator.lines(f"  {command}" for command in self._kept_commands())

    def _kept_commands(self) -> list[str]:
        """Returns what one can do with the folder."""
        model = shlex.quote(f"{self.folder / 'model.py'}:model")
        (self.folder / "model.py").write_text(MODEL_FILE, "utf-8")
        return [
            self.session.command("show last"),
            self.session.command(f"why last {self.scenario.event} --model-fn {model}"),
            f"pytest {self.folder / 'tests'} --whyspan-model-fn {model}",
        ]

    def _stay(self, collector: RunningCollector) -> None:
        where = f"export OTEL_EXPORTER_OTLP_ENDPOINT={collector.http_endpoint}"
        self.narrator.lines(["", f"still collecting into {self.folder / 'store'}; Ctrl-C stops", f"  {where}"])
        try:
            collector.process.wait()
        except KeyboardInterrupt:
            self.narrator.lines([""])
