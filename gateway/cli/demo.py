"""`tenk demo`: the product shown on this machine alone."""

import sys
from pathlib import Path

import click

from gateway.demo.main import main


@click.command("demo")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False, writable=True), help="Draw a picture of it too.")
def command(svg: Path | None) -> None:
    """Start the gateway with a simulated Telegram, Slack and Discord, and play a short story with narration."""
    sys.exit(main(svg))
