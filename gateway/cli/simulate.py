"""Runs a platform's simulator in the foreground. Heavy; imported when used."""

from channels.simulators.discord.serve import serve as serve_discord
from channels.simulators.shared.serving import Serve, typed_lines
from channels.simulators.slack.serve import serve as serve_slack
from channels.simulators.telegram.serve import serve as serve_telegram
from gateway.errors import GatewayError

_PLATFORMS: dict[str, Serve] = {"discord": serve_discord, "slack": serve_slack, "telegram": serve_telegram}


async def run(platform: str, port: int) -> None:
    """Serve until cancelled; at a terminal, what is typed is said to the bot.

    Raises:
        GatewayError: the port is taken.
    """
    try:
        await _PLATFORMS[platform](port=port, lines=typed_lines())
    except OSError as error:
        raise GatewayError(f"port {port} cannot be used ({error.strerror}); give another with --port") from error
