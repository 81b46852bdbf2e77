"""Replay: one recorded model call is sent again, changed or not; the agent and its tools never run."""
