"""A conversation on a terminal: answers grow where they stand. Checked on a small terminal of our own."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.console.drawing import Drawing, printable, rows_of, width_of

COLUMNS, ROWS = 20, 8


class Terminal:
    """Understands what `Drawing` writes: text, newlines, carriage returns, cursor up, clear to the end."""

    def __init__(self) -> None:
        self.lines = [""]
        self.row = self.column = 0

    def write(self, text: str) -> None:
        """Draw it; lines wrap at the edge."""
        for piece in re.findall(r"\x1b\[\d*[A-Z]|.", text, re.DOTALL):
            if piece.startswith("\x1b"):
                count, what = int(piece[2:-1] or 1), piece[-1]
                if what == "A":
                    assert count <= self.row - max(0, len(self.lines) - ROWS), "above the screen"
                    self.row -= count
                else:
                    del self.lines[self.row + 1 :]
                    self.lines[self.row] = self.lines[self.row][: self.column]
            elif piece == "\r":
                self.column = 0
            elif piece == "\n":
                self._next()
            else:
                if self.column == COLUMNS:
                    self._next()
                self.lines[self.row] = self.lines[self.row][: self.column].ljust(self.column) + piece
                self.column += 1

    def _next(self) -> None:
        self.row, self.column = self.row + 1, 0
        if self.row == len(self.lines):
            self.lines.append("")

    @property
    def shown(self) -> str:
        """Everything that stands."""
        return "\n".join(self.lines)


def drawing() -> tuple[Drawing, Terminal]:
    """A prompt that has been answered with return."""
    terminal, drawn = Terminal(), Drawing(columns=COLUMNS, rows=ROWS)
    terminal.write(drawn.prompt())
    terminal.write("hello\n")
    terminal.write(drawn.finish_line())
    return drawn, terminal


def test_answer_grows_and_ends_with_a_prompt():
    """A placeholder, more and more text, the end: it stands once."""
    drawn, terminal = drawing()
    for text in ("…", "You …", "You practised …"):
        terminal.write(drawn.message("b-1", text, live=True))
    terminal.write(drawn.message("b-1", "You practised well.\nGo on.", live=False))
    assert "> hello\nYou practised well.\nGo on.\n\n> " == terminal.shown


def test_change_before_the_end_is_drawn_anew():
    """An answer that was laid out differently at first is replaced where it stands."""
    drawn, terminal = drawing()
    terminal.write(drawn.message("b-1", "a long line that wraps around …", live=True))
    terminal.write(drawn.message("b-1", "short", live=False))
    assert "> hello\nshort\n\n> " == terminal.shown


def test_second_message_stands_below():
    """The prompt moves down with it."""
    drawn, terminal = drawing()
    terminal.write(drawn.message("b-1", "one", live=False))
    terminal.write(drawn.message("b-2", "two", live=False))
    assert "> hello\none\n\ntwo\n\n> " == terminal.shown


def test_edit_after_the_end_is_drawn_in_place():
    """The prompt below it goes and comes again."""
    drawn, terminal = drawing()
    terminal.write(drawn.message("b-1", "one", live=False))
    terminal.write(drawn.message("b-1", "another", live=False))
    assert "> hello\nanother\n\n> " == terminal.shown


def test_answer_taller_than_the_screen_only_grows():
    """What has scrolled away is not drawn again: nothing is lost, nothing stands twice."""
    drawn, terminal = drawing()
    lines = [f"line {number}" for number in range(30)]
    for count in range(1, 30):
        terminal.write(drawn.message("b-1", "\n".join(lines[:count]) + " …", live=True))
    terminal.write(drawn.message("b-1", "\n".join(lines), live=False))
    for line in lines:
        assert 1 == len(re.findall(rf"^{line}$", terminal.shown, re.MULTILINE)), line
    assert "…" not in terminal.shown


@pytest.mark.parametrize("bad", ["\x1b[2J", "\x07", "\r", "\x9b31m", "\x00"])
def test_nothing_in_a_message_moves_the_cursor(bad: str):
    """A67: control characters of a message are not sent to the terminal."""
    assert not set(bad) & set("\x1b\x07\r\x9b\x00") & set(printable(f"a{bad}b"))


@given(st.text(max_size=80), st.integers(1, 40))
def test_rows_are_counted_as_a_terminal_wraps(text: str, columns: int):
    """Never fewer than lines, never fewer than the width needs."""
    rows = rows_of(printable(text).replace("\t", " "), columns)
    assert rows >= 1 + printable(text).count("\n")


def test_wide_characters_take_two_columns():
    """And combining ones none."""
    assert (4, 1, 2) == (width_of("日本"), width_of("e\u0301"), width_of("ab"))
