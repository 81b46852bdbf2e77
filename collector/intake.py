"""What happens to a request once its bytes are here, whichever way they came: check, clean, store, acknowledge."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ..ingest.errors import FormatError, StoreError
from ..ingest.otlp.json_form import logs_from_json, traces_from_json
from ..ingest.otlp.validation import check_logs, keep_valid_spans
from ..ingest.store.quarantine import set_aside
from ..ingest.store.wal import FrameKind
from .admission import Admission
from .auth import Authenticator
from .commit import GroupCommit
from .meters import Meters
from .redaction import Redactor
from .refusals import Reason, Refusal
from .signals import Receipt, Signal

T = TypeVar("T")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """Stores requests."""

    commit: GroupCommit
    authenticator: Authenticator
    admission: Admission
    redactor: Redactor
    meters: Meters
    quarantine: Path

    async def accept(self, signal: Signal, body: bytes, *, is_json: bool) -> Receipt:
        """Stores a request and returns the receipt to acknowledge it with; raises Refusal.

        Metrics are taken and dropped: SDKs send them unasked, and an error would fill their logs.
        """
        match signal:
            case Signal.METRICS:
                self.meters.dropped_metrics.inc()
                return Receipt()
            case Signal.TRACES:
                return await self._accept_traces(self._decoded(signal, traces_from_json, body) if is_json else body)
            case Signal.LOGS:
                return await self._accept_logs(self._decoded(signal, logs_from_json, body) if is_json else body)

    async def _accept_traces(self, body: bytes) -> Receipt:
        valid = self._decoded(Signal.TRACES, keep_valid_spans, body)
        self.meters.rejected_spans.inc(valid.rejected)
        if valid.accepted:
            payload = self.redactor.clean_traces(valid.message, valid.payload)
            await self._store(Signal.TRACES, FrameKind.TRACES, payload, valid.accepted)
        return Receipt(rejected=valid.rejected, message=valid.reason)

    async def _accept_logs(self, body: bytes) -> Receipt:
        valid = self._decoded(Signal.LOGS, check_logs, body)
        if valid.accepted:
            payload = self.redactor.clean_logs(valid.message, valid.payload)
            await self._store(Signal.LOGS, FrameKind.LOGS, payload, valid.accepted)
        return Receipt(rejected=0, message=valid.reason)

    def _decoded(self, signal: Signal, decode: Callable[[bytes], T], body: bytes) -> T:
        try:
            return decode(body)
        except FormatError as error:
            set_aside(self.quarantine, f"refused-{signal.value}", body)
            raise Refusal(Reason.MALFORMED, error.message) from error

    async def _store(self, signal: Signal, kind: FrameKind, payload: bytes, items: int) -> None:
        received_ns = time.time_ns()
        try:
            await self.commit.commit(kind, payload)
        except StoreError as error:
            logger.error("%s", error)
            raise Refusal(Reason.DISK, error.message, retry_after_s=10) from error
        self.meters.count_accepted(signal, payload, items, received_ns)
