"""The line a person types: keys as terminals send them, in whatever pieces they come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.console.line_editor import LineEditor

UP, DOWN, LEFT, HOME, DELETE = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b[H", "\x1b[3~"


def typed(*keys: str) -> tuple[LineEditor, list[str]]:
    """The editor after these, and the lines that were complete."""
    editor = LineEditor()
    return editor, [line for key in keys for line in editor.feed(key.encode())]


@pytest.mark.parametrize(
    ("keys", "text", "cursor"),
    [
        ("hello", "hello", 5), ("helo" + LEFT + "l", "hello", 4), ("xhello" + HOME + DELETE, "hello", 0),
        ("hello you\x17", "hello ", 6), ("hello\x15", "", 0), ("hello" + HOME + "\x0b", "", 0),
        ("hellö\x7fo", "hello", 5),
        ("a\x1b[24~b\x1bOPc\x07d", "abcd", 4), ("\x1b[200~one\ntwo\x1b[201~", "one\ntwo", 7),
    ],
)  # fmt: skip
def test_keys_do_what_they_do_elsewhere(keys: str, text: str, cursor: int) -> None:
    """Also keys that mean nothing here, and several lines that are pasted."""
    editor, lines = typed(keys)
    assert (text, cursor, []) == (editor.text, editor.cursor, lines)


def test_lines_that_were_said_come_back() -> None:
    """Up goes to older ones, down to the line that was being typed; an empty one and a repeated one are not kept."""
    editor, lines = typed("one\r", "two\n", "two\r", "\r", "thr", UP, UP)
    assert (["one", "two", "two", ""], "one") == (lines, editor.text)
    editor.feed((DOWN + DOWN + "ee").encode())
    assert "three" == editor.text


def test_the_input_ends_on_an_empty_line_only() -> None:
    """Elsewhere Ctrl-D takes the character under the cursor."""
    editor, _ = typed("ab" + HOME + "\x04")
    assert ("b", False) == (editor.text, editor.ended)
    editor.feed(b"\x04\x04")
    assert editor.ended


@given(st.text(st.sampled_from("aé日😀\x1b[ACD3~\r\x7f\x17"), max_size=40), st.integers(1, 5))
def test_pieces_make_no_difference(text: str, size: int) -> None:
    """Keys that arrive byte by byte are the same keys, but for a lone escape, which waits for what follows."""
    keys = text.replace("\x1b", "\x1b[").encode()
    whole, broken = LineEditor(), LineEditor()
    lines = whole.feed(keys)
    pieces = [line for at in range(0, len(keys), size) for line in broken.feed(keys[at : at + size])]
    assert (lines, whole.text, whole.cursor) == (pieces, broken.text, broken.cursor)
