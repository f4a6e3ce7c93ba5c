"""One bound on how often: so much at once after a pause, and so much a second. Pure; the clock is given.

Who has a bucket, and what becomes of whoever is refused, is decided where it is kept.
"""

from dataclasses import dataclass


@dataclass(slots=True)
class TokenBucket:
    """What is left of a bound as of an instant."""

    tokens: float
    filled_at_s: float

    def tokens_at(self, now_s: float, most: float, per_s: float) -> float:
        """What is there by now, if nothing is taken meanwhile; `most` at most."""
        return min(most, self.tokens + max(0.0, now_s - self.filled_at_s) * per_s)

    def fill(self, now_s: float, most: float, per_s: float) -> None:
        """Add what has come since it was filled last."""
        self.tokens, self.filled_at_s = self.tokens_at(now_s, most, per_s), now_s

    def acquire(self, weight: float, per_s: float) -> float:
        """Take so much; 0.0, or the seconds until there is enough. What is refused costs nothing."""
        if self.tokens < weight:
            return (weight - self.tokens) / per_s
        self.tokens -= weight
        return 0.0

    def give_back(self, weight: float, most: float) -> None:
        """What was taken came to nothing."""
        self.tokens = min(most, self.tokens + weight)
