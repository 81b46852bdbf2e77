"""What could not be decoded, kept for a look, within bounds: a broken sender must not fill the disk."""

import time
from pathlib import Path

import xxhash

MAX_FILES = 100
MAX_BYTES = 64 << 20


def set_aside(folder: Path, label: str, data: bytes) -> None:
    """Keeps the bytes under a name that tells when and what; the oldest give way. The same bytes are kept once."""
    digest = xxhash.xxh3_64_hexdigest(data)
    if len(data) > MAX_BYTES or any(folder.glob(f"*-{digest}.bin")):
        return
    (folder / f"{time.time_ns():020d}-{label}-{digest}.bin").write_bytes(data)
    kept = sorted(folder.glob("*.bin"))
    sizes = [path.stat().st_size for path in kept]
    while len(kept) > MAX_FILES or sum(sizes) > MAX_BYTES:
        kept.pop(0).unlink()
        sizes.pop(0)
