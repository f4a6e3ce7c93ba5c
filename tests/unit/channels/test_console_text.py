"""Text for a terminal: its width, and no control characters."""

import pytest

from channels.console.text import printable, width_of


@pytest.mark.parametrize("bad", ["\x1b[2J", "\x07", "\r", "\x9b31m", "\x00"])
def test_control_characters_of_a_message_are_replaced(bad: str):
    assert not set(bad) & set("\x1b\x07\r\x9b\x00") & set(printable(f"a{bad}b"))


def test_wide_characters_take_two_columns_and_combining_ones_none():
    assert (4, 1, 2) == (width_of("日本"), width_of("e\u0301"), width_of("ab"))
