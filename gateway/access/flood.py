"""Notices when strangers come in numbers, by account: for the operator to be told, and for nothing else. Pure but for
the clock it is given; nobody is refused here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

ASKS_PER_MIN = 120
"""Messages of strangers in a minute that make a flood: a team's first morning stays below."""

NEW_ONE_BY_ONE = 40
"""New requests of ten minutes that owners are told of one by one; with the next one it is a crowd."""

_SLICES = 12
_SLICE_S = 5.0
CALM_AFTER_S = 600.0  # a flood is over so long after its last sign


@dataclass(slots=True)
class _Account:
    slices: list[int] = field(default_factory=lambda: [0] * _SLICES)
    slice: int = 0  # which slice of time the last one counts
    crowded_at_s: float | None = None  # when strangers came in numbers last

    def count(self, now_slice: int, more: int) -> int:
        """Add to the present slice; how many the last minute has."""
        for passed in range(self.slice + 1, min(now_slice, self.slice + _SLICES) + 1):
            self.slices[passed % _SLICES] = 0
        self.slice = max(self.slice, now_slice)
        self.slices[self.slice % _SLICES] += more
        return sum(self.slices)


class FloodWatch:
    """The strangers of every account. As many accounts are kept as are configured."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        """`clock_s` is monotonic, in seconds."""
        self._clock_s = clock_s
        self._accounts: dict[str, _Account] = {}

    def count_request(self, account: str) -> bool:
        """Count a stranger's message; whether there are so many that it is a flood."""
        return self._count(account, 1) >= ASKS_PER_MIN

    def is_crowded(self, account: str) -> bool:
        """Strangers come in numbers; whether that is news."""
        held, now_s = self._accounts.setdefault(account, _Account()), self._clock_s()
        before_s, held.crowded_at_s = held.crowded_at_s, now_s
        return before_s is None or now_s - before_s >= CALM_AFTER_S

    def floods(self) -> Mapping[str, int]:
        """Accounts where strangers come in numbers, with their messages in the last minute."""
        now_s = self._clock_s()
        return {
            account: self._count(account, 0)
            for account, held in self._accounts.items()
            if held.crowded_at_s is not None and now_s - held.crowded_at_s < CALM_AFTER_S
        }

    def _count(self, account: str, more: int) -> int:
        return self._accounts.setdefault(account, _Account()).count(int(self._clock_s() / _SLICE_S), more)
