"""Costs in whole microdollars; a price in USD per million tokens equals microdollars a token.

Pure. An unknown price gives a cost of None, not 0.
"""

from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal

from agent.transcript import Usage

HOUR_FACTOR = Decimal("1.6")
"""Price of a cache entry that is kept for an hour, as a multiple of the usual entry's (Anthropic: 2.0 and 1.25 times
the price of input, read 2026-11).
"""


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """The price of one kind of token."""

    usd_per_mtok: Decimal
    tiers: tuple[tuple[int, Decimal], ...] = ()  # (input tokens, price), ascending: for calls with more input

    def at(self, input_tokens: int) -> Decimal:
        """Return the USD per million tokens in a call with this input."""
        passed = [price for start, price in self.tiers if input_tokens > start]
        return passed[-1] if passed else self.usd_per_mtok


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """The prices of one model."""

    input: TokenPrice
    output: TokenPrice
    cache_read: TokenPrice | None = None  # None: as other input
    cache_write: TokenPrice | None = None  # None: as other input

    @property
    def dearest_usd_per_mtok(self) -> Decimal:
        """Return the highest price of any token, in a call of any size."""
        kinds = [kind for kind in (self.input, self.output, self.cache_read, self.cache_write) if kind is not None]
        return max(price for kind in kinds for price in (kind.usd_per_mtok, *(tier for _, tier in kind.tiers)))

    def without_tiers(self) -> "TokenPrices":
        """Return the prices without tiers, for sums of many calls whose sizes are unknown."""
        four = (self.input, self.output, self.cache_read, self.cache_write)
        given, written, *cached = (None if each is None else replace(each, tiers=()) for each in four)
        return TokenPrices(given or self.input, written or self.output, *cached)

    @classmethod
    def flat(cls, usd_per_mtok: Decimal) -> "TokenPrices":
        """Return the same price for every token."""
        return cls(TokenPrice(usd_per_mtok), TokenPrice(usd_per_mtok))

    def cost_microusd(self, used: Usage) -> int | None:
        """Return the cost of a call, rounded up; None if input or output was not counted."""
        if used.input_tokens is None or used.output_tokens is None:
            return None
        whole = used.input_tokens
        read = min(used.cache_read_tokens or 0, whole)
        written = min(used.cache_write_tokens or 0, whole - read)
        for_an_hour = min(used.cache_write_hour_tokens or 0, written) if self.cache_write is not None else 0
        cost = (
            (whole - read - written) * self.input.at(whole)
            + read * (self.cache_read or self.input).at(whole)
            + (written - for_an_hour + for_an_hour * HOUR_FACTOR) * (self.cache_write or self.input).at(whole)
            + used.output_tokens * self.output.at(whole)
        )
        return int(cost.to_integral_value(ROUND_CEILING))
