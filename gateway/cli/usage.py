"""`tenk usage`: model calls, tokens and cost."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from gateway.cli.client import get
from gateway.cli.root import config_option, load
from gateway.cli.tables import Columns, json_option, print_rows
from gateway.safety.names import short

CHART_DAYS = 14
BAR_CHARS = 40
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")

Rows = Sequence[dict[str, Any]]

SUMS: Columns = {
    "calls": "calls",
    "thrown away": "discarded",
    "estimated": "estimated",
    "tokens in": "input_tokens",
    "cached": "cache_read_tokens",
    "out": "output_tokens",
    "cost": lambda row: cost_text([dict(row)]),
}

COLUMNS: Columns = {
    "day (utc)": "day",
    "id": lambda row: short(row["user"]),
    "person": "name",
    "model": "model",
    **SUMS,
}


@click.command("usage")
@click.option("--days", type=click.IntRange(1, 366), default=7, show_default=True, help="Number of days to look back.")
@click.option(
    "--by",
    type=click.Choice(["person", "model", "channel", "day"]),
    help="Sum by person, model, channel account or day instead, the most costly first.",
)
@click.option("--routes", is_flag=True, help="Estimate what the cheaper model of [model.light] would have saved.")
@click.option("--light", metavar="NAME", help="Estimate with this cheaper model: openai:NAME or anthropic:NAME.")
@json_option
@config_option
def command(
    days: int, by: str | None, routes: bool, light: str | None, as_json: bool, config_path: Path | None
) -> None:
    """Show calls, tokens and known cost by UTC day, person and model, and a chart of the last 14 days.

    Answers without a model are no calls. THROWN AWAY counts calls whose answer was not used, such as a second try's;
    ESTIMATED counts calls of which the provider did not say the tokens. Both are in the sums.
    """
    if routes or light:
        click.echo("\n".join(load("gateway.cli.routes:report")(days, light, config_path)))
        return
    if by:
        sums = _fill_in(get(config_path, "usage", "by", days=days, by=by)["rows"])
        columns: Columns = {**({"id": lambda row: short(row["group"])} if by == "person" else {}), by: _group, **SUMS}
        print_rows(sums, columns, "No model calls yet.", as_json=as_json)
        if sums and not as_json:
            click.echo(total_text(sums))
        return
    rows = usage_rows(config_path, days)
    print_rows(rows, COLUMNS, "No model calls yet.", as_json=as_json)
    if as_json:
        return
    recent = usage_rows(config_path, CHART_DAYS)
    if recent:
        click.echo(f"\nTokens in and out, and cost, in the last {CHART_DAYS} days (UTC):")
        click.echo("\n".join(chart(recent, datetime.now(UTC).date())))


def usage_rows(config_path: Path | None, days: int) -> Rows:
    """Return the usage rows of the last days; tokens that a provider did not count are 0."""
    return _fill_in(get(config_path, "usage", days=days)["rows"])


def _fill_in(rows: list[dict[str, Any]]) -> Rows:
    for row in rows:
        row |= {name: row[name] or 0 for name in TOKENS}
        row["unpriced"] = row.pop("unpriced_calls")
    return rows


def _group(row: Mapping[str, Any]) -> str:
    """Return the name of a group; calls beside turns, such as consolidation, have no channel."""
    return row["name"] or "beside turns"


def cost_text(rows: Rows) -> str:
    """Return the known cost of these rows, and how many calls have none."""
    known = [row["cost_microusd"] for row in rows if row["cost_microusd"] is not None]
    unpriced = sum(row["unpriced"] for row in rows)
    if not known:
        return "cost unknown" if unpriced else "$0"
    return f"${sum(known) / 1_000_000:.6f}" + (f" and {calls_text(unpriced)} of unknown cost" if unpriced else "")


def total_text(rows: Rows) -> str:
    """Return the calls and the known cost of all rows."""
    return f"Together: {calls_text(sum(row['calls'] for row in rows))}, {cost_text(rows)}."


def calls_text(count: int) -> str:
    return f"{count} call{'' if count == 1 else 's'}"


def chart(rows: Rows, today: date) -> list[str]:
    """Return a line with a bar of tokens for each of the last days, oldest first."""
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
