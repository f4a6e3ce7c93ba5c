"""Well-formed text: every encoder takes it, and no function is slow on it."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from agent.wellformed import MAX_MARKS, normalize, well_formed

PIECES = st.text(st.sampled_from("\ud800\udbff\udc00\udfffab\U0001f600\x00"))


@given(PIECES)
def test_lone_surrogates_become_one_sign_each_and_pairs_a_character(text: str) -> None:
    """Cover F40."""
    bare = text.replace("\x00", "")
    assert bare.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") == well_formed(text)


@given(st.text(max_size=40))
def test_ordinary_text_is_normalised_as_by_the_library(text: str) -> None:
    assert unicodedata.normalize("NFC", text) == normalize("NFC", text)
    assert unicodedata.normalize("NFKC", text) == normalize("NFKC", text)


def test_a_letter_keeps_thirty_marks() -> None:
    marks = "\u0301\u0323" * 40
    assert MAX_MARKS == sum(1 for sign in normalize("NFC", f"x{marks}y") if unicodedata.combining(sign))
    assert normalize("NFC", f"x{marks}y").endswith("y")
