"""`tenk status`: how a running gateway is doing. Asked often, so it loads next to nothing where one runs."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from gateway.cli.client import home_of, tenant_option
from gateway.cli.root import config_option, load
from gateway.cli.tables import json_option, json_text
from gateway.operators.client import NobodyAnswers, ask
from gateway.safety.private_files import check_home
from gateway.safety.redaction import escape_controls

NOT_RUNNING = 3
"""The exit status where no gateway runs, as init systems have it."""


@click.command("status")
@json_option
@config_option
def command(as_json: bool, config_path: Path | None) -> None:
    """Show parts, queues and open requests of the gateway on this home. Exit status 3: none runs."""
    home = home_of(config_path, os.environ)
    answer = None if home is None else _answer_of(home)
    if answer is None:
        home, answer = load("gateway.cli.stored_status:configured_status")(config_path, tenant_option())
    running = answer["running"]
    if as_json:
        click.echo(json_text(answer))
    else:
        click.echo(f"{'A gateway runs' if running else 'No gateway runs'} on {home}.")
        for line in lines_of({name: value for name, value in answer.items() if name != "running"}):
            click.echo(line)
    if not running:
        sys.exit(NOT_RUNNING)


def _answer_of(home: Path) -> dict[str, Any] | None:
    """Return what the gateway on this home says; None if none runs."""
    check_home(home)
    try:
        answer: dict[str, Any] = ask(home / "control.sock", "GET /v1/status", tenant=tenant_option())
    except NobodyAnswers:
        return None
    return answer


def lines_of(answer: Mapping[str, Any], indent: str = "") -> list[str]:
    """A JSON answer for people: a line a value, tables indented; nothing in it moves the cursor (A67)."""
    lines = []
    for key, value in answer.items():
        name = escape_controls(key.replace("_", " "))
        if isinstance(value, dict):
            lines += [f"{indent}{name}:", *lines_of(value, f"{indent}  ")] if value else [f"{indent}{name}: none"]
        elif value not in (None, ""):
            lines.append(f"{indent}{name}: {escape_controls(str(value))}")
    return lines
