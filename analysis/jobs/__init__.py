"""Jobs: a selection of decisions, what to do with each, and a budget; idempotent, and resumable after any death."""
