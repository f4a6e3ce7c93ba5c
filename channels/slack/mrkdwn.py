"""Slack's own text markup: escaping of our text, reading of people's. Pure.

Source: docs.slack.dev/messaging/formatting-message-text (read 2026-11): `&`, `<` and `>` are escaped as HTML does;
`<@U…>`, `<#C…>`, `<!…>` and `<url|label>` are the only things in angle brackets.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial

from channels.foreign import storable

MENTION = re.compile(r"<@([UW][A-Z0-9]{1,30})(?:\|[^<>]*)?>")
_BRACKETS = re.compile(r"<([^<>]*)>")
_ENTITY = re.compile(r"&(amp|lt|gt);")
_CHARACTER: Mapping[str, str] = {"amp": "&", "lt": "<", "gt": ">"}
_PINGING = re.compile(r"<(?=[!@#])")
WORD_JOINER = "\u2060"  # invisible; behind a bracket it prevents a mention

NameOf = Callable[[str, str | None], str | None]
"""A function from a user's id and team (None: any) to their name, or None if unknown."""


def escape(text: str) -> str:
    """Escape text so that nothing in it mentions, links or pings."""
    if "&" in text or "<" in text or ">" in text:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text


def unescape(text: str) -> str:
    """Reverse `escape`."""
    return _ENTITY.sub(lambda found: _CHARACTER[found[1]], text) if "&" in text else text


def defuse(text: str) -> str:
    """Break mentions in text whose brackets cannot be escaped (code in a Markdown block)."""
    return _PINGING.sub("<" + WORD_JOINER, text)


def mentions(text: str, user: str) -> bool:
    """Return True if a person's text mentions this user."""
    return f"<@{user}" in text and any(found[1] == user for found in MENTION.finditer(text))


def no_names(_user: str, _team: str | None) -> str | None:
    """Return None: no names are known."""
    return None


def to_text(text: str, us: str, name_of: NameOf = no_names) -> str:
    """Return a message as people read it, without a mention of us at its start."""
    first = MENTION.match(text.lstrip())
    if first is not None and first[1] == us:
        text = text.lstrip()[first.end() :].lstrip(" ,:")
    return storable(unescape(_BRACKETS.sub(partial(_shown_text, name_of), text) if "<" in text else text)).strip()


def _shown_text(name_of: NameOf, found: re.Match[str]) -> str:
    """Return the visible text of one pair of brackets, still escaped."""
    inner, _, label = found[1].partition("|")
    if inner.startswith("@"):
        return "@" + escape(name_of(inner[1:], None) or label or inner[1:])
    if inner.startswith("#"):
        return "#" + (label or inner[1:])
    if inner.startswith("!"):
        name = inner[1:].partition("^")[0]
        return label or f"@{name}"
    url = inner.removeprefix("mailto:")
    return url if not label or label in (url, inner) else f"{label} ({url})"
