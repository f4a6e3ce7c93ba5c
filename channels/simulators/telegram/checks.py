"""The texts and entities that Telegram takes, and what becomes of them.

Pure. Lengths and offsets are UTF-16 code units. Rules and error texts: tdlib/td `MessageEntity.cpp` and
tdlib/telegram-bot-api `Client.cpp` (2026-09). Not simulated: parse modes, and links found by the server itself.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from pydantic import JsonValue

from channels.simulators.shared.world import JsonObject, Refused

MAX_TEXT_UTF16 = 4096
MAX_CAPTION_UTF16 = 1024
MAX_TEXT_BYTES = 1 << 15  # refused before entities are looked at
MAX_ENTITIES = 100  # the rest is silently not styled

_STYLES = frozenset({"bold", "italic", "underline", "strikethrough", "spoiler"})
_BLOCKS = frozenset({"code", "pre", "blockquote", "expandable_blockquote"})
_VERBATIM = frozenset({"code", "pre"})
_FOUND_BY_SERVER = frozenset(
    {"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bank_card_number"}
)
_TAKEN = _STYLES | _BLOCKS | {"text_link", "text_mention", "custom_emoji"}
_UNCLEAN = re.compile("[\x00-\x09\x0b-\x1f\u2028-\u202e]")
_REMOVED = frozenset("\r\u2028\u2029\u202a\u202b\u202c\u202d\u202e")


class Refusal(Refused):
    """The Bot API's answer to a call it does not carry out."""

    def __init__(self, status: int, description: str, parameters: JsonObject | None = None) -> None:
        """Take the HTTP status, which is the `error_code` too; `parameters` goes into the answer as it is."""
        super().__init__(description)
        self.status = status
        self.description = description
        self.parameters = parameters


@dataclass(frozen=True, slots=True)
class Span:
    """One entity over characters `start` to `end` of a text; `raw` keeps its type and what goes with it."""

    start: int
    end: int
    raw: JsonObject

    @property
    def kind(self) -> str:
        """Return the entity's type, as the Bot API names it."""
        return str(self.raw["type"])


def utf16_length(text: str) -> int:
    """Return the length that Telegram counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


Formatted = tuple[str, tuple[JsonObject, ...]]
"""A text and its entities."""


def check_text(text: str, entities: JsonValue) -> Formatted:
    """Return the text and entities as people see them: cleaned, trimmed, entities made to nest.

    Raises:
        Refusal: Telegram would answer 400; the description is its own.
    """
    text, kept = _check_text(text, entities)
    if not text:
        raise Refusal(400, "Bad Request: message text is empty")
    if utf16_length(text) > MAX_TEXT_UTF16:
        raise Refusal(400, "Bad Request: message is too long")
    return text, kept


def check_caption(text: str, entities: JsonValue) -> Formatted:
    """Return the text and entities under a file as people see them; the text may be empty.

    Raises:
        Refusal: Telegram would answer 400; the description is its own.
    """
    text, kept = _check_text(text, entities)
    if utf16_length(text) > MAX_CAPTION_UTF16:
        raise Refusal(400, "Bad Request: message caption is too long")
    return text, kept


def _check_text(text: str, entities: JsonValue) -> Formatted:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise Refusal(400, "Bad Request: strings must be encoded in UTF-8") from None
    if size > MAX_TEXT_BYTES:
        raise Refusal(400, "Bad Request: text is too long")
    spans = _spans(text, _parse(entities))
    text, spans = _clean(text, spans)
    text, spans = _trim(text, spans)
    return text, _as_entities(text, _nest(spans)[:MAX_ENTITIES])


def _parse(entities: JsonValue) -> list[JsonObject]:
    """Return the entities given, without those the server finds itself."""
    if not isinstance(entities, list):
        return []
    taken: list[JsonObject] = []
    for entity in entities:
        if not isinstance(entity, dict):
            raise _parse_refusal("expected an Object")
        if not isinstance(entity.get("offset"), int) or not isinstance(entity.get("length"), int):
            raise _parse_refusal('Field "offset" and "length" must be of type Number')
        kind = entity.get("type")
        if kind in _FOUND_BY_SERVER:
            continue
        if kind not in _TAKEN:
            raise _parse_refusal("Unsupported type specified")
        if kind == "text_link" and not isinstance(entity.get("url"), str):
            raise _parse_refusal('Can\'t find field "url"')
        taken.append(entity)
    return taken


def _parse_refusal(why: str) -> Refusal:
    return Refusal(400, f"Bad Request: can't parse MessageEntity: {why}")


def _spans(text: str, entities: Sequence[JsonObject]) -> list[Span]:
    """Return entities with their UTF-16 offsets turned into character positions, sorted outermost first."""
    if not entities:
        return []
    offsets = [0, *accumulate(1 if char <= "\uffff" else 2 for char in text)]
    position = {offset: index for index, offset in enumerate(offsets)}
    spans = []
    for entity in entities:
        offset, length = entity["offset"], entity["length"]
        assert isinstance(offset, int), "checked by _parsed"
        assert isinstance(length, int), "checked by _parsed"
        _check_bounds(offset, length, offsets[-1])
        if length == 0:
            continue
        if offset not in position:
            raise Refusal(400, f"Bad Request: entity begins in a middle of a UTF-16 symbol at offset {offset}")
        if offset + length not in position:
            raise Refusal(
                400,
                f"Bad Request: entity beginning at UTF-16 offset {offset} ends in a middle of a UTF-16 symbol",
            )
        spans.append(Span(position[offset], position[offset + length], entity))
    return sorted(spans, key=lambda span: (span.start, -span.end))


def _check_bounds(offset: int, length: int, size: int) -> None:
    """Refuse an entity that is not inside a text of `size` UTF-16 units."""
    if offset < 0:
        raise Refusal(400, f"Bad Request: receive an entity with incorrect offset {offset}")
    if length < 0:
        raise Refusal(400, f"Bad Request: receive an entity with incorrect length {length}")
    if length and offset >= size:
        raise Refusal(400, f"Bad Request: entity begins after the end of the text at UTF-16 offset {offset}")
    if offset + length > size:
        raise Refusal(
            400,
            f"Bad Request: entity beginning at UTF-16 offset {offset} ends after the end of the text"
            f" at UTF-16 offset {offset + length}",
        )


def _clean(text: str, spans: list[Span]) -> tuple[str, list[Span]]:
    """Turn control characters into spaces or remove them; the spans follow."""
    if not _UNCLEAN.search(text):
        return text, spans
    kept = [0, *accumulate(0 if char in _REMOVED else 1 for char in text)]
    text = _UNCLEAN.sub(lambda found: "" if found[0] in _REMOVED else " ", text)
    return text, [Span(kept[span.start], kept[span.end], span.raw) for span in spans]


def _trim(text: str, spans: list[Span]) -> tuple[str, list[Span]]:
    """Remove white space from the end, and from the start up to the first entity; spans of nothing else go too."""
    text = text.rstrip()
    spans = [Span(span.start, min(span.end, len(text)), span.raw) for span in spans]
    spans = [span for span in spans if text[span.start : span.end].strip()]
    front = len(text) - len(text.lstrip(" \n"))
    if spans:
        front = min(front, spans[0].start)
    return text[front:], [Span(span.start - front, span.end - front, span.raw) for span in spans]


def _nest(spans: list[Span]) -> list[Span]:
    """Cut spans that cross at the crossing; inside code and pre nothing else is styled."""
    verbatim: list[Span] = []
    for span in spans:
        if span.kind in _VERBATIM and not any(span.start < other.end for other in verbatim):
            verbatim.append(span)
    nested: list[Span] = []
    stack: list[Span] = []
    for span in sorted(_outside(spans, verbatim), key=lambda span: (span.start, -span.end)):
        while stack and stack[-1].end <= span.start:
            stack.pop()
        if any(span.kind == outer.kind for outer in stack):
            continue
        # Telegram styles the part outside too; nobody here looks at it.
        inside = Span(span.start, min(span.end, stack[-1].end), span.raw) if stack else span
        stack.append(inside)
        nested.append(inside)
    return nested


def _outside(spans: list[Span], verbatim: list[Span]) -> list[Span]:
    """Return the spans without those that touch code or pre; a quote around them stays."""
    kept = []
    for span in spans:
        touching = [other for other in verbatim if span.start < other.end and other.start < span.end]
        around = all(span.start <= other.start and other.end <= span.end for other in touching)
        if span in verbatim or not touching or (around and span.kind.endswith("blockquote")):
            kept.append(span)
    return kept


def _as_entities(text: str, spans: Sequence[Span]) -> tuple[JsonObject, ...]:
    """Return spans as the Bot API writes entities."""
    if not spans:
        return ()
    offsets = [0, *accumulate(1 if char <= "\uffff" else 2 for char in text)]
    return tuple(
        {**span.raw, "offset": offsets[span.start], "length": offsets[span.end] - offsets[span.start]} for span in spans
    )
