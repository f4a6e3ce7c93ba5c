"""`tenk sim`: a simulated platform on its own, to try a bot without the real one."""

import asyncio
import contextlib

import click

from channels.simulators.serve import PORTS, serve, typed_lines
from gateway.errors import GatewayError

_DEFAULTS = ", ".join(f"{port} for {platform}" for platform, port in PORTS.items())


async def _serve(platform: str, port: int) -> None:
    """Serve until cancelled; at a terminal, what is typed is said to the bot.

    Raises:
        GatewayError: the port is taken.
    """
    try:
        await serve(platform, port=port, lines=typed_lines())
    except OSError as error:
        raise GatewayError(f"port {port} cannot be used ({error.strerror}); give another with --port") from error


@click.command("sim")
@click.argument("platform", type=click.Choice(list(PORTS)))
@click.option("--port", type=click.IntRange(0, 65_535), help=f"0 takes a free one; without: {_DEFAULTS}.")
def command(platform: str, port: int | None) -> None:
    """Run a simulated platform that only this machine reaches; every token is taken for a bot's."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(platform, PORTS[platform] if port is None else port))
