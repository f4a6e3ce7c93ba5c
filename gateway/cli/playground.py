"""`tenk playground`: the three simulated platforms on one page, with a gateway that may be killed."""

import asyncio
import contextlib
import signal

import click

from gateway.demo.playground_server import PORT, serve


@click.command("playground")
@click.option("--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True, help="0 takes a free one.")
@click.option("--attached", is_flag=True, hidden=True, help="End with the input, as the gateway wants it.")
def command(port: int, attached: bool) -> None:
    """Serve a page with a simulated Telegram, Discord and Slack, each as a person and as the owner.

    Beside each the wire is seen, and can be cut; the gateway behind them can be killed, and recovers.
    """
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(_serve(port, attached=attached))


async def _serve(port: int, *, attached: bool) -> None:
    serving = asyncio.current_task()
    if serving is not None:
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(signum, serving.cancel)
    await serve(port, click.echo, attached=attached)
