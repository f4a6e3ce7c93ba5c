"""`tenk console`: a link that opens the running gateway's console in a browser."""

from pathlib import Path
from typing import Any

import click

from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.ops import control_client


@click.command("console")
@config_option
def command(config_path: Path | None) -> None:
    """Print a link that opens the console once, within ten minutes; the gateway has to run."""
    answer: Any = control_client.ask(prepare(config_path).control_path, "console.link", {})
    click.echo(answer["link"])
