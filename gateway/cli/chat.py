"""`tenk chat`: a conversation in this terminal."""

import asyncio
import sys
from pathlib import Path

import click

from gateway.cli.options import config_option


@click.command("chat")
@click.option("--print", "text", metavar="TEXT", help="Say TEXT, print the answer, and end.")
@config_option
def command(text: str | None, config_path: Path | None) -> None:
    """Talk to the bot from here: to the gateway that runs on this home, else to one started for the while.

    Without a terminal the lines of the input are said and the answers printed.
    """
    from gateway.cli.prepare import prepare  # noqa: PLC0415  heavy: every room's config model
    from gateway.cli.terminal import chat  # noqa: PLC0415  heavy: asyncio and the socket

    settings = prepare(config_path)
    try:
        asyncio.run(chat(settings, text))
    except KeyboardInterrupt:
        sys.stdout.write("\n")
