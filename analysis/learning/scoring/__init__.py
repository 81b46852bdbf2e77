"""Scoring: what decides how good an output is, and where generated code runs."""
