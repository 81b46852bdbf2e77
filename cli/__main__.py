"""`python -m whyspan.cli`."""

from .main import run

run()
