"""`tenk status`: the status of the gateway. It runs often, so it imports little if a gateway runs."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from gateway.cli.client import home_of, tenant_option
from gateway.cli.root import config_option, load
from gateway.cli.tables import json_option, json_text
from gateway.operators.client import NoGateway, ask
from gateway.safety.private_files import check_home
from gateway.safety.redaction import escape_controls

NOT_RUNNING = 3
"""Exit status if no gateway runs, as init systems expect."""


@click.command("status")
@json_option
@config_option
def command(as_json: bool, config_path: Path | None) -> None:
    """Show the gateway's components, queues and open requests. Exit status 3: no gateway is running."""
    home = home_of(config_path, os.environ)
    answer = None if home is None else _answer_of(home)
    if answer is None:
        home, answer = load("gateway.cli.stored_status:configured_status")(config_path, tenant_option())
    running = answer["running"]
    if as_json:
        click.echo(json_text(answer))
    else:
        click.echo(f"{'A gateway is running' if running else 'No gateway is running'} on {home.absolute()}.")
        if not home.exists():
            click.echo("There is no data yet. Run this in the directory of your bot, or set TENK_HOME to its home.")
        for line in lines_of({name: value for name, value in answer.items() if name != "running"}):
            click.echo(line)
    if not running:
        sys.exit(NOT_RUNNING)


def _answer_of(home: Path) -> dict[str, Any] | None:
    """Return the running gateway's status, or None if none runs."""
    check_home(home)
    try:
        answer: dict[str, Any] = ask(home / "control.sock", "GET /v1/status", tenant=tenant_option())
    except NoGateway:
        return None
    return answer


def lines_of(answer: Mapping[str, Any], indent: str = "") -> list[str]:
    """Format a JSON answer for people: one line per value, tables indented, control characters escaped."""
    lines = []
    for key, value in answer.items():
        name = escape_controls(key.replace("_", " "))
        if isinstance(value, dict):
            lines += [f"{indent}{name}:", *lines_of(value, f"{indent}  ")] if value else [f"{indent}{name}: none"]
        elif value not in (None, ""):
            lines.append(f"{indent}{name}: {escape_controls(str(value))}")
    return lines
