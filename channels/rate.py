"""A token bucket: a burst after a pause, and a rate a second. Pure; the caller passes the time."""

from dataclasses import dataclass


@dataclass(slots=True)
class TokenBucket:
    """The tokens of a bucket at an instant."""

    tokens: float
    filled_at_s: float

    def tokens_at(self, now_s: float, most: float, per_s: float) -> float:
        """Return the tokens at a time, if none is taken meanwhile; at most `most`."""
        return min(most, self.tokens + max(0.0, now_s - self.filled_at_s) * per_s)

    def fill(self, now_s: float, most: float, per_s: float) -> None:
        """Add the tokens since the last fill."""
        self.tokens, self.filled_at_s = self.tokens_at(now_s, most, per_s), now_s

    def acquire(self, weight: float, per_s: float) -> float:
        """Take tokens and return 0.0, or return the seconds until there are enough; a refusal takes none."""
        if self.tokens < weight:
            return (weight - self.tokens) / per_s
        self.tokens -= weight
        return 0.0

    def give_back(self, weight: float, most: float) -> None:
        """Return the tokens of a failed action."""
        self.tokens = min(most, self.tokens + weight)
