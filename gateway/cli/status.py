"""`tenk status`: how a running gateway is doing."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import click
from pydantic import JsonValue

from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.cli.tables import json_option
from gateway.config.settings import Settings
from gateway.ops import control_client

NOT_RUNNING = 3
"""The exit status where no gateway runs, as init systems have it."""


@click.command("status")
@json_option
@config_option
def command(as_json: bool, config_path: Path | None) -> None:
    """Show parts, queues and open requests of the gateway on this home. Exit status 3: none runs."""
    settings = prepare(config_path)
    running, answer = asyncio.run(gateway_status(settings))
    if as_json:
        click.echo(json.dumps({"running": running} | answer, ensure_ascii=False))
    else:
        click.echo(f"{'A gateway runs' if running else 'No gateway runs'} on {settings.home}.")
        for line in lines_of(answer):
            click.echo(line)
    if not running:
        sys.exit(NOT_RUNNING)


async def gateway_status(settings: Settings) -> tuple[bool, dict[str, JsonValue]]:
    """Whether a gateway runs on this home, and its answer to `status`; else what its store holds, if there is one."""
    try:
        answer = await control_client.call(settings.control_path, "status", {})
        return True, answer if isinstance(answer, dict) else {"status": answer}
    except control_client.NobodyAnswers:
        from gateway.cli.client import stored_status  # noqa: PLC0415  the store takes as long to load as all the rest

        return False, await stored_status(settings)


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
