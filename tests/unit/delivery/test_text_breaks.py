"""Places to cut a text, and the longest piece that fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.delivery.block_splitter import cut_before, longest


@pytest.mark.parametrize(
    ("text", "most", "head"),
    [
        ("one line\nanother line", 15, "one line"),
        ("One sentence. Another one here", 25, "One sentence."),
        ("Is it? Yes! Dr. Who went on and on", 21, "Is it? Yes!"),
        ("It costs 3.50 euros, v1.2.3 too and more", 30, "It costs 3.50 euros, v1.2.3"),
        ("これは文です。それも文です。", 10, "これは文です。"),
        ("two words", 6, "two"),
        ("averylongword", 5, "avery"),
        ("a averyveryverylongword", 12, "a averyveryv"),
        ("abcde\u0301f", 5, "abcd"),
        ("abc👨\u200d👩\u200d👧", 6, "abc"),
        ("🇩🇪🇫🇷", 3, "🇩🇪"),
        ("all of it", 9, "all of it"),
    ],
)
def test_the_coarsest_boundary_near_the_end_wins(text, most, head):
    assert head == text[: cut_before(text, most)]


def test_a_range_is_kept_whole_where_a_word_ends_before_it():
    text = "now see some long label here"
    assert "now see" == text[: cut_before(text, 18, [(8, 23)])]
    assert "now see some long" == text[: cut_before(text, 18, [(0, 28)])]


def test_a_word_is_not_parted_where_that_is_forbidden():
    assert 0 == cut_before("averylongword", 5, parts_words=False)


@given(st.text(min_size=2), st.data())
def test_a_cut_is_within_bounds(text, data):
    most = data.draw(st.integers(1, len(text)))
    assert 1 <= cut_before(text, most) <= most


@given(st.lists(st.integers(0, 9), max_size=200), st.integers(0, 500), st.integers(0, 50))
def test_the_longest_fit_is_found(sizes, limit, base):

    def size(count: int) -> int:
        return base + sum(sizes[:count])

    found = longest(len(sizes), size, limit)
    assert found == 0 or size(found) <= limit
    assert found == len(sizes) or size(found) == limit or size(found + 1) > limit
