"""Draws a conversation on a terminal that goes on scrolling: a pure machine from events to what is written.

An answer that grows is written on; one that changes is drawn anew where it stands, as long as all of it is on screen.
"""

import unicodedata

PROMPT = "> "
GROWING = "…"  # stands at the end of an answer that is still being written

_UP = "\x1b[{}A"
_CLEAR = "\r\x1b[J"


def width_of(text: str) -> int:
    """Columns a text takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in ("W", "F") for char in text)
    none = sum(unicodedata.category(char) in ("Mn", "Me", "Cf") for char in text)
    return len(text) + wide - none


def rows_of(text: str, columns: int) -> int:
    """Screen rows that a text takes, at least one."""
    return sum(max(1, -(-width_of(line.expandtabs(8)) // columns)) for line in text.split("\n"))


def printable(text: str) -> str:
    """The text without anything that moves a cursor (A67)."""
    return "".join([char if char in "\n\t" or unicodedata.category(char) != "Cc" else "\ufffd" for char in text])


class Drawing:
    """What stands on the screen, as far as it can be changed still."""

    def __init__(self, *, columns: int, rows: int) -> None:
        """`columns` and `rows` are the terminal's."""
        self.columns = columns
        self.rows = rows
        self._message = ""  # the id of the message that was written last, while nothing came after it
        self._text = ""  # of that message, as it stands
        self._prompted = False  # the prompt stands below it

    def prompt(self) -> str:
        """Ask for words."""
        self._prompted = True
        return PROMPT

    def finish_line(self) -> str:
        """The person pressed return: what stands above is done with."""
        self._message, self._prompted = "", False
        return ""

    def message(self, message_id: str, text: str, *, live: bool) -> str:
        """A message as it is now; with the prompt below it unless it goes on."""
        text = printable(text)
        if rows_of(text, self.columns) >= self.rows:  # it can only be written on: the sign would stay in the middle
            text = text.removesuffix(GROWING).rstrip()
        drawn = self._again(text) if message_id == self._message else self._anew(text)
        self._message, self._text = message_id, text
        self._prompted = False
        return drawn if live else f"{drawn}\n\n{self.prompt()}"

    def _anew(self, text: str) -> str:
        before = _CLEAR if self._prompted else ""
        apart = "\n\n" if self._message and not self._prompted else ""
        return f"{before}{apart}{text}"

    def _again(self, text: str) -> str:
        stood = self._text.removesuffix(GROWING).rstrip()
        on_screen = rows_of(self._text, self.columns) + (2 if self._prompted else 0)
        if not self._prompted and not self._text.endswith(GROWING) and text.startswith(self._text):
            return text[len(self._text) :]
        if on_screen >= self.rows:  # its begin has scrolled away
            return text[len(stood) :].lstrip(" ") if text.startswith(stood) else f"\n\n{text}"
        return (_UP.format(on_screen - 1) if on_screen > 1 else "") + _CLEAR + text
