"""Tables on standard output, in Markdown."""

import sys


def say(line: str, *, flush: bool = True) -> None:
    """Prints a line."""
    sys.stdout.write(line + "\n")
    if flush:
        sys.stdout.flush()


def table(title: str, *columns: str) -> None:
    """Prints the head of a table."""
    say(f"\n### {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
