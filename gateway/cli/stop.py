"""`tenk stop`: stops the running gateway, like SIGTERM."""

import os
from pathlib import Path

import click

from gateway.cli.client import DEFAULT_HOME, get, home_of, tenant_option
from gateway.cli.root import config_option
from gateway.errors import AlreadyRunning, GatewayError, SettingsError
from gateway.operators.client import NoGateway, ask
from gateway.ops.lock import HomeLock
from gateway.safety.private_files import check_home

MARGIN_S = 15.0
"""Seconds beyond the time for running turns after which a stop is taken for hung."""


@click.command("stop")
@config_option
def command(config_path: Path | None) -> None:
    """Stop the running gateway, and wait until it has ended.

    Running turns have some seconds to end (`drain_s` in [sessions]). Nothing is lost: what waits is answered after the
    next start.
    """
    home = home_of(config_path, os.environ) or DEFAULT_HOME
    check_home(home)
    try:
        answer = ask(home / "control.sock", "POST /v1/stop", tenant=tenant_option())
    except NoGateway:
        raise GatewayError(f"no gateway is running on {home.absolute()}") from None
    drain_s, process = answer["drain_s"], answer["process"]
    click.echo(f"Process {process} is stopping; running turns have {drain_s:g} s to end ...")
    try:
        with HomeLock(home, wait_s=drain_s + MARGIN_S):
            pass
    except AlreadyRunning:
        raise GatewayError(f"process {process} still runs; `kill -9 {process}` ends it, and nothing is lost") from None
    click.echo("Stopped.")
    _echo_what_waits(config_path)
    if answer["managed"]:
        click.echo("A service manager runs it, and may start it again: use `systemctl stop` there.")


def _echo_what_waits(config_path: Path | None) -> None:
    try:
        left = get(config_path, "status")
    except SettingsError as error:
        click.echo(f"What waits is not known: {error}")
        return
    unsent = sum((left["outbox"] or {}).get(state, 0) for state in ("ready", "sending"))
    if left["inbox_open"] or unsent:
        click.echo(f"Messages without an answer: {left['inbox_open']}; parts to send: {unsent}.")
        click.echo("The next start goes on with them.")
