"""Text for a terminal: its width, and removal of control characters."""

import unicodedata


def width_of(text: str) -> int:
    """Return the columns that a text takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in ("W", "F") for char in text)
    none = sum(unicodedata.category(char) in ("Mn", "Me", "Cf") for char in text)
    return len(text) + wide - none


def printable(text: str) -> str:
    """Replace each control character except newline and tab."""
    return "".join([char if char in "\n\t" or unicodedata.category(char) != "Cc" else "\ufffd" for char in text])
