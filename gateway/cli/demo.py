"""`tenk demo`: the product shown on this machine alone."""

import sys

import click


@click.command("demo")
def command() -> None:
    """Start the gateway and a simulated Telegram, and play a short story with narration."""
    from gateway.demo.main import main  # noqa: PLC0415  heavy: the whole gateway and the simulator

    sys.exit(main())
