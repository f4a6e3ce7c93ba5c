"""The Discord resume point as text."""

import pytest

from channels.discord.cursor import Cursor, GatewaySession, read_cursor, write_cursor


def test_what_is_written_is_read():
    cursor = Cursor(GatewaySession("s", "wss://g", 7), 99, gap=True, behind=50).at(8)
    assert Cursor(GatewaySession("s", "wss://g", 8), 99, gap=True, behind=50) == read_cursor(write_cursor(cursor))


def test_the_cursor_of_a_release_before_is_read():
    assert Cursor(None, 99, gap=True) == read_cursor('{"session":null,"last":99,"gap":true,"direct":["3","1"]}')


@pytest.mark.parametrize(
    "text", [None, "", "not json", "[]", '{"last":"x"}', '{"session":7}', '{"behind":"x"}', '{"session":{"id":1}}']
)
def test_anything_else_is_a_first_start(text: str | None):
    assert Cursor() == read_cursor(text)


@pytest.mark.parametrize(
    ("expected", "cursor"),
    [
        (None, Cursor(last=99)),
        (99, Cursor(last=99, gap=True)),
        (50, Cursor(last=99, behind=50)),
        (50, Cursor(last=99, gap=True, behind=50)),
        (99, Cursor(last=99, gap=True, behind=200)),
    ],
)
def test_what_was_not_read_is_read_again_from_where_it_begins(expected: int | None, cursor: Cursor):
    assert expected == cursor.unread_from
