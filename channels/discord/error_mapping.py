"""Meaning of Discord's refusals and close codes. Pure; imports no SDK.

Codes are those of discord.com/developers/docs/topics/opcodes-and-status-codes (2026-09).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from channels.chat.refusals import ApiRefusal, RefusalTable
from channels.discord.config import PORTAL
from channels.errors import PermanentKind

UNKNOWN_MESSAGE = "10008"
ALREADY_ACKNOWLEDGED = "40060"

UNREACHABLE = frozenset({"10003", "10004", "10013", "50001", "50007", "50013", "50278"})
"""Unknown channel, guild or user; missing access or permission; a person who accepts no direct messages."""

ROUTE_GONE = frozenset({"10015", "10062", "50027"})
"""Unknown webhook or interaction, invalid webhook token: it has expired, or was never acknowledged."""

NO_ACCESS = frozenset({"50001", "50013"})
"""The bot may not write into this channel."""

REFUSALS = RefusalTable(
    kinds=dict.fromkeys(UNREACHABLE, PermanentKind.BLOCKED) | {UNKNOWN_MESSAGE: PermanentKind.TARGET_GONE},
    later=frozenset({"20016", "20022", "20028", "20029", "30046"}),  # limits that come with other statuses than 429
    later_statuses=frozenset({401}),
)

CLOSE_WORDS = {
    4004: "Discord refuses the token of account {account!r}: copy it again from " + PORTAL + " (your application, page"
    " Bot, Reset Token) into the configuration, then restart",
    4010: "Discord refuses a shard of account {account!r}, which has {shards}: set shards of"
    ' [channels.discord.{account}] to "auto", then restart',
    4011: "account {account!r} is in so many servers that Discord asks for more shards than {shards}: set shards of"
    ' [channels.discord.{account}] to "auto", then restart',
    4012: "Discord does not speak this version of the gateway any more: update discord.py",
    4013: "Discord does not know the intents that account {account!r} asks for: update this gateway",
    4014: "account {account!r} may not read messages: switch on Message Content Intent at " + PORTAL + " (your"
    " application, page Bot, Privileged Gateway Intents), or set message_content = false, then restart",
}
"""Messages for the close codes that only the operator can fix."""


@contextmanager
def as_channel_errors() -> Iterator[None]:
    """Raise a refusal inside the block as one of the three kinds of error."""
    try:
        yield
    except ApiRefusal as refusal:
        raise REFUSALS.to_channel_error(refusal) from None
