"""`tenk sim`: a simulated platform on its own, to try a bot without the real one."""

import asyncio
import contextlib

import click

from channels.simulators.discord.serve import serve as serve_discord
from channels.simulators.shared.serving import Serve, typed_lines
from channels.simulators.slack.serve import serve as serve_slack
from channels.simulators.telegram.serve import serve as serve_telegram
from gateway.errors import GatewayError

_PLATFORMS: dict[str, Serve] = {"discord": serve_discord, "slack": serve_slack, "telegram": serve_telegram}


async def _serve(platform: str, port: int) -> None:
    """Serve until cancelled; at a terminal, what is typed is said to the bot.

    Raises:
        GatewayError: the port is taken.
    """
    try:
        await _PLATFORMS[platform](port=port, lines=typed_lines())
    except OSError as error:
        raise GatewayError(f"port {port} cannot be used ({error.strerror}); give another with --port") from error


def _run(platform: str, port: int) -> None:
    """Serve until Ctrl-C."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(platform, port))


@click.group("sim")
def command() -> None:
    """Run a simulated platform on this machine."""


@command.command("telegram")
@click.option("--port", type=click.IntRange(0, 65_535), default=8081, show_default=True, help="0 takes a free one.")
def telegram(port: int) -> None:
    """A Telegram that only this machine reaches; every token is taken for a bot's."""
    _run("telegram", port)


@command.command("discord")
@click.option("--port", type=click.IntRange(0, 65_535), default=8082, show_default=True, help="0 takes a free one.")
def discord(port: int) -> None:
    """A Discord that only this machine reaches; every token is taken for a bot's."""
    _run("discord", port)


@command.command("slack")
@click.option("--port", type=click.IntRange(0, 65_535), default=8083, show_default=True, help="0 takes a free one.")
def slack(port: int) -> None:
    """A Slack that only this machine reaches; any xoxb- and xapp- token is taken for the app's."""
    _run("slack", port)
