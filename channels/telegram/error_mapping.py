"""Meaning of the Bot API's refusals. Pure; imports no SDK.

The Bot API has no error codes, so a known phrase in its description serves as the code. Descriptions are those of
tdlib/telegram-bot-api (2026-09).
"""

from channels.chat.refusals import RefusalTable
from channels.errors import PermanentKind

NOT_MODIFIED = "message is not modified"

_PHRASES = {
    NOT_MODIFIED: PermanentKind.REJECTED,
    "chat not found": PermanentKind.BLOCKED,
    "user not found": PermanentKind.BLOCKED,
    "peer_id_invalid": PermanentKind.BLOCKED,
    "chat_write_forbidden": PermanentKind.BLOCKED,
    "not enough rights to send": PermanentKind.BLOCKED,
    "have no rights to send": PermanentKind.BLOCKED,
    "group chat was deactivated": PermanentKind.BLOCKED,
    "group chat was upgraded": PermanentKind.BLOCKED,  # the description does not say to which
    "user_is_blocked": PermanentKind.BLOCKED,
    "input_user_deactivated": PermanentKind.BLOCKED,
    "message to edit not found": PermanentKind.TARGET_GONE,
    "message can't be edited": PermanentKind.TARGET_GONE,
    "message_id_invalid": PermanentKind.TARGET_GONE,
    "entity": PermanentKind.MALFORMED,
    "entities": PermanentKind.MALFORMED,
    "rich_": PermanentKind.MALFORMED,
    "rich message": PermanentKind.MALFORMED,
}

REFUSALS = RefusalTable(
    kinds=_PHRASES,
    status_kinds={403: PermanentKind.BLOCKED, 413: PermanentKind.REJECTED},
    later_statuses=frozenset({401, 404, 409}),
)


def code_of(description: str) -> str:
    """Return the first known phrase in a description, or ""."""
    words = description.lower()
    return next((phrase for phrase in _PHRASES if phrase in words), "")
