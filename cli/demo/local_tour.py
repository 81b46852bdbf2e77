"""The tour on a real model: the same steps, and what they tell is whatever that model does."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from ...analysis.attribution.why import WhyReport
from ...collector.background import RunningCollector, running_collector
from ...ingest.errors import UpstreamError
from .agent import Run
from .hunting import has_failed, hunt
from .mailroom import SETTINGS
from .models import ChatModel, ModelError
from .tour import Tour

TRIES = 12
"""Runs in which the failure must show."""
FIX_BUDGET = 100
"""A replay takes half a second on a laptop, and the whole tour should take two minutes."""
CONCURRENCY = 4
"""The slots of the server in docs/local-model.md."""


@dataclass(frozen=True, kw_only=True)
class LocalTour(Tour):
    """One decision of a model behind an OpenAI-compatible URL: what made it, and what stops it."""

    model: ChatModel
    """With the settings that its replays need as well."""
    tries: int = TRIES
    fix_budget: int = FIX_BUDGET
    concurrency: int | None = CONCURRENCY

    def take(self, *, stay: bool, keep: bool) -> bool:
        """Does the job as far as the model lets it; tells whether `why` named the planted sentence.

        Raises UpstreamError when the model cannot be asked.
        """
        say = self.narrator.say
        self.narrator.lines([f"{self.narrator.paint('whyspan demo', bold=True)}  {self.scenario.title}.", ""])
        say("Real agent, real spans, real replays, and your model: what it does is told as it is.", dim=True)
        url = str(self.model.base_url)
        with running_collector(self.folder / "store") as collector:
            self.narrator.heading(1, "collect", "whyspan serve")
            say(f"OTLP/HTTP {collector.http_endpoint}   OTLP/gRPC {collector.grpc_endpoint}")
            failed = self._find_failure(collector)
            if failed is None:
                return False
            why, _ = self._experiment(failed, url)
            is_named = self._compare(why)
            self._finish(keep=keep)
            if stay:
                self._stay(collector)
        return is_named

    def _find_failure(self, collector: RunningCollector) -> Run | None:
        """Runs the agent until it fails; None when it never does, which is told."""
        self.narrator.heading(2, "run an agent", f"python your_agent.py, at most {self.tries} times")
        try:
            hunted = hunt(self.scenario, self.model, collector.http_endpoint, tries=self.tries)
        except ModelError as error:
            raise UpstreamError(str(error), hint=error.hint) from error
        last, runs = hunted.runs[-1], len(hunted.runs)
        self.narrator.say(self.scenario.system, label="told   ")
        self.narrator.say(self.scenario.task, label="asked  ")
        if not has_failed(self.scenario, last):
            self.narrator.say(last.answer, label="says   ")
            self.narrator.say(
                f"{self.model.name} did well in all {runs} runs: there is no failure to explain.", bold=True
            )
            return None
        self.narrator.say(last.answer, label="says   ", fg="red", bold=True)
        if runs > 1:
            self.narrator.say(f"({runs - 1} before this one went well)", dim=True)
        return last

    def _compare(self, why: WhyReport) -> bool:
        """Tells whether the headline is the sentence that was planted, which `why` does not know."""
        headline = why.attribution.headline
        found = [segment.text for segment in why.segments(headline)] if headline else []
        is_named = any(self.scenario.planted in text for text in found)
        verdict = "The cause is the sentence we planted." if is_named else "`why` did not name the sentence we planted:"
        self.narrator.lines([""])
        self.narrator.say(verdict, bold=True, fg="green" if is_named else "red")
        if not is_named:
            self.narrator.say(self.scenario.planted)
        return is_named

    def _replay_words(self) -> str:
        return f" --base-url {self.model.base_url} --params {self.params_file} --concurrency {self.concurrency}"

    def _kept_commands(self) -> list[str]:
        event = shlex.quote(self.scenario.event)
        commands = ("show last", f"why last {event}{self._replay_words()}", f"fix last {event}{self._replay_words()}")
        return [self.session.command(command) for command in commands]


def write_settings(folder: Path) -> Path:
    """Writes the request fields that the agent's spans do not hold, for `--params`."""
    path = folder / "params.json"
    path.write_text(json.dumps(SETTINGS, indent=2) + "\n", "utf-8")
    return path
