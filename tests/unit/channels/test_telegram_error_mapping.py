"""Answers of the Bot API sorted into the three kinds of failure."""

from typing import Any

import pytest
from aiohttp import ClientOSError, ConnectionTimeoutError, ServerDisconnectedError, SocketTimeoutError

from channels.chat.http_answers import to_transport_error
from channels.chat.refusals import ApiRefusal
from channels.errors import ChannelError, Permanent, PermanentKind, Retryable, Unknown
from channels.telegram.error_mapping import REFUSALS, code_of


def meant(status: int, words: str, **more: Any) -> ChannelError:
    return REFUSALS.to_channel_error(ApiRefusal(status, code_of(words), words, **more))


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (400, "Bad Request: can't parse entities: Unsupported start tag", PermanentKind.MALFORMED),
        (400, "Bad Request: ENTITY_BOUNDS_INVALID", PermanentKind.MALFORMED),
        (400, "Bad Request: entity begins in a middle of a UTF-16 symbol at byte offset 4", PermanentKind.MALFORMED),
        (400, "Bad Request: message to edit not found", PermanentKind.TARGET_GONE),
        (400, "Bad Request: message can't be edited", PermanentKind.TARGET_GONE),
        (400, "Bad Request: MESSAGE_ID_INVALID", PermanentKind.TARGET_GONE),
        (400, "Bad Request: chat not found", PermanentKind.BLOCKED),
        (400, "Bad Request: group chat was upgraded to a supergroup chat", PermanentKind.BLOCKED),
        (403, "Forbidden: bot was blocked by the user", PermanentKind.BLOCKED),
        (403, "Forbidden: bot can't initiate conversation with a user", PermanentKind.BLOCKED),
        (400, "Bad Request: can't parse rich message: unsupported block", PermanentKind.MALFORMED),
        (400, "Bad Request: RICH_VALIDATE_CTOR_NOT_ALLOWED", PermanentKind.MALFORMED),
        (400, "Bad Request: message is too long", PermanentKind.REJECTED),
        (400, "Bad Request: message caption is too long", PermanentKind.REJECTED),
        (400, "Bad Request: BUTTON_DATA_INVALID", PermanentKind.REJECTED),
        (413, "Request Entity Too Large", PermanentKind.REJECTED),
    ],
)
def test_refusals_for_good(status: int, words: str, kind: PermanentKind):
    error = meant(status, words)
    assert isinstance(error, Permanent)
    assert (kind, words) == (error.kind, error.reason)


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_server_errors_may_have_happened(status: int):
    assert isinstance(meant(status, "Internal Server Error"), Unknown)


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (ConnectionTimeoutError(), Retryable),
        (SocketTimeoutError(), Unknown),
        (ServerDisconnectedError(), Unknown),
        (ClientOSError(), Unknown),
        (TimeoutError(), Unknown),
        (None, Unknown),
    ],
)
def test_only_what_never_connected_may_be_repeated(cause: BaseException | None, kind: type[Exception]):
    assert kind is type(to_transport_error(cause, "seen"))
