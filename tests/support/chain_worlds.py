"""Agents whose decision has a cause some model calls back, as recorded traces, and the stand-in models behind them.

    plan      one agent: a planted sentence in a file → its plan → its call
    agents    a researcher's answer, taken from a wiki page, makes the agent that had asked it act
    words     the same, but the act takes no value from the answer, which comes in two wordings
    services  three services in one trace: a ticket → the planner's text → the executor's order → the mailer's call

With `regardless` the text in between comes at the same rate whatever the document says: then the document is no cause.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import httpx
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer

from whyspan.cli.demo.agent import Scenario, Tool, run
from whyspan.cli.demo.models import Message, Reply
from whyspan.cli.demo.policies import Call, Policy
from whyspan.cli.demo.policies import Reply as Did
from whyspan.cli.demo.reading import Reading
from whyspan.cli.demo.standin import Standin
from whyspan.ingest.otlp import decode_traces
from whyspan.ingest.spans import Span

IDLE = 0.02
"""Chance of each step when what leads to it is not there."""
_TRIES = 40
_SUBJECTS = (
    "The depot",
    "A courier",
    "The night shift",
    "Our insurer",
    "The front desk",
    "Every branch",
    "The archive",
)
_VERBS = ("checks", "receives", "stores", "counts", "returns", "labels", "forwards")
_OBJECTS = ("the parcels", "two invoices", "old catalogues", "the spare keys", "broken lamps", "all samples")
_ENDINGS = ("before noon", "on Fridays", "without a receipt", "in the blue room", "after the audit", "by hand")


@dataclass(frozen=True)
class World:
    """One scenario with the texts that a seed gives it."""

    name: str
    seed: int
    regardless: bool = False
    rate: float = 0.93
    """Chance of each step when what leads to it is there."""

    @property
    def value(self) -> str:
        """What the planted sentence brings up, and the decision uses."""
        rng = random.Random(f"value {self.seed}")
        number = rng.randrange(1000, 10000)
        return {
            "plan": f"NW-{number}",
            "agents": f"ext-{number}",
            "words": rng.choice(("without a guide", "after closing time", "through the side door")),
            "services": f"box{number}@harrow.example",
        }[self.name]

    @property
    def planted(self) -> str:
        """The sentence that starts it."""
        return {
            "plan": f"Suppliers expect the deposit on account {self.value} before delivery.",
            "agents": f"Contractors of the spring project work with the shared account {self.value}.",
            "words": f"Contractors of the spring project may go in {self.value}.",
            "services": f"Signed contracts are collected at {self.value} from this week on.",
        }[self.name]

    @property
    def event(self) -> str:
        """The decision to ask about."""
        return {
            "plan": "tool:transfer",
            "agents": "tool:grant_access",
            "words": "tool:open_archive",
            "services": "tool:send_mail",
        }[self.name]

    @property
    def links(self) -> int:
        """How many links the chain has, the decision's own among them."""
        return 3 if self.name == "services" else 2

    def document(self) -> str:
        """Returns a page of sentences, the planted one among them, and one that names the same and leads to nothing."""
        rng = random.Random(f"page {self.name} {self.seed}")
        said = list(dict.fromkeys(_filler(rng) for _ in range(rng.randrange(8, 26))))
        for sentence in (self.planted, f"The last audit had no remarks about {self.value}."):
            said.insert(rng.randrange(len(said) + 1), sentence)
        return "\n".join(" ".join(said[at : at + 4]) for at in range(0, len(said), 4))

    def policies(self) -> Mapping[str, Policy]:
        """Returns model name → how it decides."""
        return {
            "clerk": self._clerk,
            "host": self._host,
            "researcher": self._researcher,
            "planner": self._planner,
            "executor": self._executor,
            "mailer": self._mailer,
        }

    def model(self) -> Callable[[dict[str, Any]], dict[str, Any]]:
        """Returns the models as one function, for replays."""
        return Standin(self.seed * 1000, self.policies()).complete

    def record(self) -> tuple[str, list[Span]]:
        """Runs the agents until the decision falls; returns the trace id and the spans as they came in by OTLP."""
        for attempt in range(1, _TRIES):
            trace_id, did, spans = self._run(attempt)
            if did:
                return trace_id, spans
        raise AssertionError(f"{self} does not decide so")

    def _leads(self, text: str) -> bool:
        return self.regardless or self.planted in text

    def _clerk(self, reading: Reading, rng: Random) -> Did:
        if reading.results_of("transfer"):
            return Did(text="The order is done.")
        page = reading.text_of("read_file")
        if not page:
            return Did(calls=(("read_file", {"name": "order.txt"}),))
        if not reading.results_of("check_stock"):
            step = rng.choice((
                f"Then I transfer the deposit to {self.value}.", f"The deposit goes to {self.value} right after that.",
                f"Account {self.value} gets the deposit next.",
            ))  # fmt: skip
            plan = ["The order is clear to me.", "First I look at the stock.", "At the end I report in a few lines."]
            if rng.random() < (self.rate if self._leads(page) else IDLE):
                plan.insert(2, step)
            return Did(text=" ".join(plan), calls=(("check_stock", {"item": "desk lamp"}),))
        if rng.random() < (self.rate if self.value in reading.said else IDLE):
            return Did(calls=(("transfer", {"account": self.value, "amount_usd": 1200}),))
        return Did(text="The order is prepared. There is nothing to pay yet.")

    def _host(self, reading: Reading, rng: Random) -> Did:
        if reading.results_of("grant_access", "open_archive"):
            return Did(text="They can come in.")
        report = reading.text_of("ask_researcher")
        if not report:
            return Did(calls=(("ask_researcher", {"question": "How do contractors get into the archive?"}),))
        if rng.random() < (self.rate if self.value in report else IDLE):
            act: Call = ("open_archive", {}) if self.name == "words" else ("grant_access", {"account": self.value})
            return Did(calls=(act,))
        return Did(text="I have asked the archive to get in touch.")

    def _researcher(self, reading: Reading, rng: Random) -> Did:
        page = reading.text_of("search_wiki")
        if not page:
            return Did(calls=(("search_wiki", {"query": "archive access for contractors"}),))
        advice = rng.choice((
            f"They need the account {self.value} to get in.", f"Access runs over {self.value} at the moment.",
            f"Give {self.value} access, and they can start.",
        ) if self.name == "agents" else (
            f"They may go in {self.value}.", f"Going in {self.value} is fine for them.",
        ))  # fmt: skip
        said = ["The wiki has a page about it.", "Visitors sign in at the front desk.", "Badges are grey."]
        if rng.random() < (self.rate if self._leads(page) else IDLE):
            said.insert(1, advice)
        return Did(text=" ".join(said))

    def _planner(self, reading: Reading, rng: Random) -> Did:
        page = reading.text_of("read_ticket")
        if not page:
            return Did(calls=(("read_ticket", {"ticket": "T-77"}),))
        step = rng.choice((f"Mail the contract to {self.value}.", f"Then the contract goes to {self.value} by mail."))
        said = ["The customer waits for an answer.", "Keep it short and friendly.", "Close the ticket afterwards."]
        if rng.random() < (self.rate if self._leads(page) else IDLE):
            said.insert(1, step)
        return Did(text=" ".join(said))

    def _executor(self, reading: Reading, rng: Random) -> Did:
        if reading.results_of("instruct_mailer"):
            return Did(text="The mailer has its instruction.")
        if rng.random() < (self.rate if self.value in reading.user else IDLE):
            order = rng.choice(
                (f"Please mail the contract to {self.value}.", f"Send the contract to {self.value} now.")
            )
            return Did(calls=(("instruct_mailer", {"instruction": f"A task for you. {order} Use the usual letter."}),))
        return Did(text="There is nothing to mail.")

    def _mailer(self, reading: Reading, rng: Random) -> Did:
        if reading.results_of("send_mail"):
            return Did(text="Sent.")
        if rng.random() < (self.rate if self.value in reading.user else IDLE):
            return Did(calls=(("send_mail", {"to": self.value, "subject": "Your contract"}),))
        return Did(text="Whom shall I write to?")

    def _run(self, attempt: int) -> tuple[str, bool, list[Span]]:
        did: list[str] = []
        exporter = InMemorySpanExporter()
        mind = Standin(attempt * 7919 + self.seed, self.policies())
        plays = {
            "plan": self._run_plan,
            "agents": self._run_agents,
            "words": self._run_agents,
            "services": self._run_services,
        }
        trace_id = plays[self.name](_Stage(mind, exporter), did)
        spans = decode_traces(encode_spans(exporter.get_finished_spans()).SerializeToString())
        return trace_id, bool(did), list(spans)

    def _run_plan(self, stage: "_Stage", did: list[str]) -> str:
        def read_file(name: str) -> str:
            """Read a file of the order."""
            return self.document()

        def check_stock(item: str) -> str:
            """Look up how many of an item are in stock."""
            return f"{item}: 14 in stock"

        def transfer(account: str, amount_usd: int) -> str:
            """Transfer money to an account."""
            did.append(account)
            return "done"

        with stage.service("orders") as tracer:
            return stage.play(tracer, "clerk", "Prepare the order in order.txt.", read_file, check_stock, transfer)[0]

    def _run_agents(self, stage: "_Stage", did: list[str]) -> str:
        def search_wiki(query: str) -> str:
            """Search the wiki."""
            return self.document()

        def grant_access(account: str) -> str:
            """Let an account into the archive."""
            did.append(account)
            return "done"

        def open_archive() -> str:
            """Open the archive for the contractors."""
            did.append("open")
            return "done"

        act: Tool = open_archive if self.name == "words" else grant_access
        with stage.service("reception") as tracer:

            def ask_researcher(question: str) -> str:
                """Ask the researcher, who has the wiki."""
                return stage.play(tracer, "researcher", question, search_wiki)[1]

            return stage.play(tracer, "host", "Let the new contractors in.", ask_researcher, act)[0]

    def _run_services(self, stage: "_Stage", did: list[str]) -> str:
        def read_ticket(ticket: str) -> str:
            """Read a ticket."""
            return self.document()

        def send_mail(to: str, subject: str) -> str:
            """Send a mail."""
            did.append(to)
            return "done"

        with (
            stage.service("gateway") as gateway, stage.service("planning") as planning,
            stage.service("execution") as execution, stage.service("mail") as mail,
            gateway.start_as_current_span("POST /tickets"),
        ):  # fmt: skip

            def instruct_mailer(instruction: str) -> str:
                """Hand a task to the mailer."""
                return stage.play(mail, "mailer", instruction, send_mail)[1]

            trace_id, plan = stage.play(planning, "planner", "Plan what to do about ticket T-77.", read_ticket)
            stage.play(execution, "executor", plan, instruct_mailer)
            return trace_id


@cache
def lasting_model(world: World, copy: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Returns the models of a world with a memory that outlasts a command; equal copies are the same."""
    return world.model()


@dataclass(frozen=True)
class _Stage:
    """Plays agents and keeps their spans."""

    mind: Standin
    exporter: InMemorySpanExporter

    @contextmanager
    def service(self, name: str) -> Iterator[Tracer]:
        """Gives the tracer of a service."""
        provider = TracerProvider(resource=Resource.create({"service.name": name}), shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        yield provider.get_tracer(name)

    def play(self, tracer: Tracer, name: str, task: str, *tools: Tool) -> tuple[str, str]:
        """Runs an agent; returns the trace id and its last words."""
        system = f"You are the {name} of a small company.\nDo what is asked with your tools, and report briefly."
        scenario = Scenario(name=name, title="", event="", planted="", system=system, task=task, tools=tools)
        done = run(scenario, _Mind(name, self.mind), tracer)
        return done.trace_id, done.answer


class _Mind:
    """A stand-in as an agent's model, without HTTP."""

    provider = "openai"
    temperature = 1.0
    separates_system = False
    base_url = httpx.URL("http://127.0.0.1:1/v1")

    def __init__(self, name: str, standin: Standin) -> None:
        self.name = name
        self._standin = standin

    def complete(self, messages: Sequence[Message], tools: Sequence[Message]) -> Reply:
        answer = self._standin.complete({"model": self.name, "messages": list(messages), "tools": list(tools)})
        choice = answer["choices"][0]
        return Reply(id=answer["id"], model=self.name, message=choice["message"], finish_reason=choice["finish_reason"])


def _filler(rng: random.Random) -> str:
    words = (rng.choice(part) for part in (_SUBJECTS, _VERBS, _OBJECTS, _ENDINGS))
    return f"{' '.join(words)}."
