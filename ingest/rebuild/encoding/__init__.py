"""From the neutral form to each provider's own request body."""

from .body import Encoded, encode_body

__all__ = ["Encoded", "encode_body"]
