"""`tenk console`: a link that opens the running gateway's console in a browser."""

from pathlib import Path

import click

from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.operators.client import ask


@click.command("console")
@config_option
def command(config_path: Path | None) -> None:
    """Print a link to the console. It works once, within ten minutes. The gateway must be running."""
    answer = ask(prepare(config_path).control_path, "POST /v1/console")
    click.echo(answer["link"])
