"""`tenk usage`: what the models were used for, and what that cost."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from gateway.cli.client import ask, printable
from gateway.cli.root import config_option

CHART_DAYS = 14
BAR_CHARS = 40

Rows = Sequence[dict[str, Any]]


@click.command("usage")
@click.option("--days", type=click.IntRange(1, 366), default=7, show_default=True, help="How far to look back.")
@config_option
def command(days: int, config_path: Path | None) -> None:
    """Show calls, tokens and cost by UTC day, person and model, as far as they are known, and a chart of 14 days."""
    rows = ask(config_path, "usage", {"days": str(days)})
    if not rows:
        click.echo("No model was used.")
    for row in rows:
        tokens = f"{row['input_tokens']} tokens in ({row['cache_read_tokens']} cached), {row['output_tokens']} out"
        thrown_away = (
            f"; {row['discarded']} thrown away, {row['estimated']} of all estimated" if row["discarded"] else ""
        )
        who = f"{row['day']}  {printable(row['name'])}  {row['model']}"
        click.echo(f"{who}  {_calls(row['calls'])}{thrown_away}  {tokens}  {cost_text([row])}")
    recent: Rows = ask(config_path, "usage", {"days": str(CHART_DAYS)})
    if recent:
        click.echo(f"\nTokens in and out, and cost, in the last {CHART_DAYS} days (UTC):")
        click.echo("\n".join(chart(recent, datetime.now(UTC).date())))


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
