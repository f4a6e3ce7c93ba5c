"""`tenk console`: a link that opens the running gateway's console in a browser."""

from pathlib import Path

import click

from gateway.cli.client import ask
from gateway.cli.root import config_option


@click.command("console")
@config_option
def command(config_path: Path | None) -> None:
    """Print a link that opens the console once, within ten minutes; the gateway has to run."""
    click.echo(ask(config_path, "console.link", {})["link"])
