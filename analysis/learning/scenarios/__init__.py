"""Scenarios: folders with cases and what scores them, and where they come from."""
