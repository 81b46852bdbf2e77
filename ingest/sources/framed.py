"""The collector's file exporter in protobuf format: each message after its length, four bytes, big end first.

Source: https://github.com/open-telemetry/opentelemetry-collector-contrib/tree/main/exporter/fileexporter
"""

_HEADER = 4


def split_frames(data: bytes) -> list[bytes] | None:
    """Returns the messages; None when the lengths do not add up to the data exactly, so that it is something else."""
    frames: list[bytes] = []
    position = 0
    while position + _HEADER <= len(data):
        length = int.from_bytes(data[position : position + _HEADER], "big")
        position += _HEADER
        if length == 0 or position + length > len(data):
            return None
        frames.append(data[position : position + length])
        position += length
    return frames if frames and position == len(data) else None
