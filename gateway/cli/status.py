"""`tenk status`: how a running gateway is doing."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import click

from gateway.cli.options import config_option

NOT_RUNNING = 3
"""The exit status where no gateway runs, as init systems have it."""


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@config_option
def command(as_json: bool, config_path: Path | None) -> None:
    """Show parts, queues and open requests of the gateway on this home. Exit status 3: none runs."""
    from gateway.cli.prepare import prepare  # noqa: PLC0415  heavy: every room's config model
    from gateway.cli.standing import standing  # noqa: PLC0415  heavy: the store

    settings = prepare(config_path)
    running, answer = asyncio.run(standing(settings))
    if as_json:
        click.echo(json.dumps({"running": running} | answer, ensure_ascii=False))
    else:
        click.echo(f"{'A gateway runs' if running else 'No gateway runs'} on {settings.home}.")
        for line in lines_of(answer):
            click.echo(line)
    if not running:
        sys.exit(NOT_RUNNING)


def lines_of(answer: dict[str, Any], indent: str = "") -> list[str]:
    """A JSON answer for people: a line a value, tables indented."""
    lines = []
    for key, value in answer.items():
        name = key.replace("_", " ")
        if isinstance(value, dict):
            lines += [f"{indent}{name}:", *lines_of(value, f"{indent}  ")] if value else [f"{indent}{name}: none"]
        elif value not in (None, ""):
            lines.append(f"{indent}{name}: {value}")
    return lines
