"""The cost of model calls: an amount is reserved before a call and settled after it.

The gateway counts per person and tenant; this module computes the cost of a call and is pure.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from agent.bounded import Interrupted
from agent.prices import TokenPrices
from agent.transcript import EndReason, Usage


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens and cost of a call."""

    tokens: int = 0  # input and output
    microusd: int = 0  # 0 if the price is unknown: only tokens count then


class OverBudget(Interrupted):
    """A cap is reached: the call was not made, and the turn ends."""

    def __init__(self, reason: EndReason, scope: str, resets_at: datetime | None) -> None:
        """`scope` is the cap's owner: turn, user, channel, tenant or day; `resets_at` is None for a turn's own cap."""
        super().__init__(reason)
        self.scope = scope
        self.resets_at = resets_at


class Hold(Protocol):
    """The amount that is reserved for one call."""

    @property
    def granted(self) -> Spending:
        """Return the reserved amount; the call must not spend more."""
        ...

    def settle(self, spent: Spending) -> None:
        """Replace the reserved amount by the real one, without waiting. A hold that is never settled counts in full."""
        ...


class Budget(Protocol):
    """The budget of the user for whom a turn runs."""

    async def reserve(self, most: Spending, least: Spending | None = None) -> Hold:
        """Reserve `most`, or what is left, in every cap that applies to the call; if one refuses, reserve in none.

        Raises:
            OverBudget: a cap has no room for `least` (None: `most`).
        """
        ...


def most_of(prices: TokenPrices | None, input_tokens: int, output_tokens: int, lasting_tokens: int = 0) -> Spending:
    """Return the highest cost of a call: all of its output, and its input at the highest input price.

    `lasting_tokens` of the input may be written to the provider's cache for an hour.
    """
    ways = (
        Usage(input_tokens, output_tokens),
        Usage(input_tokens, output_tokens, cache_write_tokens=input_tokens, cache_write_hour_tokens=lasting_tokens),
    )
    costs = [0 if prices is None else prices.cost_microusd(used) or 0 for used in ways]
    return Spending(input_tokens + output_tokens, max(costs))


def output_within(granted: Spending, prices: TokenPrices | None, input_tokens: int, lasting_tokens: int = 0) -> int:
    """Return the output tokens that fit the granted amount beside this input; 0 if none do."""
    by_tokens = granted.tokens - input_tokens
    price = Decimal(0) if prices is None else prices.output.at(input_tokens)
    if price == 0:
        return max(0, by_tokens)
    left = granted.microusd - most_of(prices, input_tokens, 0, lasting_tokens).microusd - 1  # costs are rounded up
    return max(0, min(by_tokens, int(left / price)))


def spent_of(prices: TokenPrices | None, used: Usage, estimated: Usage) -> Spending:
    """Return the cost of a call as its provider counted it, or our estimate if it did not count."""
    counted = estimated if used.input_tokens is None or used.output_tokens is None else used
    cost = used.cost_microusd
    if cost is None:
        cost = 0 if prices is None else prices.cost_microusd(counted)
    return Spending((counted.input_tokens or 0) + (counted.output_tokens or 0), cost or 0)
