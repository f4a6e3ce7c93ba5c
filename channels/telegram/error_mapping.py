"""A call that did not go well becomes one of the three errors that the gateway knows. Pure; no SDK is imported here.

Descriptions are those of tdlib/telegram-bot-api (2026-09).
"""

from channels.errors import ChannelError, Permanent, PermanentKind, Retryable, Unknown
from channels.http_answers import to_foreign_error

NOT_MODIFIED = "message is not modified"
_GONE = ("message to edit not found", "message can't be edited", "message_id_invalid")
_UNREACHABLE = (
    "chat not found",
    "user not found",
    "peer_id_invalid",
    "chat_write_forbidden",
    "not enough rights to send",
    "have no rights to send",
    "group chat was deactivated",
    "group chat was upgraded",  # where Telegram does not say what it became
    "user_is_blocked",
    "input_user_deactivated",
)
_BAD_MARKUP = ("entity", "entities", "rich_", "rich message")


class ApiRefusal(Exception):
    """The Bot API answered that it did not do it: an HTTP status and its own words."""

    def __init__(
        self, status: int, description: str, retry_after_s: float | None = None, moved_to: str | None = None
    ) -> None:
        """`retry_after_s` is given with a 429, `moved_to` with a 400 for a group that became a supergroup."""
        super().__init__(f"{status} {description}")
        self.status = status
        self.description = description
        self.retry_after_s = retry_after_s
        self.moved_to = moved_to

    @property
    def not_modified(self) -> bool:
        """Whether an edit was refused because the message already says this."""
        return self.status == 400 and NOT_MODIFIED in self.description.lower()


def to_channel_error(refusal: ApiRefusal) -> ChannelError:
    """What a refusal means to who sent.

    A 5xx may come after the call took effect: unknown. A refused token is retryable, for nothing is lost by waiting
    until the operator has mended it.
    """
    words, status = refusal.description, refusal.status
    if status == 429:
        return Retryable(words, retry_after_s=refusal.retry_after_s)
    if status >= 500:
        return Unknown(f"{status} {words}")
    if status in (401, 404, 409):
        return Retryable(f"{status} {words}")
    if refusal.moved_to is not None:
        return Permanent(words, PermanentKind.MOVED, moved_to=refusal.moved_to)
    return Permanent(words, _kind(status, words.lower()))


def _kind(status: int, words: str) -> PermanentKind:
    """What a permanent refusal is about."""
    if status == 403 or any(sign in words for sign in _UNREACHABLE):
        return PermanentKind.BLOCKED
    if any(sign in words for sign in _GONE):
        return PermanentKind.TARGET_GONE
    if status == 400 and any(sign in words for sign in _BAD_MARKUP):
        return PermanentKind.MALFORMED
    return PermanentKind.REJECTED


def not_telegrams(status: int, retry_after_s: float | None = None) -> ChannelError:
    """What an answer means that is none of the Bot API's."""
    return to_foreign_error(status, f"HTTP {status} and no answer of the Bot API's", retry_after_s)
