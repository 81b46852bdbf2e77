"""What happens to a request once its bytes are here, whichever way they came: check, store, say what was kept."""

import logging
from dataclasses import dataclass
from enum import Enum

from ..ingest.errors import FormatError, StoreError
from ..ingest.otlp.json_form import logs_from_json, traces_from_json
from ..ingest.otlp.logs import parse_logs
from ..ingest.otlp.validation import keep_valid_spans
from ..ingest.store.wal import FrameKind
from .commit import GroupCommit
from .refusals import Reason, Refusal

logger = logging.getLogger(__name__)


class Signal(Enum):
    """The OTLP signals."""

    TRACES = "traces"
    LOGS = "logs"
    METRICS = "metrics"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of a request; everything accepted is durable."""

    rejected: int = 0
    message: str = ""


class Intake:
    """Stores requests."""

    def __init__(self, commit: GroupCommit) -> None:
        self._commit = commit

    async def accept(self, signal: Signal, body: bytes, *, is_json: bool) -> Receipt:
        """Stores a request and returns the receipt to acknowledge it with; raises Refusal.

        Metrics are taken and dropped: SDKs send them unasked, and an error would fill their logs.
        """
        if signal is Signal.METRICS:
            return Receipt()
        try:
            if signal is Signal.TRACES:
                return await self._accept_traces(traces_from_json(body) if is_json else body)
            return await self._accept_logs(logs_from_json(body) if is_json else body)
        except FormatError as error:
            raise Refusal(Reason.MALFORMED, error.message) from error

    async def _accept_traces(self, body: bytes) -> Receipt:
        valid = keep_valid_spans(body)
        if valid.accepted:
            await self._store(FrameKind.TRACES, valid.payload)
        return Receipt(rejected=valid.rejected, message=valid.reason)

    async def _accept_logs(self, body: bytes) -> Receipt:
        if parse_logs(body).resource_logs:
            await self._store(FrameKind.LOGS, body)
        return Receipt()

    async def _store(self, kind: FrameKind, payload: bytes) -> None:
        try:
            await self._commit.commit(kind, payload)
        except StoreError as error:
            logger.error("%s", error)
            raise Refusal(Reason.UNAVAILABLE, error.message, retry_after_s=10) from error
