"""`tenk sim`: a simulated platform on its own, to try a bot without the real one."""

import asyncio
import contextlib

import click


def _run(platform: str, port: int) -> None:
    """Serve until Ctrl-C."""
    from gateway.cli.simulate import run  # noqa: PLC0415  heavy: the simulators' servers

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(platform, port))


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
