"""Every way a send can fail, as three kinds that one place above knows how to treat.

    ChannelError
    ├── Retryable    it did not happen; try again, not before `retry_after_s`
    ├── Permanent    it did not happen and never will; `reason` says why
    └── Unknown      it may have happened: the request may have arrived

No retry lives here or in an adapter: `gateway.delivery` decides what follows. What a platform said comes in as it is
and is bounded here, whoever wrote the adapter: words can be stored, a wait is no longer than `foreign.MOST_SAID_S`.
"""

from enum import StrEnum

from channels.foreign import seconds_of, words_of


class ChannelError(Exception):
    """A platform call did not return a receipt."""


class Retryable(ChannelError):
    """The platform did not act; the same call may be made again later."""

    def __init__(self, reason: str, *, retry_after_s: float | None = None) -> None:
        """`retry_after_s` is the platform's own word in seconds, None where it gave none."""
        self.reason = words_of(reason)
        self.retry_after_s = seconds_of(retry_after_s)
        super().__init__(self.reason)


class PermanentKind(StrEnum):
    """What a permanent refusal is about, as far as somebody above acts on it."""

    BLOCKED = "blocked"  # the person blocked the bot or left: their lane is parked
    MALFORMED = "malformed"  # the rendering was refused: the plain text goes instead, once
    TARGET_GONE = "target_gone"  # the message to edit is gone: the text is sent anew
    MOVED = "moved"  # the chat goes on under the id `moved_to`: the same call is made there
    TOO_LARGE = "too_large"  # a file is larger than it may be: whoever sent it is told so
    REJECTED = "rejected"  # anything else: the rest of this reply is dead-lettered


class Permanent(ChannelError):
    """The platform refused for good; the same call will be refused again."""

    def __init__(
        self, reason: str, kind: PermanentKind = PermanentKind.REJECTED, *, moved_to: str | None = None
    ) -> None:
        """`reason` is the platform's own description, safe to show an operator; `moved_to` comes with MOVED alone."""
        self.reason = words_of(reason)
        super().__init__(self.reason)
        self.kind = kind
        self.moved_to = moved_to


class Unknown(ChannelError):
    """The request may have arrived: a timeout, a cut connection, a 5xx after the body was sent."""

    def __init__(self, reason: str) -> None:
        """`reason` names what was seen on the wire."""
        self.reason = words_of(reason)
        super().__init__(self.reason)


class ConfigRefused(Exception):
    """The platform refuses this configuration (a bad token, a missing scope); retrying cannot help.

    The message says what is wrong and where to mend it; it never holds the secret.
    """
