"""Text that every encoder and database accepts (F40), in bounded time; pure.

It also parses a text as a JSON object, and shortens text for display.
"""

import json
import re
import unicodedata
from functools import cache
from typing import Literal

import regex

MAX_MARKS = 30
"""Maximum combining marks on one letter (UAX 15, "Stream-Safe Text Format", Unicode 17, read 2026-11)."""

LINE_CHARS = 200
"""Maximum length of a line for operators and models."""

JOINERS = "\u200d\ufe0f"  # zero-width joiner and emoji variation: the only invisible characters that are kept
UNSEEN = ("Cc", "Cf", "Cs")  # control, format (bidi, tags, zero width), surrogate

_LONE = re.compile("[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")
_SURPLUS_MARKS = rf"(?<!\p{{M}})(\p{{M}}{{{MAX_MARKS}}})\p{{M}}++"
_PERHAPS_SURPLUS = re.compile(rf"[\u0300-\U0010ffff]{{{MAX_MARKS + 1}}}")
"""Combining marks start at U+0300, so most texts do not match."""


@cache
def unicode_pattern(source: str) -> regex.Pattern[str]:
    """Return a pattern with Unicode properties, compiled on first use."""
    return regex.compile(source)


def well_formed(text: str) -> str:
    """Return the text without NUL and lone surrogates, which neither UTF-8 nor every database accepts."""
    if "\x00" in text:
        text = text.replace("\x00", "")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _LONE.sub("\ufffd", text).encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    return text


def normalize(form: Literal["NFC", "NFKC"], text: str) -> str:
    """Normalise the text to this Unicode form and keep at most 30 marks of a letter.

    Python sorts the marks of a letter in quadratic time: 4,000 of them take 0.2 s.
    """
    if text.isascii():
        return text
    if _PERHAPS_SURPLUS.search(text):
        text = unicode_pattern(_SURPLUS_MARKS).sub(r"\1", text)
    return unicodedata.normalize(form, text)


def clean(text: str) -> str:
    """Clean a text for a store and a chat: one line, single spaces, no control, invisible or surrogate characters."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    spaced = "".join(" " if character.isspace() else character for character in normalize("NFC", text))
    kept = (c for c in spaced if c in JOINERS or unicodedata.category(c) not in UNSEEN)
    return " ".join("".join(kept).split())


def read_object(text: str) -> dict[str, object] | None:
    """Parse a text as a JSON object; return None if it is not one, or nested too deep."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def cut_text(text: str, most_chars: int) -> str:
    """Return the text cut to this length, with an ellipsis at its end if it was longer."""
    return text if len(text) <= most_chars else text[: most_chars - 1] + "…"


def one_line(text: object, max_chars: int = LINE_CHARS) -> str:
    """Return the beginning of another program's text in one line, without control characters."""
    line = " ".join(well_formed(str(text)[: 4 * max_chars]).split())
    return "".join(char for char in line if char.isprintable())[:max_chars]
