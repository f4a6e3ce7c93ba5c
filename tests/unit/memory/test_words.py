"""Words as full-text search compares them."""

import pytest

from agent.memory.words import MAX_TERMS, snippet, terms_of, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Práctica, PRÁCTICA; practica!", ["practica"]),
        ("Año nuevo: ¿cómo estás?", ["ano", "nuevo", "como", "estas"]),
        ("3km in 25 min_", ["3km", "in", "25", "min"]),
        ("ﬁne Straße Ω", ["fine", "strasse", "ω"]),
        ("a\u0301\u0301 \ud800 \x00 🎹 _", ["a"]),
        ("x" * 100, ["x" * 40]),
        ("", []),
    ],
)
def test_words_have_no_case_accents_or_signs(text: str, words: list[str]) -> None:
    assert words == words_of(text)


def test_a_query_is_searched_for_by_its_longest_telling_words() -> None:
    assert ["knee", "pain", "spring"] == [term.text for term in terms_of("What was my knee pain in the springs?")]
    assert ["rodilla", "duele"] == [term.text for term in terms_of("¿Qué le duele a la rodilla?")][::-1]
    assert () == terms_of("and the?")
    assert MAX_TERMS == len(terms_of(" ".join(f"word{number}" for number in range(100))))


def test_a_term_finds_other_forms_of_its_word() -> None:
    (practise,) = terms_of("practising")
    assert all(practise.matches(word) for word in ("practise", "practises", "practising"))
    (short,) = terms_of("4x")
    assert (True, False) == (short.matches("4x"), short.matches("4xx"))


def test_a_snippet_is_the_place_where_most_words_stand_together() -> None:
    text = f"Bach. {'and so on ' * 100}I played Bach on the cello\n{'and so on ' * 100}"
    found = snippet(text, terms_of("bach cello"))
    assert "Bach on the cello" in found
    assert len(found) <= 242
    assert found.startswith("…") and found.endswith("…") and "\n" not in found
    assert "short" == snippet("short", terms_of("x"))
    assert 242 >= len(snippet("x" * 1_000, terms_of("y")))
