"""Fixes: which changes to the request stop a decision, measured like everything else."""
