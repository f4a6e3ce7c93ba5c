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
    home, answer = _status_of(config_path)
    running = answer.pop("running")
    if as_json:
        click.echo(json_text({"running": running} | answer))
    else:
        click.echo(f"{'A gateway is running' if running else 'No gateway is running'} on {home.absolute()}.")
        lines = lines_of(answer) or ["There is no data. Run this where your bot was started, or set TENK_HOME."]
        click.echo("\n".join(lines))
    if not running:
        sys.exit(NOT_RUNNING)


def _status_of(config_path: Path | None) -> tuple[Path, dict[str, Any]]:
    """Return the home and its status."""
    home = home_of(config_path, os.environ)
    if home is not None and (answer := _answer_of(home)) is not None:
        return home, answer
    stored: tuple[Path, dict[str, Any]] = load("gateway.cli.stored_status:configured_status")(
        config_path, tenant_option()
    )
    return stored


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
