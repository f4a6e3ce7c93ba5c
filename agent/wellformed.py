"""Text that every encoder and every database takes (F40), and that no function of a library takes long over; pure."""

import re
import unicodedata
from typing import Literal

import regex

MAX_MARKS = 30
"""Marks on one letter; more are no writing (UAX 15, "Stream-Safe Text Format", Unicode 17, read 2026-11)."""

JOINERS = "\u200d\ufe0f"  # zero-width joiner and emoji variation: the only invisible characters that are kept
UNSEEN = ("Cc", "Cf", "Cs")  # control, format (bidi, tags, zero width), surrogate

_LONE = re.compile("[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")
_SURPLUS_MARKS = regex.compile(rf"(?<!\p{{M}})(\p{{M}}{{{MAX_MARKS}}})\p{{M}}++")


def well_formed(text: str) -> str:
    """The text without NUL and lone surrogates, which neither UTF-8 nor every database takes."""
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
    """The text in this form of Unicode; of a letter's marks the first 30 are kept.

    Python puts the marks of a letter in order by moving each past those before it: 4,000 of them take 0.2 s.
    """
    if text.isascii():
        return text
    return unicodedata.normalize(form, _SURPLUS_MARKS.sub(r"\1", text))


def clean(text: str) -> str:
    """Text a store and a chat can hold: one line, no control, invisible or surrogate characters, single spaces."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    spaced = "".join(" " if character.isspace() else character for character in normalize("NFC", text))
    kept = (c for c in spaced if c in JOINERS or unicodedata.category(c) not in UNSEEN)
    return " ".join("".join(kept).split())
