"""Makes the frames that pages are told. Pure; what pages say is in `channels.viewers.viewer_frames`.

`history`, `message`, `said`, `reaction`, `buttons`, `deleted`, `typing`, `commands`, `taken`, `not_taken`, `refused`.
"""

from collections.abc import Sequence
from datetime import datetime

from pydantic import JsonValue

from channels.base import CommandSpec
from channels.messages import Address, InboundMessage, OutboundPart, Sender
from channels.viewers.viewer_frames import Visitor
from channels.viewers.viewer_hub import Frame
from channels.web.render import to_html

CHANNEL = "web"
ACCOUNT = "main"


def visitor_of(chat: str, locale: str | None) -> Visitor:
    """The person behind a browser; the name tells an operator which browser it is, no more."""
    return Visitor(Address(CHANNEL, ACCOUNT, chat), Sender(chat, f"web visitor {chat[:6]}"), locale)


def message_frame(part: OutboundPart, message_id: str, files: Sequence[JsonValue], now: datetime) -> Frame:
    """Our message as it stands now; `files` as `AttachedFiles.keep` names them."""
    return {
        "type": "message",
        "id": message_id,
        "html": to_html(part.rendered),
        "live": part.idem_key == "",  # it grows still
        "waiting": part.rendered.text.strip() == "…",
        "buttons": [
            {"label": button.label, "data": button.data, "style": button.style.value} for button in part.buttons
        ],
        "files": list(files),
        "reply_to": part.reply_to,
        "at": now.isoformat(timespec="milliseconds"),
    }


def said_frame(event: InboundMessage) -> Frame:
    """What the person said, for every page of theirs."""
    return {
        "type": "said",
        "id": event.message_id,
        "text": event.text,
        "sign": None,
        "at": event.received_at.isoformat(timespec="milliseconds"),
    }


def commands_frame(menu: Sequence[CommandSpec]) -> Frame:
    """The commands there are."""
    return {"type": "commands", "commands": [[spec.name, spec.summary] for spec in menu if not spec.talks]}
