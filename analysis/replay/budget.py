"""The cap on what one command may ask of a model. Work reserves before it asks, so the cap is never passed."""

from ...ingest.errors import UsageError


class Budget:
    """Counts model calls against a cap; safe within one event loop."""

    def __init__(self, calls: int) -> None:
        if calls < 0:
            raise UsageError(f"a budget cannot be {calls} calls")
        self.cap = calls
        self.reserved = 0
        self.spent = 0
        """Calls that were answered."""

    @property
    def left(self) -> int:
        """Calls that can still be reserved."""
        return self.cap - self.reserved

    def reserve(self, calls: int) -> int:
        """Grants up to `calls`, fewer (or none) near the cap."""
        granted = min(calls, self.left)
        self.reserved += granted
        return granted

    def settle(self, reserved: int, answered: int) -> None:
        """Books the answered ones of a reservation and gives the rest back."""
        self.spent += answered
        self.reserved -= reserved - answered
