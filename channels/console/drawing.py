"""Draws a conversation on a terminal that goes on scrolling: a pure machine from events to what is written.

The newest message stands above the line that a person types, and is drawn anew where it changes, as long as that is on
screen. Every row is broken here, at words, so that the machine knows where each begins.
"""

import unicodedata
from collections.abc import Sequence

PROMPT = "> "
GROWING = "…"  # stands at the end of an answer that is still being written
BREAK = "⏎"  # shown for a line break in what is typed

_UP, _RIGHT = "\x1b[{}A", "\x1b[{}C"
_CLEAR = "\r\x1b[J"


def width_of(text: str) -> int:
    """Columns a text takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in ("W", "F") for char in text)
    none = sum(unicodedata.category(char) in ("Mn", "Me", "Cf") for char in text)
    return len(text) + wide - none


def wrap(text: str, columns: int) -> list[str]:
    """The rows of a text, broken between words; a word that is too long is broken anywhere."""
    return [row for line in text.expandtabs(8).split("\n") for row in _wrap_line(line, max(2, columns))]


def _wrap_line(line: str, columns: int) -> list[str]:
    if line.isascii() and len(line) <= columns:
        return [line]
    rows: list[str] = []
    row, width = "", 0
    for word in line.split(" "):
        room = width_of(word)
        if row and width + 1 + room > columns:
            rows.append(row)
            row, width = word, room
        else:
            row, width = (f"{row} {word}", width + 1 + room) if row or rows or width else (word, room)
        if width > columns:
            *full, row = break_anywhere(row, columns)
            rows += full
            width = width_of(row)
    return [*rows, row]


def break_anywhere(text: str, columns: int) -> list[str]:
    """Pieces of at most so many columns, wherever that is; at least one."""
    pieces: list[str] = []
    piece: list[str] = []
    width = 0
    for char in text:
        room = width_of(char)
        if width + room > columns:
            pieces.append("".join(piece))
            piece, width = [], 0
        piece.append(char)
        width += room
    return [*pieces, "".join(piece)]


def printable(text: str) -> str:
    """The text without anything that moves a cursor (A67)."""
    return "".join([char if char in "\n\t" or unicodedata.category(char) != "Cc" else "\ufffd" for char in text])


class Drawing:
    """What stands on the screen, as far as it can be changed still: the last message, and the line that is typed."""

    def __init__(self, *, columns: int, rows: int) -> None:
        """`columns` and `rows` are the terminal's."""
        self.columns = columns
        self.rows = rows
        self._message = ""  # the id of the message that stands last, while nothing came after it
        self._shown: Sequence[str] = ()  # its rows
        self._typed = ""
        self._cursor = 0  # characters of what is typed before it
        self._above = 0  # rows of the typed line above the cursor, the empty one before it included

    def prompt(self) -> str:
        """Ask for words, where the cursor is."""
        return self._draw_typed()

    def type(self, text: str, cursor: int) -> str:
        """The person typed: the line as it is now, with so many characters before the cursor."""
        self._typed, self._cursor = printable(text).replace("\n", BREAK), cursor
        return self._back(0) + self._draw_typed()

    def submit(self) -> str:
        """The person pressed return: what stands is done with, and another line begins below it."""
        self._cursor = len(self._typed)
        whole = self._back(0) + self._draw_typed()
        self._message, self._shown, self._typed, self._cursor = "", (), "", 0
        return f"{whole}\n{self._draw_typed()}"

    def message(self, message_id: str, text: str, *, live: bool) -> str:
        """A message as it is now, above the line that is typed; `live`: it goes on."""
        text = printable(text)
        rows = wrap(text, self.columns - 1)
        if message_id != self._message:
            apart = "\n"
            self._message, before = message_id, 0
        else:
            apart, before = "", len(self._shown)
        same = self._same(rows) if before else 0
        if live and len(rows) > self.rows - self._above - 2:  # the sign would stay in the middle
            rows = wrap(text.removesuffix(GROWING).rstrip(), self.columns - 1)
            same = min(same, len(rows))
        written = "".join(f"{row}\n" for row in rows[same:])
        drawn = self._back(before - same) + apart + written
        self._shown = rows
        return drawn + self._draw_typed()

    def notice(self, text: str) -> str:
        """A word of the terminal's own, between what stands and what is typed."""
        self._message, self._shown = "", ()
        rows = wrap(printable(text), self.columns - 1)
        return self._back(0) + "\n" + "".join(f"{row}\n" for row in rows) + self._draw_typed()

    def _same(self, rows: Sequence[str]) -> int:
        """Rows that stay as they are: those that are, and those that have scrolled away."""
        same = 0
        for old, new in zip(self._shown, rows, strict=False):
            if old != new:
                break
            same += 1
        visible = max(0, self.rows - 1 - self._above)
        return min(max(same, len(self._shown) - visible), len(rows))

    def _back(self, rows: int) -> str:
        """To the beginning of the typed line's place, or so many rows above it; all below is cleared."""
        up = self._above + rows
        return (_UP.format(up) if up else "") + _CLEAR

    def _draw_typed(self) -> str:
        """An empty row, the prompt and what is typed; the cursor where it is in that."""
        whole, place = PROMPT + self._typed, len(PROMPT) + self._cursor
        rows, before = break_anywhere(whole, self.columns - 1), break_anywhere(whole[:place], self.columns - 1)
        self._above = len(before)
        below, column = len(rows) - len(before), width_of(before[-1])
        written = "\n" + "\n".join(rows)
        if below or column != width_of(rows[-1]):
            written += (_UP.format(below) if below else "") + "\r" + (_RIGHT.format(column) if column else "")
        return written
