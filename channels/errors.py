"""The three kinds of failure of a send, which one place above handles.

ChannelError
├── Retryable it did not happen; try again, not before `retry_after_s`
├── Permanent it did not happen and never will; `reason` says why
└── Unknown   it may have happened: the request may have arrived

`gateway.delivery` retries; adapters do not. A platform's text and waiting time are bounded here for every adapter: the
text is storable, the wait at most `foreign.MOST_SAID_S`.
"""

from enum import StrEnum

from channels.foreign import seconds_of, words_of


class ChannelError(Exception):
    """A platform call did not return a receipt."""


class Retryable(ChannelError):
    """The platform did not act; the same call may be made again later."""

    def __init__(self, reason: str, *, retry_after_s: float | None = None) -> None:
        """`retry_after_s` is the platform's own value, None if it gave none."""
        self.reason = words_of(reason)
        self.retry_after_s = seconds_of(retry_after_s)
        super().__init__(self.reason)


class PermanentKind(StrEnum):
    """The reason of a permanent refusal, as far as the gateway acts on it."""

    BLOCKED = "blocked"  # the person blocked the bot or left: their lane is paused
    MALFORMED = "malformed"  # the rendering was refused: the plain text is sent once
    TARGET_GONE = "target_gone"  # the message to edit is gone: the text is sent anew
    MOVED = "moved"  # the chat has the new id `moved_to`: the call is repeated there
    TOO_LARGE = "too_large"  # a file is too large: its sender is told
    REJECTED = "rejected"  # anything else: the rest of this reply is dead-lettered


class Permanent(ChannelError):
    """The platform refused for good; the same call will be refused again."""

    def __init__(
        self, reason: str, kind: PermanentKind = PermanentKind.REJECTED, *, moved_to: str | None = None
    ) -> None:
        """`reason` is the platform's own text, safe to show an operator; `moved_to` is set only with MOVED."""
        self.reason = words_of(reason)
        super().__init__(self.reason)
        self.kind = kind
        self.moved_to = moved_to


class Unknown(ChannelError):
    """The request may have arrived: a timeout, a cut connection, a 5xx after the body was sent."""

    def __init__(self, reason: str) -> None:
        """`reason` names the symptom."""
        self.reason = words_of(reason)
        super().__init__(self.reason)


class ConfigRefused(Exception):
    """The platform refuses this configuration (a bad token, a missing scope); retrying cannot help.

    The message says what is wrong and where to correct it, without the secret.
    """
