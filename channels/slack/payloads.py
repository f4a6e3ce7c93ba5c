"""Conversion of a part to the arguments of a Slack message: notification text, and blocks. Pure.

Nothing pings: the renderer escapes its dialects, and plain text is escaped here.
"""

import re
import uuid

from pydantic import JsonValue

from channels.foreign import JsonObject
from channels.messages import Button, ButtonStyle, OutboundPart, Rendered
from channels.slack.limits import MAX_SECTION
from channels.slack.mrkdwn import escape
from channels.slack.render import MARKDOWN, MRKDWN
from channels.slack.translate_interaction import ACTION_PREFIX

EVENT_TYPE = "tenk_part"  # of our messages' metadata
KEY_SPACE = uuid.UUID("7b0c4b1e-2f0e-5d0f-9c53-0f6f0a6e7d10")
NOTIFICATION_CHARS = 1_000  # of the text that only notifications and screen readers use
BUTTON_CHARS = 75  # docs.slack.dev/reference/block-kit/block-elements/button-element (read 2026-11)
_STYLES = {ButtonStyle.PRIMARY: "primary", ButtonStyle.DANGER: "danger"}
_CUT_ENTITY = re.compile(r"&[a-z]{0,3}$")
_BROKEN_FENCE = re.compile(r"(?m)^([ >]*`{3,}) (\S+)\Z")


def content(rendered: Rendered, buttons: tuple[Button, ...] = ()) -> JsonObject:
    """Return `text` and `blocks` of a message or of its edit."""
    blocks: list[JsonValue] = []
    if rendered.markup == MARKDOWN:
        # an ellipsis behind an answer must not break its closing fence
        text = _BROKEN_FENCE.sub(r"\1\n\2", rendered.text)
        blocks.append({"type": "markdown", "text": text})
        text = _shorten(text)
    elif rendered.markup == MRKDWN:
        text = rendered.text
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}})
        text = _shorten(text)
    else:
        text = escape(rendered.text)
        if buttons or len(text) > MAX_SECTION:
            blocks += _plain_sections(rendered.text)
            text = _shorten(text)
    if buttons:
        blocks.append(actions(buttons))
    return {"text": text, "blocks": blocks}


def actions(buttons: tuple[Button, ...]) -> JsonObject:
    """Return the block that shows buttons."""
    return {"type": "actions", "elements": [_button(index, button) for index, button in enumerate(buttons)]}


def without_buttons(message: JsonObject) -> JsonObject:
    """Return `text` and `blocks` of an existing message without its buttons."""
    blocks = message.get("blocks")
    found = blocks if isinstance(blocks, list) else []
    kept: list[JsonValue] = [block for block in found if isinstance(block, dict) and block.get("type") != "actions"]
    return {"text": _shorten(str(message.get("text") or " ")), "blocks": kept}


def key_metadata(part: OutboundPart) -> JsonObject:
    """Return the metadata by which a part is recognised and looked up."""
    return {"event_type": EVENT_TYPE, "event_payload": {"key": part.idem_key}}


def to_message(part: OutboundPart) -> JsonObject:
    """Return the arguments of chat.postMessage."""
    body: JsonObject = {
        "channel": part.address.chat,
        **content(part.rendered, part.buttons),
        "unfurl_links": False,  # a fetched preview could carry data out
        "unfurl_media": False,
        "mrkdwn": part.rendered.markup is not None,
        "client_msg_id": client_msg_id(part.idem_key),
        "metadata": key_metadata(part),
    }
    if part.address.thread is not None:
        body["thread_ts"] = part.address.thread
    return body


def client_msg_id(key: str) -> str:
    """Return the same id for every attempt at one part."""
    return str(uuid.uuid5(KEY_SPACE, key))


def _shorten(text: str) -> str:
    return text if len(text) <= NOTIFICATION_CHARS else _CUT_ENTITY.sub("", text[:NOTIFICATION_CHARS]) + "…"


def _plain_sections(text: str) -> list[JsonValue]:
    return [
        {"type": "section", "text": {"type": "plain_text", "text": text[begin : begin + MAX_SECTION], "emoji": False}}
        for begin in range(0, len(text), MAX_SECTION)
    ]


def _button(index: int, button: Button) -> JsonObject:
    element: JsonObject = {
        "type": "button",
        "action_id": f"{ACTION_PREFIX}{index}",
        "text": {"type": "plain_text", "text": button.label[:BUTTON_CHARS], "emoji": True},
        "value": button.data,
    }
    if button.style in _STYLES:
        element["style"] = _STYLES[button.style]
    return element
