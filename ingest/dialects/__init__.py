"""What the attributes of a span mean: one module for each convention that instrumentations follow.

A dialect is a pure function from one span and its log records to what they say about a model call. It never looks at
other spans, never guesses, and says for every field where it was read. `rebuild` puts the pieces together.
"""
