"""A check of a text and its entities by the Bot API's own pages, independent of the simulator and the renderer.

Source: core.telegram.org/bots/api#messageentity and #formatting-options (November 2026).
"""

import json
import re

from channels.messages import Rendered

_DETAILS = {"text_link": {"url"}, "pre": {"language"}}
_TYPES = {"bold", "italic", "strikethrough", "code", "pre", "text_link", "blockquote"}
_USER = re.compile(r"(?<!\w)@[A-Za-z0-9_]{2,32}(?!\w)")  # td: MessageEntity.cpp, match_mentions (2026-09)


def utf16(text: str) -> bytes:
    """Return the text as Telegram counts it, two bytes a unit; raise on lone surrogates."""
    return text.encode("utf-16-le")


def shown(rendered: Rendered) -> list[tuple[str, str]]:
    """Return (type, the characters it covers) of each entity, in order."""
    units = utf16(rendered.text)
    entities = json.loads(rendered.markup or "[]")
    return [(e["type"], units[2 * e["offset"] : 2 * (e["offset"] + e["length"])].decode("utf-16-le")) for e in entities]


def mentioned(rendered: Rendered) -> list[str]:
    """Return whom the text would notify: the server looks for @names outside code and links."""
    text = rendered.text
    units = utf16(text)
    quiet = set()
    for entity in json.loads(rendered.markup or "[]"):
        if entity["type"] in ("code", "pre", "text_link"):
            begin = len(units[: 2 * entity["offset"]].decode("utf-16-le"))
            covered = units[2 * entity["offset"] : 2 * (entity["offset"] + entity["length"])].decode("utf-16-le")
            quiet |= set(range(begin, begin + len(covered)))
    return [found[0] for found in _USER.finditer(text) if found.start() not in quiet]


def faults(rendered: Rendered, max_utf16: int = 4096) -> list[str]:
    """Return what Telegram would refuse, cut or silently not show; [] for a good part."""
    units = utf16(rendered.text)
    found = []
    if not rendered.text.strip():
        found.append("empty text")
    if rendered.text != rendered.text.rstrip():
        found.append("blanks at the end")
    if len(units) // 2 > max_utf16:
        found.append(f"{len(units) // 2} units")
    if any(ord(char) < 32 and char not in "\n\t" for char in rendered.text):
        found.append("control characters")
    if rendered.markup is None:
        return found
    entities = json.loads(rendered.markup)
    if not 1 <= len(entities) <= 100:
        found.append(f"{len(entities)} entities")
    for entity in entities:
        found += _entity_faults(entity, units)
    places = [(entity["offset"], -entity["length"]) for entity in entities]
    if places != sorted(places):
        found.append("not sorted")
    for index, one in enumerate(entities):
        for other in entities[index + 1 :]:
            found += _pair_faults(one, other)
    return found


def _entity_faults(entity, units: bytes) -> list[str]:
    begin, end = entity["offset"], entity["offset"] + entity["length"]
    extra = set(entity) - {"type", "offset", "length"}
    if entity["type"] not in _TYPES or not extra <= _DETAILS.get(entity["type"], set()):
        return [f"fields of {entity}"]
    if not 0 <= begin < end <= len(units) // 2:
        return [f"bounds of {entity}"]
    if _is_low_surrogate(units, begin) or _is_low_surrogate(units, end):
        return [f"cuts through a surrogate pair: {entity}"]
    covered = units[2 * begin : 2 * end].decode("utf-16-le")
    edges = covered.rstrip() if entity["type"] in ("pre", "blockquote") else covered.strip()
    if not covered.strip() or edges != covered:
        return [f"blanks at the edges of {entity}: {covered!r}"]
    if entity["type"] == "text_link" and not entity["url"].startswith(("http://", "https://")):
        return [f"link of {entity}"]
    return []


def _is_low_surrogate(units: bytes, at: int) -> bool:
    return 2 * at < len(units) and 0xDC <= units[2 * at + 1] <= 0xDF


def _pair_faults(one, other) -> list[str]:
    end = one["offset"] + one["length"]
    if other["offset"] >= end:
        return []
    if other["offset"] + other["length"] > end:
        return [f"{one} and {other} overlap"]
    if one["type"] in ("code", "pre") or one["type"] == other["type"]:
        return [f"{other} inside {one}"]
    if other["type"] in ("code", "pre") and one["type"] != "blockquote":
        return [f"{other} inside {one}"]
    if other["type"] == "blockquote":
        return [f"{other} inside {one}"]
    return []
