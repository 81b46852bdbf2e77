"""How a request is turned down: one list of reasons, each with its HTTP status and its gRPC twin.

Clients retry what is temporary and drop what is not, so the distinction decides whether data are lost: OTLP/HTTP
retries 429, 502, 503 and 504; OTLP/gRPC retries UNAVAILABLE, and RESOURCE_EXHAUSTED only with a RetryInfo.
"""

from enum import Enum

import grpc


class Reason(Enum):
    """Why a request is turned down: (label in metrics, HTTP status, gRPC status)."""

    MALFORMED = ("malformed", 400, grpc.StatusCode.INVALID_ARGUMENT)
    UNAUTHENTICATED = ("unauthenticated", 401, grpc.StatusCode.UNAUTHENTICATED)
    NOT_FOUND = ("not_found", 404, grpc.StatusCode.UNIMPLEMENTED)
    METHOD = ("method", 405, grpc.StatusCode.UNIMPLEMENTED)
    TOO_LARGE = ("too_large", 413, grpc.StatusCode.RESOURCE_EXHAUSTED)
    """Permanent: sent without RetryInfo, so that clients do not try again."""
    UNSUPPORTED = ("unsupported", 415, grpc.StatusCode.UNIMPLEMENTED)
    CLIENT_QUOTA = ("client_quota", 429, grpc.StatusCode.RESOURCE_EXHAUSTED)
    OVERLOADED = ("overloaded", 503, grpc.StatusCode.UNAVAILABLE)
    DISK = ("disk", 503, grpc.StatusCode.UNAVAILABLE)

    def __init__(self, label: str, http_status: int, grpc_status: grpc.StatusCode) -> None:
        self.label = label
        self.http_status = http_status
        self.grpc_status = grpc_status


class Refusal(Exception):
    """A request that is turned down; becomes an answer at the edge, never a traceback."""

    def __init__(self, reason: Reason, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.retry_after_s = retry_after_s
        """When to try again; None says never."""
