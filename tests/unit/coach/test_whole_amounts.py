"""Minutes that are written are the minutes that were said: no part of a duration is dropped, whatever it is made of."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

import pytest

from agent.coach.understanding.reading import Certainty, hear

NOW = datetime(2026, 11, 18, 20, 30, tzinfo=UTC)  # a Wednesday
SKILL = {"en": "archery", "es": "guitarra"}
SAID = {
    "en": ("{} of archery", "archery: {}", "I practised archery for {} today", "log {} archery"),
    "es": ("{} de guitarra", "guitarra: {}", "hoy practiqué guitarra {}", "le metí {} a la guitarra"),
}
HOURS = {
    "en": {"2": 2, "two": 2, "3": 3, "four": 4},
    "es": {"2": 2, "dos": 2, "3": 3, "cuatro": 4},
}
PARTS = {
    "en": {
        "a half": 30, "half": 30, "a quarter": 15, "three quarters": 45, "three-quarters": 45, "1/2": 30, "1/4": 15,
        "3/4": 45, "½": 30, "¼": 15, "¾": 45, "a third": 20, "two thirds": 40, "1/3": 20, "⅔": 40,
    },
    "es": {
        "media": 30, "cuarto": 15, "un cuarto": 15, "tres cuartos": 45, "1/2": 30, "1/4": 15, "3/4": 45, "½": 30,
        "¼": 15, "¾": 45, "un tercio": 20, "dos tercios": 40, "1/3": 20, "⅔": 40,
    },
}  # fmt: skip
MINUTES = {
    "en": {"5": 5, "20": 20, "ten": 10, "forty five": 45, "fifty-five": 55},
    "es": {"5": 5, "20": 20, "diez": 10, "cuarenta y cinco": 45},
}
UNITS = {"en": ("hours", "h", "hrs"), "es": ("horas", "h")}
WITH_PART = {
    "en": ("{n} and {p} {u}", "{n} {u} and {p}", "{n} {p} {u}", "{n} {u} {p}", "{n} {u}, {p}", "{n} {u} plus {p}",
           "{n} & {p} {u}", "{n} + {p} {u}", "{n} {u} and {p} of an hour"),
    "es": ("{n} {u} y {p}", "{n} y {p} {u}", "{n} {u} {p}", "{n} {u}, {p}", "{n} {u} más {p}", "{n} {u} con {p}",
           "{n} {u} y {p} de hora"),
}  # fmt: skip
WITH_MINUTES = {
    "en": ("{n} {u} {m}", "{n} {u} and {m}", "{n} {u} and {m} minutes", "{n} {u}, {m} min", "{n} {u} plus {m}",
           "{m} minutes and {n} {u}", "{n} {u} and another {m} minutes", "{n} {u} and {m} more minutes",
           "{n} {u}, {m} minutes"),
    "es": ("{n} {u} {m}", "{n} {u} y {m}", "{n} {u} y {m} minutos", "{n} {u}, {m} min", "{n} {u} más {m}",
           "{m} minutos y {n} {u}", "{n} {u} con {m} minutos", "{n} {u} y otros {m} minutos"),
}  # fmt: skip
LESS = {
    "en": (
        "{m} minutes short of {n} {u}",
        "{n} {u} minus {m} minutes",
        "{n} {u} less {m}",
        "{m} minutes under {n} {u}",
    ),
    "es": ("{n} {u} menos {m}", "{n} {u} menos {m} minutos", "{m} minutos menos de {n} {u}"),
}
LESS_A_PART = {
    "en": ("{p} of an hour short of {n} {u}", "{n} {u} minus {p}", "{n} {u} less {p} of an hour"),
    "es": ("{n} {u} menos {p}", "{p} de hora menos de {n} {u}", "{n} menos {p} {u}"),
}


def _compositions(language: str) -> Iterator[tuple[str, int]]:
    for n, hours in HOURS[language].items():
        for u in UNITS[language]:
            for shapes, parts, sign in (
                (WITH_PART, PARTS, 1), (WITH_MINUTES, MINUTES, 1), (LESS, MINUTES, -1), (LESS_A_PART, PARTS, -1),
            ):  # fmt: skip
                for shape in shapes[language]:
                    for part, minutes in parts[language].items():
                        yield shape.format(n=n, u=u, p=part, m=part), hours * 60 + sign * minutes


def _written(said: str, language: str) -> int | None:
    """The minutes that would be written without a question."""
    heard = hear(said, (SKILL[language],), NOW, language)
    return sum(each.minutes or 0 for each in heard.practised) if heard.certainty is Certainty.LOG else None


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.gate)])  # with all numbers, parts and ways
@pytest.mark.parametrize("language", SAID)
def test_what_is_written_is_what_was_said(language: str, every: int) -> None:
    """Numbers x parts x units x ways to put them together: the right minutes, or none."""
    frames = SAID[language]
    compositions = islice(_compositions(language), 0, None, every)
    tried = [(frames[at % len(frames)].format(said), minutes) for at, (said, minutes) in enumerate(compositions)]
    found = [(said, minutes, _written(said, language)) for said, minutes in tried]
    assert [] == [each for each in found if each[2] not in (None, each[1])]
    assert len(found) * 0.2 < sum(each[2] is not None for each in found)


RIGHT = {
    "en": {
        "two and a quarter hours": 135, "two and three quarters hours": 165, "one and a half hours": 90, "2 1/4 h": 135,
        "two hours and a quarter": 135, "2½ hours": 150, "hr and a half": 90, "an hour twenty": 80,
        "an hour and three quarters": 105, "four rounds of 15 minutes each": 60, "forty-five minutes": 45,
        "a hundred and twenty minutes": 120, "three quarters of an hour": 45,
    },
    "es": {
        "dos horas y cuarto": 135, "hora y tres cuartos": 105, "hora y media": 90, "dos horas y 1/4": 135,
        "tres cuartos de hora": 45, "ciento veinte minutos": 120, "cuarenta y cinco minutos": 45,
        "una hora y veinte": 80, "2 1/2 horas": 150,
    },
}  # fmt: skip
ASKED = {
    "en": (
        "two hours and a third", "half an hour and ten minutes", "quarter of an hour short of two hours",
        "two dozen minutes",
        "two hundred minutes", "1,040 minutes", "35 min 30 s", "30 min x 3", "an hour and a bit",
        "one point five hours",
        "2 quarter hours", "several sessions of 20 minutes", "twice 20 minutes", "20 plus 20 minutes",
        "half of two hours",
        "20 minutes, 20 minutes", "two hours or so and a half", "11/4 hour",
    ),
    "es": (
        "dos horas menos cuarto", "media hora y diez minutos", "trescientos cincuenta minutos", "dos veces 20 minutos",
        "una hora y pico", "dos coma cinco horas", "20 más 20 minutos", "la mitad de dos horas", "1.040 minutos",
        "varias sesiones de 20 minutos", "20 minutos y 30 segundos",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("language", "said"), [(code, said) for code, all_said in RIGHT.items() for said in all_said])
def test_common_compositions_are_written(language: str, said: str) -> None:
    """At once, with all their parts."""
    assert RIGHT[language][said] == _written(SAID[language][0].format(said), language)


@pytest.mark.parametrize(("language", "said"), [(code, said) for code, all_said in ASKED.items() for said in all_said])
def test_what_is_not_put_together_is_not_written(language: str, said: str) -> None:
    """A part that nothing took leaves the whole open."""
    assert {None} == {_written(frame.format(said), language) for frame in SAID[language]}


def test_an_entry_beside_one_that_is_not_clear_waits_with_it() -> None:
    """Else the second would be lost in silence."""
    said = "archery 30 min, then archery two hours and a third"
    assert _written(said, "en") is None
