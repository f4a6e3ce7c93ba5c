"""A live answer without the marks of unfinished markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.markdown.layout import plain_text
from channels.markdown.parse import parse
from gateway.delivery.pages import close_open_markup


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("You did **45 min", "You did **45 min**"),
        ("_I am the offline", "_I am the offline_"),
        ("Send `/log 45m", "Send `/log 45m`"),
        ("**bold and `code", "**bold and `code`**"),
        ("so far so **", "so far so"),
        ("Read [the method](https://exam", "Read the method"),
        ("Done.\n\n##", "Done.\n"),
        ("- one\n- **two", "- one\n- **two**"),
        ("1. one\n   -", "1. one"),
        ("1. one\n2.", "1. one"),
        ("no title yet\n==", "no title yet"),
    ],
)
def test_what_is_open_is_closed(written: str, shown: str) -> None:
    assert shown == close_open_markup(written)


@pytest.mark.parametrize(
    "whole",
    ["**bold** and _italic_", "snake_case and 2 * 3", "`a * b`", "a \\* b", "```python\nx = a ** 2", "", "* item"],
)
def test_what_is_whole_stays(whole: str) -> None:
    assert whole == close_open_markup(whole)


@given(st.integers(0, 200))
def test_no_prefix_of_an_answer_shows_a_bare_mark(length: int) -> None:
    answer = "## A week\n\nYou did **4 h**, _well done_. Send `/log 45m x`, see [it](https://e.org).\n\n- **Goal**: `5`"
    assert set() == set("*_`[]#") & set(plain_text(parse(close_open_markup(answer[:length]))))


@given(st.text(alphabet="ab *_`\\[](\n#", max_size=60))
def test_it_never_fails_and_settles(text: str) -> None:
    assert isinstance(close_open_markup(close_open_markup(text)), str)


def test_thousands_of_bare_marks_are_left_out_one_by_one() -> None:
    assert "a" == close_open_markup("a" + " *" * 5000)
    assert "a **b**" == close_open_markup("a **b" + " _" * 5000)
