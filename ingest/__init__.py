"""Bytes to spans to model calls to the store: the lowest layer, and the kernel that all others share."""
