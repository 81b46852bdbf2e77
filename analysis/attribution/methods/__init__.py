"""Other ways to say which piece it was, to compare `why` with: scores that carry no error rate, so never claims."""

from .scores import Method, Scores

__all__ = ["Method", "Scores"]
