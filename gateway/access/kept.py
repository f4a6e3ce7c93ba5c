"""A stranger's request keeps what they said last, to be answered once they are let in. Pure.

One message, bounded; without a way of its own to be answered, which is over by then, and a secret.
"""

import re
from dataclasses import replace

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from channels.messages import INBOUND_EVENT, CommandInvoked, InboundEvent, InboundMessage
from gateway.access.codes import BULLETS

MAX_TEXT_CHARS = 4096
MAX_KEPT_CHARS = 32_768
MAX_ATTACHMENTS = 10

_GREETING = re.compile(r"/(?:start|name)\b", re.IGNORECASE)


def to_keep(event: InboundMessage | CommandInvoked) -> str | None:
    """The event as JSON; None where it says nothing to be answered: `/start` and `/name` are met otherwise."""
    if isinstance(event, CommandInvoked):
        if event.name in {"start", "name"} or event.arguments == BULLETS:
            return None
        kept: InboundEvent = replace(event, arguments=event.arguments[:MAX_TEXT_CHARS], route=None)
        return _dump(kept)
    if _GREETING.match(event.text) or event.text == BULLETS or not (event.text.strip() or event.attachments):
        return None
    files = event.attachments[:MAX_ATTACHMENTS]
    said = replace(event, text=event.text[:MAX_TEXT_CHARS], attachments=files, edited=False)
    return _dump(said) or (_dump(replace(said, attachments=())) if said.text else None)


def taken_up(kept: str | None, request_id: str) -> InboundEvent | None:
    """The event again, under an id of its own: the same for one request, so that it comes in once."""
    if kept is None:
        return None
    try:
        return replace(INBOUND_EVENT.validate_json(kept), event_id=f"kept:{request_id}")
    except ValidationError:  # an older version wrote it; the person may say it again
        return None


def is_about(kept: str | None, message_id: str) -> bool:
    """Whether it is this message that is kept."""
    event = taken_up(kept, "")
    return isinstance(event, InboundMessage) and event.message_id == message_id


def _dump(event: InboundEvent) -> str | None:
    try:
        dumped = INBOUND_EVENT.dump_json(event).decode()
    except PydanticSerializationError:  # half a character in a name: no table takes it
        return None
    return dumped if len(dumped) <= MAX_KEPT_CHARS else None
