"""Runs that learn: scenarios, a gate for lessons, sweeps and missions, on the engine of replays."""
