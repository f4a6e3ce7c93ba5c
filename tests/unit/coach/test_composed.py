"""Sentences put together from parts: what is written is what was said, and nothing where the rest takes it back."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.amounts import share
from tests.unit.coach.corpus import Understood, understand

NOW = datetime(2026, 11, 18, 20, 30, tzinfo=UTC)  # a Wednesday
SKILLS = {"en": ("guitar", "piano"), "es": ("guitarra", "piano")}

AMOUNTS = {
    "en": {
        "45 minutes": 45,
        "an hour and a half": 90,
        "half an hour": 30,
        "1h15": 75,
        "twenty-five minutes": 25,
        "three quarters of an hour": 45,
        "two hours": 120,
        "1.5 hours": 90,
        "an hour and ten minutes": 70,
    },
    "es": {
        "45 minutos": 45,
        "hora y media": 90,
        "media hora": 30,
        "1h15": 75,
        "veinticinco minutos": 25,
        "tres cuartos de hora": 45,
        "dos horas": 120,
        "1,5 horas": 90,
        "una hora y diez minutos": 70,
        "hora y cuarto": 75,
    },
}
DAYS = {
    "en": {
        "": 0,
        "today": 0,
        "yesterday": 1,
        "last friday": 5,
        "on monday": 2,
        "3 days ago": 3,
        "last night": 1,
        "on the 16th": 2,
    },
    "es": {
        "": 0,
        "hoy": 0,
        "ayer": 1,
        "el viernes pasado": 5,
        "el lunes": 2,
        "hace 3 días": 3,
        "anoche": 1,
        "el 16": 2,
    },
}
"""How many days back."""

SURE = {
    "en": (
        "I practised {skill} for {amount} {day}",
        "{day} I practised {skill} for {amount}",
        "I did {amount} of {skill} {day}",
        "I played the {skill} for {amount} {day}",
        "I've practised {skill} for {amount} {day}",
        "{day} I spent {amount} on {skill}",
    ),
    "es": (
        "{day} practiqué {skill} {amount}",
        "practiqué {amount} de {skill} {day}",
        "{day} toqué {skill} durante {amount}",
        "{day} hice {amount} de {skill}",
        "{day} estuve practicando {skill} {amount}",
        "{day} he practicado {skill} {amount}",
    ),
}
TAKEN_BACK = {
    "en": (
        "I didn't practise {skill} for {amount} {day}",
        "I wanted to practise {skill} for {amount} {day}",
        "I will practise {skill} for {amount}",
        "if I practised {skill} for {amount} {day} I would know",
        "my sister practised {skill} for {amount} {day}",
        "did I practise {skill} for {amount} {day}?",
        "I practised {skill} for {amount} {day}, just kidding",
        "she said I practised {skill} for {amount} {day}",
        "remind me to practise {skill} for {amount}",
        "my goal is {amount} of {skill} a day",
        "the {skill} video lasts {amount}",
        "{amount} of {skill} tomorrow",
        "I practised {skill} for {amount} in my dreams {day}",
        "I practise {skill} {amount} every day",
        "I almost practised {skill} for {amount} {day}",
        "no {skill} {day}, not even {amount}",
        "I never practised {skill} for {amount}",
    ),
    "es": (
        "{day} no practiqué {skill} {amount}",
        "{day} quería practicar {skill} {amount}",
        "practicaré {skill} {amount}",
        "si {day} practiqué {skill} {amount} lo sabría",
        "mi hermana practicó {skill} {amount} {day}",
        "¿{day} practiqué {skill} {amount}?",
        "{day} practiqué {skill} {amount}, es broma",
        "ella dijo que practiqué {skill} {amount}",
        "recuérdame practicar {skill} {amount}",
        "mi meta son {amount} de {skill} al día",
        "el vídeo de {skill} dura {amount}",
        "{amount} de {skill} mañana",
        "{day} practiqué {skill} {amount} en sueños",
        "practico {skill} {amount} cada día",
        "{day} casi practico {skill} {amount}",
        "{day} nada de {skill}, ni {amount}",
        "nunca practiqué {skill} {amount}",
    ),
}


WORDS = [
    "I",
    "practised",
    "played",
    "did",
    "guitar",
    "piano",
    "45m",
    "45",
    "minutes",
    "an",
    "hour",
    "and",
    ",",
    ".",
    "for",
    "of",
    "yesterday",
    "monday",
    "not",
    "my",
    "brother",
    "if",
    "will",
    "in",
    "then",
    "with",
    "but",
    "yo",
    "practiqué",
    "hice",
    "de",
    "no",
    "ayer",
    "si",
    "media",
    "hora",
    "y",
    "mi",
    "hermano",
    "guitarra",
]


@st.composite
def _said(draw: st.DrawFn, frames: dict[str, tuple[str, ...]]) -> tuple[str, str, str, int, int]:
    """A language, a sentence, and the skill, minutes and days back that it names."""
    language = draw(st.sampled_from(["en", "es"]))
    skill = draw(st.sampled_from(SKILLS[language]))
    amount = draw(st.sampled_from(sorted(AMOUNTS[language])))
    day = draw(st.sampled_from(sorted(DAYS[language])))
    sentence = draw(st.sampled_from(frames[language])).format(skill=skill, amount=amount, day=day)
    shown = draw(st.sampled_from([str, str.upper, str.capitalize]))(" ".join(sentence.split()).replace(" ,", ","))
    return (
        language,
        shown + draw(st.sampled_from(["", ".", "!"])),
        skill,
        AMOUNTS[language][amount],
        DAYS[language][day],
    )


def _understood(language: str, sentence: str) -> Understood:
    return understand(sentence, SKILLS[language], NOW, language)


@settings(max_examples=share(150), deadline=None, derandomize=True)
@given(_said(SURE))
def test_what_is_surely_practice_is_written_as_it_was_said(said: tuple[str, str, str, int, int]) -> None:
    """The skill, the minutes and the day; one entry."""
    language, sentence, skill, minutes, back = said
    day = (NOW.date() - timedelta(days=back)).isoformat()
    understood = _understood(language, sentence)
    assert ("log", ((skill, minutes, day),)) == (understood.kind, understood.entries)


@settings(max_examples=share(150), deadline=None, derandomize=True)
@given(_said(TAKEN_BACK))
def test_nothing_is_written_where_the_rest_takes_it_back(said: tuple[str, str, str, int, int]) -> None:
    """Denied, wished, to come, of others, asked, joked, of a video."""
    language, sentence, *_ = said
    assert () == _understood(language, sentence).writes


@settings(max_examples=share(100), deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(WORDS), min_size=2, max_size=14))
def test_words_in_any_order_are_never_read_as_more_than_they_say(words: list[str]) -> None:
    """What is written was said: its minutes are in the sentence, of a skill that is named, on a day not to come."""
    sentence = " ".join(words)
    understood = understand(sentence, ("guitar", "piano"), NOW, "en")
    for skill, minutes, day in understood.entries if understood.kind == "log" else ():
        assert skill in sentence
        assert minutes in {45, 60, 30, 90, 105, 46, 75}
        assert day <= NOW.date().isoformat()


PIECES = st.sampled_from(
    [
        *WORDS,
        "½",
        "²",
        "１２",
        "monday,",
        "el",
        "the 16th",
        "/",
        ":",
        "2026-",
        "hace",
        "1h",
        "'",
        "de 7 a",
        "last",
        "🎸",
    ]
)


@settings(max_examples=share(150), deadline=None, derandomize=True)
@given(st.lists(st.one_of(PIECES, st.text(max_size=4)), max_size=12), st.sampled_from(["", " "]))
def test_any_text_is_understood_as_something(pieces: list[str], between: str) -> None:
    """Nothing raises, whatever is cut off, run together or written in other figures."""
    assert understand(between.join(pieces), ("guitar", pieces[0] if pieces else ""), NOW, "es")


@pytest.mark.parametrize(
    "sentence",
    [
        "I practised guitar for 45 minutes and then woke up",
        "guitar practice 45 min at 9pm",
        "played guitar hero for 2 hours",
        "2 hours of guitar on youtube",
        "did 30 min guitar on monday and tuesday",
        "practised guitar 30 minutes monday through friday",
        "back then I practised guitar for 45 minutes",
        "I practised guitar for 45 minutes in March",
    ],
)
def test_traps_found_by_hand_write_nothing(sentence: str) -> None:
    """Each was written once."""
    assert () == understand(sentence, SKILLS["en"], NOW, "en").writes
