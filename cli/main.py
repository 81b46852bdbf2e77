"""The composition root: the command table and the edge at which errors become exit codes."""

import importlib
import keyword
import os
import sys
from typing import Any

import click

from .. import __version__
from ..ingest.errors import ExitCode, UsageError, WhyspanError

SECTIONS = {
    "Start": {
        "demo": "See the whole job on an example agent: no key, no network.",
        "serve": "Receive OTLP over gRPC and HTTP into the store.",
        "import": "Bring in spans from files, Langfuse, Phoenix or MLflow.",
        "doctor": "Say how complete the recorded calls are and what to switch on.",
    },
    "Look": {
        "runs": "List the runs in the store.",
        "show": "Show one run as a tree, or one decision with its context.",
        "diff": "Show where two runs part.",
        "grep": "Find where a text entered a run.",
        "decisions": "List the decisions one can ask about.",
        "triage": "Rank decisions worth explaining.",
        "drift": "Show how often an outcome comes, week by week.",
        "calls": "Print rebuilt model calls with their completeness.",
        "query": "Ask a question from the shelf of queries.",
        "sql": "Query the store with SQL.",
        "shell": "Ask the store one SQL query after the other.",
    },
    "Explain": {
        "why": "Find by experiment what caused a decision.",
        "investigate": "List hypotheses about what caused decisions.",
        "segments": "List the pieces of a decision's context.",
        "odds": "Tell how often the model decides so.",
        "replay": "Replay a decision with changes.",
    },
    "Mend": {
        "fix": "Measure which changes stop it.",
        "test": "Write a regression test for a decision.",
        "ci": "Render a pull-request comment.",
    },
    "Share and schedule": {
        "report": "Write a page about a run, a claim or a job.",
        "writeback": "Send claims back into your observability.",
        "export": "Render claims for a CI run (summary, JUnit XML, HTML, SARIF), or a run as JSON lines.",
        "jobs": "Explain many decisions under a budget, again and again.",
    },
    "Learn": {
        "scenario": "Make a scenario: cases, and what scores an output.",
        "run": "Play a scenario for some generations, and learn from it.",
        "knowledge": "Look after what scenarios have learned.",
        "simulate": "Compare combinations of variables by their scores.",
        "solve": "Work on one task until it is good enough.",
        "mission": "Carry out long work in steps that are checked.",
        "analyze": "Show a simulation, a run or a mission; compare two runs.",
        "export-training-data": "Write answers to train a model on.",
    },
    "Housekeeping": {
        "store": "Look after the store: size, soundness, old data.",
        "cache": "Look after the replies that were paid for.",
        "providers": "List the models that can be asked.",
    },
}
"""Heading → command → its line in `--help`; modules are imported only when their command runs, so that help is fast."""

COMMANDS = [name for section in SECTIONS.values() for name in section]


class LazyGroup(click.Group):
    """A group whose commands live in `cli.commands.<name>` and are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the command names in the order of a user's work."""
        return COMMANDS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports and returns a command; None when there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_") + "_" * keyword.iskeyword(cmd_name)
        module = importlib.import_module(f".commands.{name}", __package__)
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands under their headings from the table, importing nothing."""
        width = max(map(len, COMMANDS))
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), help) for name, help in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command, suggesting the nearest name for a wrong one."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            import difflib

            near = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"did you mean `whyspan {near[0]}`?" if near else "`whyspan --help` lists the commands"
            raise UsageError(f"there is no command {name!r}", hint=hint)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with `whyspan demo`.",
)
@click.option("--store", metavar="DIR", help="The store; default $WHYSPAN_STORE, whyspan.toml, or ./.whyspan.")
@click.option("--color/--no-color", default=None, help="Force colour on or off; default: on a terminal.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.version_option(__version__, prog_name="whyspan")
@click.pass_context
def cli(ctx: click.Context, store: str | None, color: bool | None, debug: bool) -> None:
    """Why did the agent do that? Answered by experiment, from its trace."""
    from .output import Session

    ctx.obj = Session(store_argument=store, color=color, debug=debug)


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns the exit code; the only place where errors become words."""
    debug = "--debug" in (sys.argv[1:] if argv is None else argv)
    try:
        result: Any = cli.main(args=argv, prog_name="whyspan", standalone_mode=False)
        return int(result) if isinstance(result, int) else ExitCode.OK
    except WhyspanError as error:
        if debug:
            raise
        _complain(error.message, error.hint)
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "", err=True)
        return ExitCode.USAGE
    except click.ClickException as error:
        _complain(error.format_message(), _usage_hint(error))
        return ExitCode.USAGE
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted: what was stored stays stored, the same command goes on from there", err=True)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has what it wanted; keep the interpreter from complaining again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK


def _complain(message: str, hint: str | None) -> None:
    from .output import printable

    click.echo(f"error: {printable(message)}", err=True)
    if hint:
        click.echo(f"hint: {printable(hint)}", err=True)


def _usage_hint(error: click.ClickException) -> str | None:
    ctx = getattr(error, "ctx", None)
    return f"`{ctx.command_path} --help` shows the usage" if ctx else None


def run() -> None:
    """The console script."""
    sys.exit(main())
