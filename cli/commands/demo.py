"""`whyspan demo`, and `whyspan demo hunt` beside it."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...ingest.errors import ExitCode, UpstreamError, UsageError
from ..output import Paint, Session

if TYPE_CHECKING:
    from ..demo.agent import Run, Scenario
    from ..demo.hunting import Hunt
    from ..demo.local_tour import LocalTour
    from ..demo.models import Model
    from ..demo.tour import Tour

NAMES = ("inbox", "refund", "ops")
LOCAL_TEMPERATURE = 0.7
"""Small models wander above it."""


class DemoCommand(click.Command):
    """A command with one special first word: `hunt` has options of its own."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Hands over to `hunt` when that is the first word."""
        if args[:1] == ["hunt"]:
            return hunt_command.make_context(f"{info_name} hunt", args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)


@click.command(cls=DemoCommand, epilog="`whyspan demo hunt --help`: look for the same failure on a model of your own.")
@click.argument("scenario", type=click.Choice(NAMES), required=False)
@click.option("--keep", type=click.Path(path_type=Path, file_okay=False), help="Keep the store and the files in DIR.")
@click.option("--serve", "stay", is_flag=True, help="Leave the collector running at the end.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the stand-in model.")
@click.option("--local", metavar="URL", help="A real model instead: an OpenAI-compatible server, e.g. on your laptop.")
@click.option("--model", metavar="NAME", help="The model's name there; servers of a single model take any.")
@click.pass_obj
def command(
    session: Session,
    scenario: str | None,
    keep: Path | None,
    stay: bool,
    seed: int,
    local: str | None,
    model: str | None,
) -> int:
    """See the whole job on an example agent: no key, no network.

    inbox: an e-mail assistant forwards an invoice to a stranger. refund: a support agent refunds $2,400 for a scratch.
    ops: an operations agent drops a database that others use. --local: a mail sorter, small enough for a small model.
    """
    if local and scenario:
        raise UsageError(
            "--local has a scenario of its own", hint=f"whyspan demo hunt {scenario} --local MODEL --base-url {local}"
        )
    if model and not local:
        raise UsageError("--model is the name at --local URL", hint="--local http://127.0.0.1:8911/v1")
    with _folder(keep) as folder:
        inner = Session(store_argument=str(folder / "store"), color=session.color, debug=session.debug)
        try:
            if local:
                is_good = _local_tour(inner, folder, local, model).take(stay=stay, keep=keep is not None)
            else:
                is_good = _tour(inner, folder, scenario or "inbox", seed).take(stay=stay, keep=keep is not None)
        except KeyboardInterrupt:
            if keep:
                raise
            click.echo("interrupted: nothing is kept; --keep DIR would have kept the store", err=True)
            return ExitCode.INTERRUPTED
    return ExitCode.OK if is_good else ExitCode.FINDING


def _tour(session: Session, folder: Path, scenario: str, seed: int) -> "Tour":
    from ..demo.narration import Narrator
    from ..demo.scenarios import SCENARIOS
    from ..demo.tour import Tour

    narrator = Narrator(Paint.stdout(session))
    return Tour(scenario=SCENARIOS[scenario], folder=folder, session=session, narrator=narrator, seed=seed)


def _local_tour(session: Session, folder: Path, url: str, name: str | None) -> "LocalTour":
    from ..demo.local_tour import LocalTour, write_settings
    from ..demo.mailroom import SCENARIO, SETTINGS
    from ..demo.models import ChatModel
    from ..demo.narration import Narrator

    return LocalTour(
        scenario=SCENARIO,
        folder=folder,
        session=session,
        narrator=Narrator(Paint.stdout(session)),
        model=ChatModel(name or "local", base_url=url, temperature=LOCAL_TEMPERATURE, settings=SETTINGS),
        params_file=write_settings(folder),
    )


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Gives the folder to work in: the one to keep, or one that is gone afterwards."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="whyspan-demo-") as folder:
            yield Path(folder)
        return
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {keep}: {error.strerror}") from error
    yield keep


@click.command(name="hunt", epilog="Example: whyspan demo hunt inbox --tries 20 --openai gpt-5-mini")
@click.argument("scenario", type=click.Choice(NAMES))
@click.option("--tries", type=click.IntRange(1), default=10, show_default=True, help="Runs of the agent at most.")
@click.option("--openai", metavar="MODEL", help="A model of OpenAI; needs OPENAI_API_KEY.")
@click.option("--anthropic", metavar="MODEL", help="A model of Anthropic; needs ANTHROPIC_API_KEY.")
@click.option("--local", metavar="MODEL", help="A model of any OpenAI-compatible server.")
@click.option("--base-url", metavar="URL", help="Where the server is; --local takes Ollama's port by default.")
@click.pass_obj
def hunt_command(session: Session, /, scenario: str, tries: int, base_url: str | None, **models: str | None) -> int:
    """Run an example agent on a model of your own until it fails.

    The runs are traced into the store. Exit codes: 0 it failed, and the command to ask why is printed; 1 it did not.
    """
    from ..demo.scenarios import SCENARIOS

    model = _model(base_url, models)
    with session.create_store() as store:
        path = store.path
    hunted = _hunt(SCENARIOS[scenario], model, path, tries)
    click.echo("{} runs, {:,} tokens in, {:,} out".format(len(hunted.runs), *hunted.tokens))
    if hunted.failure is None:
        click.echo(f"\nIt did not {SCENARIOS[scenario].failure} in {len(hunted.runs)} runs; --tries allows more.")
        return ExitCode.FINDING
    replay = f" --base-url {model.base_url}" if base_url or models["local"] else ""
    why = f"why {hunted.failure.trace_id[:12]} {SCENARIOS[scenario].event}{replay}"
    click.echo(f"\nnext: {session.command(why)}")
    return ExitCode.OK


def _model(base_url: str | None, models: Mapping[str, str | None]) -> "Model":
    from ..demo.models import ModelError, choose_model

    if sum(name is not None for name in models.values()) != 1:
        raise UsageError("name one model", hint="--openai MODEL, --anthropic MODEL or --local MODEL")
    try:
        return choose_model(**models, base_url=base_url)
    except ModelError as error:
        raise UsageError(str(error), hint=error.hint) from error


def _hunt(scenario: "Scenario", model: "Model", store: Path, tries: int) -> "Hunt":
    from ...collector.background import running_collector
    from ..demo.hunting import hunt
    from ..demo.models import ModelError
    from ..demo.narration import calls_in_words

    def show(run: "Run") -> None:
        calls = calls_in_words([name for name, _ in run.calls])
        click.echo(f"{run.trace_id[:12]}  {run.input_tokens:>7,} + {run.output_tokens:<6,} tokens  {calls}")

    with running_collector(store) as collector:
        try:
            return hunt(scenario, model, collector.http_endpoint, tries=tries, on_run=show)
        except ModelError as error:
            raise UpstreamError(str(error), hint=error.hint) from error
