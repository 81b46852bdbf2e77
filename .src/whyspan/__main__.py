"""`python -m whyspan`."""

from .cli.main import run

run()
