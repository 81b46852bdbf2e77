"""Experiments on recorded decisions: replay, attribution, fixes, regression tests, write-back."""
