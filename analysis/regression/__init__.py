"""Regression tests: a frozen case and a claim on disk, and the pytest side that checks them."""
