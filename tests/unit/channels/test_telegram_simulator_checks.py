"""Text and entities as Telegram takes them: the rules every rendering is measured by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.simulators.telegram.checks import Refusal, check_text, utf16_length


def _entity(kind: str, offset: int, length: int, **more: object) -> dict[str, object]:
    return {"type": kind, "offset": offset, "length": length} | more


@pytest.mark.parametrize(
    ("text", "entities", "words"),
    [
        ("", None, "message text is empty"),
        (" \n\t ", None, "message text is empty"),
        ("x" * 4097, None, "message is too long"),
        ("🎹" * 2049, None, "message is too long"),
        ("x" * 33_000, None, "text is too long"),
        ("a\ud800", None, "UTF-8"),
        ("aba caba", [_entity("bold", 9, 1)], "begins after the end of the text"),
        ("aba caba", [_entity("bold", 3, 6)], "ends after the end of the text"),
        ("aba caba", [_entity("bold", -1, 1)], "incorrect offset -1"),
        ("aba caba", [_entity("bold", 0, -1)], "incorrect length -1"),
        ("👉 👉", [_entity("bold", 1, 1)], "begins in a middle of a UTF-16 symbol"),
        ("👉 👉", [_entity("bold", 0, 1)], "ends in a middle of a UTF-16 symbol"),
        ("abc", [_entity("shout", 0, 1)], "can't parse MessageEntity"),
        ("abc", [_entity("text_link", 0, 1)], "can't parse MessageEntity"),
        ("abc", ["bold"], "can't parse MessageEntity"),
    ],
)
def test_what_telegram_refuses(text: str, entities: object, words: str):
    with pytest.raises(Refusal, match=words) as refused:
        check_text(text, entities)
    assert 400 == refused.value.status


@pytest.mark.parametrize(
    ("text", "entities", "shown", "kept"),
    [
        ("  hi \n", None, "hi", []),
        ("  hi  ", [_entity("bold", 2, 4)], "hi", [("bold", 0, 2)]),
        (" x hi", [_entity("code", 1, 1)], "x hi", [("code", 0, 1)]),
        ("a\x00b\rc", [_entity("bold", 4, 1)], "a bc", [("bold", 3, 1)]),
        ("hi  x", [_entity("bold", 2, 2)], "hi  x", []),
        ("🎹 hi", [_entity("bold", 3, 2)], "🎹 hi", [("bold", 3, 2)]),
        ("abcdef", [_entity("bold", 0, 4), _entity("italic", 2, 4)], "abcdef", [("bold", 0, 4), ("italic", 2, 2)]),
        ("abcdef", [_entity("bold", 0, 6), _entity("code", 2, 2)], "abcdef", [("code", 2, 2)]),
        ("abcd", [_entity("blockquote", 0, 4), _entity("code", 2, 2)], "abcd", [("blockquote", 0, 4), ("code", 2, 2)]),
        ("hello @you", [_entity("mention", 6, 4)], "hello @you", []),
        ("abc", [_entity("bold", 0, 0)], "abc", []),
    ],
)
def test_what_telegram_makes_of_it(text: str, entities: object, shown: str, kept: list[tuple[str, int, int]]):
    seen, entities_kept = check_text(text, entities)
    assert shown == seen
    assert kept == [(one["type"], one["offset"], one["length"]) for one in entities_kept]


def test_only_a_hundred_entities_count():
    _, kept = check_text("ab " * 150, [_entity("bold", 3 * n, 2) for n in range(150)])
    assert 100 == len(kept)


@given(
    st.text(st.sampled_from("ab \n🎹é\x00"), max_size=30),
    st.lists(
        st.tuples(st.sampled_from(["bold", "code", "blockquote"]), st.integers(0, 20), st.integers(0, 20)), max_size=5
    ),
)
def test_what_is_taken_fits_its_text(text: str, wanted: list[tuple[str, int, int]]):
    try:
        shown, kept = check_text(text, [_entity(*one) for one in wanted])
    except Refusal:
        return
    spans = [(int(str(one["offset"])), int(str(one["offset"])) + int(str(one["length"]))) for one in kept]
    boundaries = {utf16_length(shown[:n]) for n in range(len(shown) + 1)}
    assert all(start in boundaries and end in boundaries for start, end in spans)
    crossing = [(a, b) for a in spans for b in spans if a[0] < b[0] < a[1] < b[1]]
    assert [] == crossing
