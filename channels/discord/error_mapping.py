"""A call that did not go well becomes one of the three kinds of error the gateway knows. Pure; imports no SDK.

Codes are those of discord.com/developers/docs/topics/opcodes-and-status-codes (2026-09).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from channels.discord.config import PORTAL
from channels.errors import ChannelError, Permanent, PermanentKind, Retryable, Unknown
from channels.http_answers import to_foreign_error

UNKNOWN_MESSAGE = 10008
ALREADY_ACKNOWLEDGED = 40060

_UNREACHABLE = frozenset({10003, 10004, 10013, 50001, 50007, 50013, 50278})
"""Unknown channel, guild or user; missing access or permission; a person who takes no direct messages."""

_ROUTE_GONE = frozenset({10015, 10062, 50027})
"""Unknown webhook or interaction, invalid webhook token: its time is over, or it never was acknowledged."""

_SLOW_DOWN = frozenset({20016, 20022, 20028, 20029, 30046})
"""Limits that come with other statuses than 429."""

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
"""What close codes of the gateway that nothing but the operator can mend mean, and where to mend them."""


class ApiRefusal(Exception):
    """Discord answered that it did not do it: an HTTP status, its own code, and its words."""

    def __init__(self, status: int, code: int, words: str, retry_after_s: float | None = None) -> None:
        """`retry_after_s` is given with a 429."""
        super().__init__(f"{status} {_with_code(words, code)}")
        self.status = status
        self.code = code
        self.words = words
        self.retry_after_s = retry_after_s

    @property
    def explanation(self) -> str:
        """What Discord said, and its own number of it."""
        return _with_code(self.words, self.code)

    @property
    def route_gone(self) -> bool:
        """Whether an interaction can no longer be answered its own way."""
        return self.code in _ROUTE_GONE

    @property
    def unreachable(self) -> bool:
        """Whether there is nobody, or nothing, to be written to."""
        return self.code in _UNREACHABLE

    @property
    def no_access(self) -> bool:
        """Whether the bot may not write into this channel."""
        return self.code in (50001, 50013)


def _with_code(words: str, code: int) -> str:
    """Words with their number; what has none begins with its status, which is said apart."""
    return f"{words} ({code})" if code else words.partition(": ")[2] or words


@contextmanager
def as_channel_errors() -> Iterator[None]:
    """A refusal within becomes one of the three kinds of error."""
    try:
        yield
    except ApiRefusal as refusal:
        raise to_channel_error(refusal) from None


def to_channel_error(refusal: ApiRefusal) -> ChannelError:
    """What a refusal means to who sent.

    A 5xx may come after the call took effect: unknown. A refused token is retryable, for nothing is lost by waiting
    until the operator has mended it.
    """
    words, status = refusal.explanation, refusal.status
    if status == 429 or refusal.code in _SLOW_DOWN:
        return Retryable(words, retry_after_s=refusal.retry_after_s)
    if status >= 500:
        return Unknown(f"{status} {words}")
    if status == 401:
        return Retryable(f"Discord refuses the token: {status} {words}")
    return Permanent(words, _kind(refusal))


def _kind(refusal: ApiRefusal) -> PermanentKind:
    """What a permanent refusal is about."""
    if refusal.code in _UNREACHABLE:
        return PermanentKind.BLOCKED
    if refusal.code == UNKNOWN_MESSAGE:
        return PermanentKind.TARGET_GONE
    return PermanentKind.REJECTED


def not_discords(status: int) -> ChannelError:
    """What an answer means that is none of Discord's."""
    return to_foreign_error(status, f"HTTP {status} and no answer of Discord's")
