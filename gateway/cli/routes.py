"""What a cheaper model would have saved for turns that ask little, for `tenk usage`. Heavy: it knows models' prices."""

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
    """By `[model.light]`, or by another model.

    Raises:
        GatewayError: no cheaper model is named, or nobody knows what it costs.
    """
    link = LinkConfig(name=light) if light else prepare(config_path).model.light
    if link is None:
        raise GatewayError("say which cheaper model to reckon with: --light openai:NAME, or set [model.light]")
    prices = facts_of(link.name, link).prices
    if prices is None:
        raise GatewayError(f"nobody knows what {link.name} costs: set [model.light.prices]")
    return route_lines(get(config_path, "usage", "routes", days=days), link.name, prices, days)


def route_lines(sums: dict[str, Any], name: str, prices: TokenPrices, days: int) -> list[str]:
    """The report: how many turns ask little, what they cost, and what they would have cost at these prices."""
    light, main = sums["light"], sums["main"]
    turns, cost = light["turns"] + main["turns"], light["cost_microusd"] + main["cost_microusd"]
    if not turns:
        return ["No turn was recorded."]
    kinds = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    would = prices.without_tiers().cost_microusd(Usage(*(light[kind] for kind in kinds))) or 0
    less = light["cost_microusd"] - would
    lines = [f"Turns in the last {days} days: {turns}. So many ask little, and would go to {name}: {light['turns']}."]
    if cost:
        which = "less" if less >= 0 else "more"
        lines += [
            f"They cost {_usd(light['cost_microusd'])}; at its prices they would have cost {_usd(would)}.",
            f"That is {_usd(abs(less))} {which}, {100 * abs(less) // cost} % of {_usd(cost)} for all turns.",
            "Reckoned with the same tokens, as many of them cached.",
        ]
    if unpriced := light["unpriced"] + main["unpriced"]:
        lines.append(f"Not in it: {calls_text(unpriced)} of unknown cost; [model.prices] says what later ones cost.")
    return lines


def _usd(cost_microusd: int) -> str:
    return f"${cost_microusd / 1_000_000:.6f}"
