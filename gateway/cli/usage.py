"""`tenk usage`: what the models were used for, and what that cost."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from agent.config import LinkConfig
from agent.models.facts import facts_of
from agent.prices import TokenPrices
from agent.transcript import Usage
from gateway.cli.client import look
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.cli.tables import Columns, json_option, print_rows
from gateway.errors import GatewayError
from gateway.safety.names import short

CHART_DAYS = 14
BAR_CHARS = 40

Rows = Sequence[dict[str, Any]]

COLUMNS: Columns = {
    "day (utc)": "day",
    "id": lambda row: short(row["user"]),
    "person": "name",
    "model": "model",
    "calls": "calls",
    "thrown away": "discarded",
    "estimated": "estimated",
    "tokens in": "input_tokens",
    "cached": "cache_read_tokens",
    "out": "output_tokens",
    "cost": lambda row: cost_text([dict(row)]),
}


@click.command("usage")
@click.option("--days", type=click.IntRange(1, 366), default=7, show_default=True, help="How far to look back.")
@click.option("--routes", is_flag=True, help="Show what [model.light] would have saved, or --light another model.")
@click.option("--light", metavar="NAME", help="A cheaper model to reckon with: openai:NAME or anthropic:NAME.")
@json_option
@config_option
def command(days: int, routes: bool, light: str | None, as_json: bool, config_path: Path | None) -> None:
    """Show calls, tokens and cost by UTC day, person and model, as far as they are known, and a chart of 14 days."""
    if routes or light:
        click.echo("\n".join(_routes(days, light, config_path)))
        return
    rows = look(config_path, "usage", {"days": str(days)})
    print_rows(rows, COLUMNS, "No model was used.", as_json=as_json)
    if as_json:
        return
    recent: Rows = look(config_path, "usage", {"days": str(CHART_DAYS)})
    if recent:
        click.echo(f"\nTokens in and out, and cost, in the last {CHART_DAYS} days (UTC):")
        click.echo("\n".join(chart(recent, datetime.now(UTC).date())))


def _routes(days: int, light: str | None, config_path: Path | None) -> list[str]:
    link = LinkConfig(name=light) if light else prepare(config_path).model.light
    if link is None:
        raise GatewayError("say which cheaper model to reckon with: --light openai:NAME, or set [model.light]")
    prices = facts_of(link.name, link).prices
    if prices is None:
        raise GatewayError(f"nobody knows what {link.name} costs: set [model.light.prices]")
    return route_lines(look(config_path, "usage.routes", {"days": str(days)}), link.name, prices, days)


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
        lines.append(f"Not in it: {_calls(unpriced)} of unknown cost; [model.prices] says what later ones cost.")
    return lines


def _usd(cost_microusd: int) -> str:
    return f"${cost_microusd / 1_000_000:.6f}"


def cost_text(rows: Rows) -> str:
    """What these calls cost, as far as it is known."""
    known = [row["cost_microusd"] for row in rows if row["cost_microusd"] is not None]
    unpriced = sum(row["unpriced"] for row in rows)
    if not known:
        return "cost unknown" if unpriced else "$0"
    return f"${sum(known) / 1_000_000:.6f}" + (f" and {_calls(unpriced)} of unknown cost" if unpriced else "")


def _calls(count: int) -> str:
    return f"{count} call{'' if count == 1 else 's'}"


def chart(rows: Rows, today: date) -> list[str]:
    """A line for each of the last days, oldest first: a bar for its tokens, the longest day's the longest."""
    by_day: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_day[row["day"]].append(row)
    days = [(today - timedelta(days=back)).isoformat() for back in reversed(range(CHART_DAYS))]
    tokens = {day: sum(row["input_tokens"] + row["output_tokens"] for row in by_day[day]) for day in days}
    most = max(tokens.values()) or 1
    return [
        f"{day}  {'█' * -(-tokens[day] * BAR_CHARS // most):{BAR_CHARS}}  {tokens[day]:>12,}  {cost_text(by_day[day])}"
        for day in days
    ]
