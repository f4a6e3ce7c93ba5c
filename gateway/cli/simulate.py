"""Runs a platform's simulator in the foreground. Heavy; imported when used."""

import asyncio
import sys

from channels.telegram.simulator.server import TelegramSimulator
from gateway.errors import GatewayError


async def run_telegram(port: int) -> None:
    """Serve until cancelled; the address is printed once it listens.

    Raises:
        GatewayError: the port is taken.
    """
    simulator = TelegramSimulator(port=port, any_token=True)
    try:
        await simulator.start()
    except OSError as error:
        raise GatewayError(f"port {port} cannot be used ({error.strerror}); give another with --port") from error
    try:
        sys.stdout.write(f"Simulated Telegram on {simulator.base_url}; TELEGRAM_API_BASE={simulator.base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()  # until cancelled
    finally:
        await simulator.aclose()
