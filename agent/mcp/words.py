"""Texts of other programs in a line for operators and models; pure."""

from agent.wellformed import well_formed

MAX_CHARS = 200


def one_line(text: object, max_chars: int = MAX_CHARS) -> str:
    """Return the beginning of a text in one line, without control characters."""
    line = " ".join(well_formed(str(text)[: 4 * max_chars]).split())
    return "".join(char for char in line if char.isprintable())[:max_chars]
