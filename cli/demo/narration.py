"""How the tour talks: headings, wrapped text, and the example agent's run in a few lines."""

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby

import click

from ..output import Paint, printable, shorten, text_width
from .agent import Run, Scenario


class Narrator:
    """Prints to standard output."""

    def __init__(self, paint: Paint) -> None:
        self.paint = paint
        self._width = text_width()

    def heading(self, number: int, title: str, command: str) -> None:
        """Opens a step; `command` does the same for the user's own agent."""
        mark = self.paint(f"{number} {title}", fg="cyan", bold=True)
        click.echo(f"\n{mark}   {self.paint('$ ' + command, dim=True)}")

    def lines(self, lines: Iterable[str]) -> None:
        """Prints lines that are painted already."""
        for line in lines:
            click.echo(line)

    def say(self, text: str, *, label: str = "", **style: object) -> None:
        """Prints text in a style, wrapped and indented under its label."""
        room = self._width - 2 - len(label)
        wrapped = textwrap.wrap(printable(text), room, break_on_hyphens=False) or [""]
        for at, line in enumerate(wrapped):
            click.echo(f"  {label if at == 0 else ' ' * len(label)}{self.paint(line, **style)}")

    def run(self, scenario: Scenario, run: Run) -> None:
        """Tells what an agent was asked, what it did, and what it says that it did."""
        at = [name for name, _ in run.calls].index(scenario.failure)
        self.say(scenario.task, label="asked  ")
        if at:
            self.say(calls_in_words([name for name, _ in run.calls[:at]]), label="calls  ")
        self.say(" ".join(run.calls[at]), label="then   ", fg="red", bold=True)
        self.say(shorten(run.answer, 2 * self._width), label="says   ")


def calls_in_words(names: Sequence[str]) -> str:
    """Returns `list_emails, 6 x read_email`."""
    counted = ((name, len(list(group))) for name, group in groupby(names))
    return ", ".join(name if count == 1 else f"{count} x {name}" for name, count in counted)
