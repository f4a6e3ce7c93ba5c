"""The Discord resume point as text."""

import pytest

from channels.discord.cursor import MOST_DIRECT, Cursor, Direct, Session, read_cursor, write_cursor


def test_what_is_written_is_read():
    """Session, last message, an open gap and the direct conversations, in their order."""
    direct = Direct()
    for channel in ("3", "1", "3"):
        direct.add(channel)
    cursor = Cursor(Session("s", "wss://g", 7), 99, gap=True).at(8)
    found, known = read_cursor(write_cursor(cursor, direct))
    assert Cursor(Session("s", "wss://g", 8), 99, gap=True) == found
    assert ["3", "1"] == list(known.channels)


@pytest.mark.parametrize(
    "text", [None, "", "not json", "[]", '{"last":"x"}', '{"session":7}', '{"direct":[7,"x"]}', '{"session":{"id":1}}']
)
def test_anything_else_is_a_first_start(text: str | None):
    """A cursor of another release or another channel does no harm."""
    found, direct = read_cursor(text)
    assert (Cursor(), []) == (found, list(direct.channels))


def test_it_does_not_grow_for_ever():
    """The latest 500 direct conversations are kept; nothing else grows."""
    direct = Direct()
    for channel in range(2 * MOST_DIRECT):
        direct.add(str(channel))
    assert (MOST_DIRECT, "500") == (len(direct.channels), next(iter(direct.channels)))
    assert len(write_cursor(Cursor(), direct)) < 4_000
