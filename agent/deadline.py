"""The time a turn may take, and the time of it that does not count because its model works. Pure but for the clock."""

from collections.abc import Callable


class Deadline:
    """Ends after `limit_s`; while it is held the clock stands, for at most `grace_s` in all."""

    def __init__(self, limit_s: float, grace_s: float, now_s: Callable[[], float]) -> None:
        """`now_s` is monotonic."""
        self._now_s = now_s
        self._ends_at_s = now_s() + limit_s
        self._grace_s = grace_s
        self._held_at_s: float | None = None

    def hold(self, held: bool) -> None:
        """Let the clock stand, or go on."""
        now_s = self._now_s()
        if self._held_at_s is not None:
            free_s = min(now_s - self._held_at_s, self._grace_s)
            self._ends_at_s += free_s
            self._grace_s -= free_s
        self._held_at_s = now_s if held else None

    def remaining_s(self) -> float:
        """Seconds until it has passed, as things stand; below 0 when it has."""
        self.hold(self._held_at_s is not None)
        return self._ends_at_s - self._now_s()
