"""The views that users query. Their columns are a public contract: they are defined and documented here, nowhere else.

Times are TIMESTAMP in UTC, ids lowercase hex, money US dollars; NULL means that the span did not say.
"""

from .decided import DECISIONS, SCORES, UNSCORED_DECISIONS
from .experiments import CLAIMS, TRIALS
from .jobs import JOB_ITEMS, JOB_RUNS, JOBS
from .learned import KNOWLEDGE, MISSIONS, SCENARIOS
from .recorded import LLM_CALLS, LOG_RECORDS, MESSAGES, RUNS, SPANS, TOOL_CALLS
from .view import MACROS, Column, View

__all__ = ["FILE_VIEWS", "MACROS", "VIEWS", "Column", "View"]

VIEWS = (
    SPANS,
    LOG_RECORDS,
    MESSAGES,
    LLM_CALLS,
    TOOL_CALLS,
    RUNS,
    TRIALS,
    CLAIMS,
    SCORES,
    UNSCORED_DECISIONS,
    DECISIONS,
    JOB_RUNS,
    JOB_ITEMS,
    JOBS,
    KNOWLEDGE,
    SCENARIOS,
    MISSIONS,
)
"""In the order of creation: later ones use earlier ones."""
FILE_VIEWS = {"spans": "span_files", "log_records": "log_record_files", "messages": "message_files"}
"""Table → the inner view over its Parquet files."""
