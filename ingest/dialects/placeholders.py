"""Media that an instrumentation has put aside: a marker stands in the request where the bytes were."""

from collections.abc import Callable, Mapping

from ..calls import Json


def without_placeholders(value: Json, is_placeholder: Callable[[str], bool]) -> tuple[Json, int]:
    """Returns the value without the list elements that hold a placeholder, and how many there were.

    A placeholder sent to a model would be a made-up request, so the whole part goes and the caller reports the gap.
    """
    if isinstance(value, list):
        kept, removed = [], 0
        for item in value:
            if not isinstance(item, str) and _holds(item, is_placeholder):
                removed += 1
                continue
            inner, count = without_placeholders(item, is_placeholder)
            kept.append(inner)
            removed += count
        return kept, removed
    if isinstance(value, Mapping):
        pairs = {key: without_placeholders(inner, is_placeholder) for key, inner in value.items()}
        return {key: inner for key, (inner, _) in pairs.items()}, sum(count for _, count in pairs.values())
    return value, 0


def _holds(value: Json, is_placeholder: Callable[[str], bool]) -> bool:
    # Not into lists: a message goes on without one of its parts, so only the part itself is removed.
    if isinstance(value, str):
        return is_placeholder(value)
    if isinstance(value, Mapping):
        return any(_holds(inner, is_placeholder) for inner in value.values())
    return False
