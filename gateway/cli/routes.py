"""`tenk usage --routes`: an estimate of what a cheaper model would have saved on simple turns."""

from pathlib import Path
from typing import Any

from agent.config import LinkConfig
from agent.models.facts import facts_of
from agent.prices import TokenPrices
from agent.transcript import Usage
from gateway.cli.client import get
from gateway.cli.prepare import prepare
from gateway.cli.usage import calls_text
from gateway.errors import GatewayError


def report(days: int, light: str | None, config_path: Path | None) -> list[str]:
    """Return the estimate for `[model.light]` or another model.

    Raises:
        GatewayError: no cheaper model is named, or its prices are unknown.
    """
    link = LinkConfig(name=light) if light else prepare(config_path).model.light
    if link is None:
        raise GatewayError("name the cheaper model: --light openai:NAME, or set [model.light]")
    prices = facts_of(link.name, link).prices
    if prices is None:
        raise GatewayError(f"the prices of {link.name} are unknown: set [model.light.prices]")
    return route_lines(get(config_path, "usage", "routes", days=days), link.name, prices, days)


def route_lines(sums: dict[str, Any], name: str, prices: TokenPrices, days: int) -> list[str]:
    """Return how many turns were simple, what they cost, and what they would have cost at these prices."""
    light, main = sums["light"], sums["main"]
    turns, cost = light["turns"] + main["turns"], light["cost_microusd"] + main["cost_microusd"]
    if not turns:
        return ["No turn was recorded."]
    kinds = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    would = prices.without_tiers().cost_microusd(Usage(*(light[kind] for kind in kinds))) or 0
    less = light["cost_microusd"] - would
    lines = [f"Turns in the last {days} days: {turns}. Simple turns that would go to {name}: {light['turns']}."]
    if cost:
        which = "less" if less >= 0 else "more"
        lines += [
            f"They cost {_usd(light['cost_microusd'])}; at its prices they would have cost {_usd(would)}.",
            f"That is {_usd(abs(less))} {which}, {100 * abs(less) // cost} % of {_usd(cost)} for all turns.",
            "This assumes the same number of tokens, and as many of them cached.",
        ]
    if unpriced := light["unpriced"] + main["unpriced"]:
        lines.append(f"Not included: {calls_text(unpriced)} of unknown cost. Set [model.prices] to price later calls.")
    return lines


def _usd(cost_microusd: int) -> str:
    return f"${cost_microusd / 1_000_000:.6f}"
