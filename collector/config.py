"""What a collector needs to know."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ..ingest.errors import ConfigError
from ..ingest.settings import nearest

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one request, one client and all of them together may use."""

    body_bytes: int = 32 * MIB
    """A request as sent over HTTP."""
    inflated_bytes: int = 64 * MIB
    """A request after decompression; over gRPC this is the only limit. 4 MiB, gRPC's own, drops GenAI batches."""
    in_flight_bytes: int = 64 * MIB
    """All requests that are being received or wait for the disk; bounds the memory."""
    requests_per_client: int = 128
    """Requests of one client at once."""
    backlog_bytes: int = 2048 * MIB
    """Acknowledged data that is not in Parquet yet."""
    free_disk_bytes: int = 1024 * MIB
    """Below this, or 5 % of the disk if that is less, nothing is accepted."""


def read_limits(section: Mapping[str, Any]) -> Limits:
    """Returns the limits of `[limits]`: sizes in MiB as `inflated_mib = 128`, and `requests_per_client`.

    Raises ConfigError for an unknown key, or a value that is no whole number above zero.
    """
    sizes = {f.name.replace("_bytes", "_mib"): f.name for f in fields(Limits)}
    limits: dict[str, int] = {}
    for key, value in section.items():
        if key not in sizes:
            raise ConfigError(f"[limits]: unknown key {key!r}", hint=nearest(key, sizes))
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ConfigError(f"[limits]: {key} must be a whole number above zero, not {value!r}")
        limits[sizes[key]] = value * MIB if key.endswith("_mib") else value
    return Limits(**limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Files in PEM form."""

    certificate: Path
    key: Path
    client_ca: Path | None = None
    """Clients must show a certificate of this authority (mutual TLS)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """Where everything accepted goes as well."""

    url: str
    """OTLP/HTTP base, e.g. `https://otel.example.com:4318`."""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorConfig:
    """A collector's configuration."""

    store: Path
    host: str = "127.0.0.1"
    grpc_port: int = 4317
    """0 takes a free port."""
    http_port: int = 4318
    limits: Limits = field(default_factory=Limits)
    tokens: Mapping[str, str] = field(default_factory=dict)
    """Client name → secret; empty lets everybody in."""
    tls: Tls | None = None
    forward: Forward | None = None
    keep_days: int | None = None
    """Older data are deleted; None keeps everything."""
