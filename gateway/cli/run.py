"""`tenk run`: the gateway in the foreground."""

import asyncio
import sys
from pathlib import Path

import click

from gateway.app import serve
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option


@click.command("run")
@config_option
def command(config_path: Path | None) -> None:
    """Run the gateway until it is told to stop (SIGTERM, Ctrl-C). What could be set next is said in plain sentences."""
    settings = prepare(config_path, level=None)
    for hint in settings.hints():
        click.echo(hint)
    asyncio.run(serve(settings, show=click.echo if sys.stdout.isatty() else None))
