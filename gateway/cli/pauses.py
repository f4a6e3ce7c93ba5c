"""`tenk pause` and `tenk resume`: let the agents rest while messages wait, and answer them afterwards."""

from pathlib import Path

import click

from gateway.cli.client import post
from gateway.cli.root import config_option


@click.command("pause")
@config_option
def pause(config_path: Path | None) -> None:
    """Answer no message until `tenk resume`. Messages wait, and their senders are told once.

    A turn that runs goes on to its end; `/stop` ends it. Commands such as /log and /stats still work. A restart changes
    nothing.
    """
    changed = post(config_path, "pause")["changed"]
    click.echo("Paused. `tenk resume` answers what waits." if changed else "It is paused already.")


@click.command("resume")
@config_option
def resume(config_path: Path | None) -> None:
    """Answer messages again after `tenk pause`, the ones that waited first."""
    changed = post(config_path, "resume")["changed"]
    click.echo("Resumed: messages are answered again." if changed else "It was not paused.")
