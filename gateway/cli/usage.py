"""`tenk usage`: what the models were used for."""

from pathlib import Path

import click

from gateway.cli.client import ask, printable
from gateway.cli.root import config_option


@click.command("usage")
@click.option("--days", type=click.IntRange(1, 366), default=7, show_default=True, help="How far to look back.")
@config_option
def command(days: int, config_path: Path | None) -> None:
    """Show calls and tokens by UTC day, person and model, as far as the providers counted them."""
    rows = ask(config_path, "usage", {"days": str(days)})
    if not rows:
        click.echo("No model was used.")
    for row in rows:
        tokens = f"{row['input_tokens']} tokens in ({row['cache_read_tokens']} cached), {row['output_tokens']} out"
        thrown_away = (
            f"; {row['discarded']} thrown away, {row['estimated']} of all estimated" if row["discarded"] else ""
        )
        click.echo(
            f"{row['day']}  {printable(row['name'])}  {row['model']}  {row['calls']} calls{thrown_away}  {tokens}"
        )
