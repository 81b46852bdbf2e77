"""The collector about itself, in Prometheus text."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ..ingest.store.rolling_status import RollerStatus
from .signals import Signal


class Meters:
    """Counters of one collector."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.accepted_requests = self._counter("accepted_requests", "Requests stored and acknowledged.", "signal")
        self.accepted_bytes = self._counter("accepted_bytes", "Their bytes, uncompressed.", "signal")
        self.accepted_items = self._counter("accepted_items", "Their spans and log records.", "signal")
        # Looking up a labelled counter costs more than counting.
        self._accepted = {
            signal: tuple(
                counter.labels(signal.value)
                for counter in (self.accepted_requests, self.accepted_bytes, self.accepted_items)
            )
            for signal in Signal
        }
        self.rejected_spans = self._counter("rejected_spans", "Invalid spans in requests otherwise stored.")
        self.refused_requests = self._counter("refused_requests", "Requests turned down.", "reason")
        self.dropped_metrics = self._counter("dropped_metrics_requests", "Metrics requests: taken, never stored.")
        self.forwarded = self._counter("forwarded_requests", "Requests sent on, by outcome.", "outcome")
        self.sync_seconds = Histogram(
            "whyspan_sync_seconds", "Time to write and sync a group of requests.", registry=self._registry,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5),
        )  # fmt: skip
        self.acknowledged_time = self._gauge(
            "acknowledged_timestamp_seconds", "When the last stored request was received."
        )

    def watch_roller(self, status: Callable[[], RollerStatus]) -> None:
        """Adds what the roller reports."""
        for name, help, value in (
            ("pending_bytes", "Acknowledged and not yet queryable.", lambda: status().pending_bytes),
            ("queryable_timestamp_seconds", "When the last queryable request was received.",
             lambda: status().watermark_ns / 1e9),
            ("rolled_rows", "Rows made queryable since the roller started.", lambda: status().rows),
            ("duplicate_rows", "Rows left out because the store has them.", lambda: status().duplicates),
            ("quarantined_requests", "Stored requests that could not be decoded.", lambda: status().quarantined),
            ("torn_segments", "Log segments with a cut end.", lambda: status().torn),
            ("roller_restarts", "Times that the roller was started again.", lambda: status().restarts),
        ):  # fmt: skip
            self._gauge(name, help).set_function(value)

    def watch_forward(self, pending_bytes: Callable[[], int]) -> None:
        """Adds what waits to be sent on."""
        self._gauge("forward_pending_bytes", "Accepted and not yet sent on.").set_function(pending_bytes)

    def count_accepted(self, signal: Signal, payload: bytes, items: int, received_ns: int) -> None:
        """Counts a stored request."""
        requests, sizes, counts = self._accepted[signal]
        requests.inc()
        sizes.inc(len(payload))
        counts.inc(items)
        self.acknowledged_time.set(received_ns / 1e9)

    def render(self) -> bytes:
        """Returns all of them."""
        return generate_latest(self._registry)

    def _counter(self, name: str, help: str, *labels: str) -> Counter:
        return Counter(f"whyspan_{name}", help, labels, registry=self._registry)

    def _gauge(self, name: str, help: str) -> Gauge:
        return Gauge(f"whyspan_{name}", help, registry=self._registry)
