"""From spans and logs to the exact requests: read every dialect, merge, repair, encode, name what is missing."""

from .assembly import rebuild_calls
from .diagnosis import Diagnosis, diagnose
from .loading import load_calls, load_run, read_traces
from .unfolding import unfold

__all__ = ["Diagnosis", "diagnose", "load_calls", "load_run", "read_traces", "rebuild_calls", "unfold"]
