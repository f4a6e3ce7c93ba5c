"""`tenk console`: a link that opens the running gateway's console in a browser, and the end of every session."""

from pathlib import Path

import click

from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.operators.client import ask


@click.command("console")
@click.option("--revoke", is_flag=True, help="Sign out every browser that has the console open, and end unused links.")
@config_option
def command(revoke: bool, config_path: Path | None) -> None:
    """Print a link to the console. It works once, within ten minutes. The gateway must be running.

    The browser that opens it stays signed in for seven days, until it signs out or --revoke ends all sessions.
    """
    socket = prepare(config_path).control_path
    if revoke:
        ended = ask(socket, "POST /v1/console/close")["sessions"]
        click.echo(f"{ended} {'session' if ended == 1 else 'sessions'} of the console ended.")
    else:
        click.echo(ask(socket, "POST /v1/console")["link"])
