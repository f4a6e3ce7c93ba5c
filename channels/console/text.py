"""Text for a terminal: its width, and removal of control characters."""

import re
import unicodedata


def width_of(text: str) -> int:
    """Return the columns that a text takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in ("W", "F") for char in text)
    none = sum(unicodedata.category(char) in ("Mn", "Me", "Cf") for char in text)
    return len(text) + wide - none


_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Replace each control character except newline and tab, and those that change the direction of writing."""
    return _UNPRINTABLE.sub("\ufffd", text)
