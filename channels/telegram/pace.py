"""How soon a poll may follow the one before: at once, but where polls come back at once with nothing. Pure.

A long poll is answered with updates, or after its timeout without. A server that does neither (a bare stand-in, a proxy
that answers from its cache, an update that cannot be confirmed) would be asked thousands of times a second.
"""

from collections.abc import Callable

LADDER_S = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
"""After so many polls in a row that came back too soon; one alone may be a hiccup. The last one repeats."""

SOON_S = 1.0  # polls that take longer than this burden nobody


class Pace:
    """The polls of one bot."""

    def __init__(self, timeout_s: float, now_s: Callable[[], float]) -> None:
        """`timeout_s` is what a poll without updates should take; `now_s` is monotonic."""
        self._soon_s = min(SOON_S, timeout_s / 2)
        self._now_s = now_s
        self._asked_s = now_s()
        self._idle = 0  # polls in a row that came back too soon

    def asked(self) -> None:
        """A poll begins."""
        self._asked_s = self._now_s()

    def rest_s(self, *, moved: bool) -> float:
        """The pause before the next one; `moved`: this one brought updates that are behind us now."""
        soon = not moved and self._now_s() - self._asked_s < self._soon_s
        self._idle = self._idle + 1 if soon else 0
        return LADDER_S[min(self._idle, len(LADDER_S)) - 1] if soon else 0.0
