"""`tenk reload`: the running gateway reads its configuration again; SIGHUP does the same."""

import os
from pathlib import Path
from typing import Any

import click

from gateway.cli.client import home_of
from gateway.cli.root import config_option
from gateway.operators.client import ask
from gateway.safety.private_files import check_home

DEFAULT_HOME = Path("var")


@click.command("reload")
@config_option
def command(config_path: Path | None) -> None:
    """Have it read again: access, limits, prices, personas, channels and models. A turn under way ends as it began.

    Where the file cannot be used, what is in force stays so, and owners are told in their chats.
    """
    home = home_of(config_path, os.environ) or DEFAULT_HOME  # the gateway says what is wrong with the file, and to whom
    check_home(home)
    answer = ask(home / "control.sock", "POST /v1/reload")
    for line in lines_of(answer):
        click.echo(line)


def lines_of(answer: Any) -> list[str]:
    """What became of the changed keys, for people."""
    now, later = ", ".join(answer["in_force"]), ", ".join(answer["next_start"])
    lines = [f"In force now: {now}." if now else "Nothing that can change while it runs has changed."]
    return [*lines, f"With the next start: {later}."] if later else lines
