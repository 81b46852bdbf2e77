"""Missions: long work in steps, each of them done only when its verifier says so."""
