"""`tenk demo`: the product shown on this machine alone."""

import sys

import click

from gateway.demo.main import main


@click.command("demo")
def command() -> None:
    """Start the gateway with a simulated Telegram, Slack and Discord, and play a short story with narration."""
    sys.exit(main())
