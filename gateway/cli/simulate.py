"""Runs a platform's simulator in the foreground. Heavy; imported when used."""

import sys

from channels.discord.simulator.serve import serve as serve_discord
from channels.slack.simulator.serve import serve as serve_slack
from channels.telegram.simulator.serve import serve
from gateway.errors import GatewayError


async def run_telegram(port: int) -> None:
    """Serve until cancelled; at a terminal, what is typed is said to the bot.

    Raises:
        GatewayError: the port is taken.
    """
    try:
        await serve(port=port, lines=sys.stdin if sys.stdin.isatty() else None)
    except OSError as error:
        raise GatewayError(f"port {port} cannot be used ({error.strerror}); give another with --port") from error


async def run_discord(port: int) -> None:
    """Serve until cancelled; at a terminal, what is typed is said to the bot.

    Raises:
        GatewayError: the port is taken.
    """
    try:
        await serve_discord(port=port, lines=sys.stdin if sys.stdin.isatty() else None)
    except OSError as error:
        raise GatewayError(f"port {port} cannot be used ({error.strerror}); give another with --port") from error


async def run_slack(port: int) -> None:
    """Serve until cancelled; at a terminal, what is typed is said to the app.

    Raises:
        GatewayError: the port is taken.
    """
    try:
        await serve_slack(port=port, lines=sys.stdin if sys.stdin.isatty() else None)
    except OSError as error:
        raise GatewayError(f"port {port} cannot be used ({error.strerror}); give another with --port") from error
