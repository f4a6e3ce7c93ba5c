"""`tenk reload`: makes the running gateway reload its configuration, like SIGHUP."""

import os
from pathlib import Path
from typing import Any

import click

from gateway.cli.client import DEFAULT_HOME, home_of
from gateway.cli.root import config_option
from gateway.operators.client import ask
from gateway.safety.private_files import check_home

NOTHING = "No setting changed that a reload can apply. MCP servers that are down and hooks that hung are tried again."


@click.command("reload")
@config_option
def command(config_path: Path | None) -> None:
    """Reload access, limits, prices, agents, personas, channels and models. Running turns keep their old settings.

    If the new configuration is invalid, the gateway keeps the old one and tells the owners in their chats.
    """
    home = home_of(config_path, os.environ) or DEFAULT_HOME  # the gateway says what is wrong with the file, and to whom
    check_home(home)
    answer = ask(home / "control.sock", "POST /v1/reload")
    for line in lines_of(answer):
        click.echo(line)


def lines_of(answer: Any) -> list[str]:
    """Return which changed keys are in force and which wait for the next start, with the defaults that apply again."""
    back = {key: f"{key} (back at its default: {value})" for key, value in answer["defaults"].items()}
    now, later = (", ".join(back.get(key, key) for key in answer[keys]) for keys in ("in_force", "next_start"))
    lines = [f"Now in force: {now}." if now else NOTHING]
    return [*lines, f"After the next start: {later}."] if later else lines
