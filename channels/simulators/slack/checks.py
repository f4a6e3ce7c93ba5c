"""The texts and blocks that Slack takes, what people see of them, and whom they ping.

Pure. Limits in characters: docs.slack.dev/reference/methods/chat.postMessage, …/chat.update and
…/block-kit/blocks (read 2026-11). A mention in brackets pings wherever it stands unescaped, also in code: a
real Slack may be milder.
"""

import json
import re
from dataclasses import dataclass

import orjson
from pydantic import JsonValue

from channels.simulators.shared.world import JsonObject, Refused, objects_in

MAX_TEXT = 40_000
MAX_UPDATED_TEXT = 4_000
MAX_MARKDOWN = 12_000
MAX_SECTION = 3_000
MAX_BLOCKS = 50
MAX_BUTTON_TEXT = 75
MAX_BUTTON_VALUE = 2_000
MAX_ACTIONS = 25

_PING = re.compile(r"<(!(?:channel|here|everyone|group)\b|!subteam\^|@[UW][A-Z0-9])[^<>\n]*>")
_LINK = re.compile(r"<((?:https?|mailto):[^<>|]+)(?:\|([^<>]*))?>")
_ENTITY = re.compile(r"&(amp|lt|gt);")
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">"}
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_FENCE = re.compile(r"(^[ >]*`{3,}.*?^[ >]*`{3,}[ ]*$)", re.MULTILINE | re.DOTALL)


def as_json(value: JsonValue) -> bytes:
    """Return JSON of anything there is, also of what Slack would never write: numbers beyond 64 bits, depths."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()


class Refusal(Refused):
    """Slack's answer to a call it does not carry out."""

    def __init__(self, error: str, *, status: int = 200, more: JsonObject | None = None) -> None:
        """Take Slack's word, the HTTP status, and what goes into the answer beside them."""
        super().__init__(error)
        self.error = error
        self.status = status
        self.more = more or {}


@dataclass(frozen=True, slots=True)
class Content:
    """A message as it is taken."""

    text: str  # what people see
    raw: str  # top-level text as it came
    blocks: tuple[JsonObject, ...]
    pings: tuple[str, ...]

    @property
    def buttons(self) -> list[JsonObject]:
        """Return the buttons under the message."""
        return [
            element
            for block in self.blocks
            if block.get("type") == "actions"
            for element in objects_in(block.get("elements"))
        ]


def check_content(text: JsonValue, blocks: JsonValue, *, updated: bool = False, files: bool = False) -> Content:
    """Return the content of a message, as people will see it.

    Raises:
        Refusal: Slack would refuse it.
    """
    raw = text if isinstance(text, str) else ""
    found = objects_in(blocks)
    if not raw.strip() and not found and not files:
        raise Refusal("no_text")
    if len(raw) > (MAX_UPDATED_TEXT if updated else MAX_TEXT):
        raise Refusal("msg_too_long")
    if len(found) > MAX_BLOCKS:
        raise _bad(f"no more than {MAX_BLOCKS} items allowed")
    shown = [line for line in [_check_block(block) for block in found] if line]
    markdown = sum(len(str(block.get("text"))) for block in found if block.get("type") == "markdown")
    if markdown > MAX_MARKDOWN:
        raise Refusal("msg_blocks_too_long")
    pinging = [raw, *[str(block.get("text")) for block in found if block.get("type") == "markdown"], *_mrkdwn(found)]
    return Content("\n".join(shown) if shown else as_shown(raw), raw, tuple(found), pings_in(pinging))


def pings_in(texts: list[str]) -> tuple[str, ...]:
    """Return the mentions, in texts as they came, that would notify people."""
    return tuple([ping[0] for text in texts for ping in _PING.finditer(text)])


def as_shown(text: str) -> str:
    """Return mrkdwn as people see it, its looks left out."""
    text = _LINK.sub(lambda link: link[2] or link[1], text)
    return _ENTITY.sub(lambda entity: _CHARACTERS[entity[1]], text)


def markdown_as_shown(text: str) -> str:
    """Return a Markdown block as people see it: without escapes, its marks left as they are."""
    pieces = _FENCE.split(text)
    return "".join(
        [
            piece if index % 2 else _ENTITY.sub(lambda match: _CHARACTERS[match[1]], _ESCAPED.sub(r"\1", piece))
            for index, piece in enumerate(pieces)
        ]
    )


def _bad(why: str) -> Refusal:
    messages: JsonObject = {"messages": [f"[ERROR] {why}"]}
    return Refusal("invalid_blocks", more={"response_metadata": messages})


def _check_block(block: JsonObject) -> str:
    """Return what one block shows.

    Raises:
        Refusal: it is none, or too long.
    """
    match block.get("type"):
        case "markdown":
            text = block.get("text")
            if not isinstance(text, str) or not text.strip():
                raise _bad("must be more than 0 characters [json-pointer:/blocks/0/text]")
            return markdown_as_shown(text)
        case "section":
            return _section(block)
        case "actions":
            _check_actions(block)
            return ""
        case "rich_text":
            inner = [
                element
                for section in objects_in(block.get("elements"))
                for element in objects_in(section.get("elements"))
            ]
            return "".join([str(element.get("text", "")) for element in inner])
        case "divider" | "context" | "header" | "image":
            return ""
    raise _bad(f"unsupported type: {block.get('type')}")


def _section(block: JsonObject) -> str:
    text = block.get("text")
    if not isinstance(text, dict) or text.get("type") not in ("mrkdwn", "plain_text"):
        raise _bad("missing required field: text")
    content = text.get("text")
    if not isinstance(content, str) or not content:
        raise _bad("must be more than 0 characters")
    if len(content) > MAX_SECTION:
        raise _bad(f"must be less than {MAX_SECTION + 1} characters")
    return as_shown(content) if text["type"] == "mrkdwn" else content


def _check_actions(block: JsonObject) -> None:
    elements = objects_in(block.get("elements"))
    if not 1 <= len(elements) <= MAX_ACTIONS:
        raise _bad("no more than 25 items allowed")
    names = [element.get("action_id") for element in elements]
    if len(set(map(str, names))) != len(names):
        raise _bad("`action_id` already exists")
    for element in elements:
        label = element.get("text")
        shown = label.get("text") if isinstance(label, dict) else None
        if not isinstance(shown, str) or not 1 <= len(shown) <= MAX_BUTTON_TEXT:
            raise _bad("button text must be 1 to 75 characters")
        if len(str(element.get("value", ""))) > MAX_BUTTON_VALUE:
            raise _bad("button value is too long")
        if element.get("style", "primary") not in ("primary", "danger"):
            raise _bad("invalid style")


def _mrkdwn(blocks: list[JsonObject]) -> list[str]:
    texts = [block.get("text") for block in blocks if block.get("type") == "section"]
    return [str(text.get("text")) for text in texts if isinstance(text, dict) and text.get("type") == "mrkdwn"]
