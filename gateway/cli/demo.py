"""`tenk demo`, `tenk playground` and `tenk sim`: demonstrations on simulated platforms."""

import asyncio
import contextlib
import signal
import sys

import click

from channels.simulators.serve import PORTS, serve, typed_lines
from gateway.demo.main import main
from gateway.demo.playground import PORT
from gateway.demo.playground import serve as serve_playground
from gateway.errors import GatewayError


@click.command("demo")
def command() -> None:
    """Start a gateway with simulated Telegram, Slack and Discord, and play a short narrated demonstration."""
    sys.exit(main())


@click.command("playground")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True, help="Port; 0 picks a free one."
)
@click.option("--attached", is_flag=True, hidden=True, help="End with the input, as the gateway wants it.")
def playground(port: int, attached: bool) -> None:
    """Serve a web page with simulated Telegram, Discord and Slack, where you write as a user and as the owner.

    The page shows each platform's traffic. You can cut a connection or kill the gateway and watch it recover.
    """
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(_serve_page(port, attached=attached))


async def _serve_page(port: int, *, attached: bool) -> None:
    serving = asyncio.current_task()
    if serving is not None:
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(signum, serving.cancel)
    await serve_playground(port, click.echo, attached=attached)


_PORTS = ", ".join(f"{port} for {platform}" for platform, port in PORTS.items())


async def _serve_platform(platform: str, port: int) -> None:
    """Serve until cancelled. Send lines typed at a terminal to the bot.

    Raises:
        GatewayError: the port is taken.
    """
    try:
        await serve(platform, port=port, lines=typed_lines())
    except OSError as error:
        raise GatewayError(f"port {port} cannot be used ({error.strerror}); give another with --port") from error


@click.command("sim")
@click.argument("platform", type=click.Choice(list(PORTS)))
@click.option("--port", type=click.IntRange(0, 65_535), help=f"Port; 0 picks a free one. Default: {_PORTS}.")
def sim(platform: str, port: int | None) -> None:
    """Run a simulated platform on this machine. It accepts any token."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve_platform(platform, PORTS[platform] if port is None else port))
