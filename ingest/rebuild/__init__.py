"""From spans and logs to the exact requests: read every dialect, merge, repair, encode, name what is missing."""

from .assembly import rebuild_calls
from .loading import load_calls

__all__ = ["load_calls", "rebuild_calls"]
