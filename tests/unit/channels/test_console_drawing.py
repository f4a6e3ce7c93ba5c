"""A conversation on a terminal: answers grow where they stand. Checked on a small terminal of our own."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.console.drawing import BREAK, Drawing, break_anywhere, printable, width_of, wrap

COLUMNS, ROWS = 20, 8


class Terminal:
    """Understands what `Drawing` writes: text, newlines, carriage returns, cursor up and right, clear to the end."""

    def __init__(self, rows: int = ROWS) -> None:
        self.rows = rows
        self.lines = [""]
        self.row = self.column = 0

    def write(self, text: str) -> None:
        """Draw it; lines wrap at the edge."""
        for piece in re.findall(r"\x1b\[\d*[A-Z]|.", text, re.DOTALL):
            if piece.startswith("\x1b"):
                count, what = int(piece[2:-1] or 1), piece[-1]
                if what == "A":
                    assert count <= self.row - max(0, len(self.lines) - self.rows), "above the screen"
                    self.row -= count
                elif what == "C":
                    self.column += count
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
    terminal.write(drawn.type("hello", 5))
    terminal.write(drawn.submit())
    return drawn, terminal


def test_an_answer_grows_above_the_line_that_is_typed():
    """A placeholder, more and more text, the end: it stands once, and what was typed meanwhile stays below."""
    drawn, terminal = drawing()
    terminal.write(drawn.message("b-1", "…", live=True))
    terminal.write(drawn.type("and no", 6))
    for text in ("You …", "You practised …"):
        terminal.write(drawn.message("b-1", text, live=True))
    terminal.write(drawn.type("and now", 7))
    terminal.write(drawn.message("b-1", "You practised well.\nGo on.", live=False))
    assert "\n> hello\n\nYou practised well.\nGo on.\n\n> and now" == terminal.shown
    assert len("> and now") == terminal.column


def test_change_before_the_end_is_drawn_anew():
    """An answer that was laid out differently at first is replaced where it stands."""
    drawn, terminal = drawing()
    terminal.write(drawn.message("b-1", "a long line that wraps around …", live=True))
    assert "\n> hello\n\na long line that\nwraps around …\n\n> " == terminal.shown
    terminal.write(drawn.message("b-1", "short", live=False))
    assert "\n> hello\n\nshort\n\n> " == terminal.shown


def test_second_message_and_notices_stand_below():
    """The prompt moves down with them; what is edited afterwards is drawn in place while it is the last."""
    drawn, terminal = drawing()
    terminal.write(drawn.message("b-1", "one", live=False))
    terminal.write(drawn.message("b-2", "two", live=False))
    terminal.write(drawn.message("b-2", "another two", live=False))
    terminal.write(drawn.notice("It is back."))
    terminal.write(drawn.type("so", 1))
    assert "\n> hello\n\none\n\nanother two\n\nIt is back.\n\n> so" == terminal.shown
    assert len("> s") == terminal.column


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


def test_a_long_line_is_typed_over_several_rows():
    """The cursor is where it is in them; a line break in it is a sign."""
    drawn, terminal = drawing()
    terminal.write(drawn.type("a" * 30 + "\nb", 3))
    assert terminal.shown.endswith("\n> " + "a" * 17 + "\n" + "a" * 13 + BREAK + "b")
    assert ("> aaa", 5) == (terminal.lines[terminal.row][:5], terminal.column)
    terminal.write(drawn.message("b-1", "one", live=False))
    assert "\n> hello\n\none\n\n> " + "a" * 17 + "\n" + "a" * 13 + BREAK + "b" == terminal.shown


@pytest.mark.parametrize("bad", ["\x1b[2J", "\x07", "\r", "\x9b31m", "\x00"])
def test_nothing_in_a_message_moves_the_cursor(bad: str):
    """A67: control characters of a message are not sent to the terminal."""
    assert not set(bad) & set("\x1b\x07\r\x9b\x00") & set(printable(f"a{bad}b"))


@given(st.lists(st.text(st.sampled_from("ab 日\n\t…"), max_size=60), max_size=6), st.integers(0, 9))
def test_whatever_comes_the_last_message_and_the_line_stand_once(texts: list[str], cursor: int):
    """On a screen that is high enough: its rows, an empty one, and what is typed."""
    terminal, drawn = Terminal(1000), Drawing(columns=COLUMNS, rows=1000)
    terminal.write(drawn.prompt() + drawn.type("typed now", cursor))
    for text in texts:
        terminal.write(drawn.message("b-1", text, live=True))
    expected = ["", *wrap(texts[-1], COLUMNS - 1), ""] if texts else [""]
    assert [*(row.replace("日", "日") for row in expected), "> typed now"] == [
        line.rstrip("\0") for line in terminal.lines
    ]


@given(st.text(st.sampled_from("ab 日\n"), max_size=80), st.integers(2, 40))
def test_rows_are_broken_at_words_and_nothing_is_lost(text: str, columns: int):
    """No row is wider than the terminal, and the words are those that came, in their order."""
    rows = wrap(text, columns)
    assert all(width_of(row) <= columns for row in rows)
    assert text.replace("\n", "").replace(" ", "") == "".join(rows).replace(" ", "")
    assert all(width_of(piece) <= columns for piece in break_anywhere(text.replace("\n", ""), columns))


def test_wide_characters_take_two_columns():
    """And combining ones none."""
    assert (4, 1, 2) == (width_of("日本"), width_of("e\u0301"), width_of("ab"))
