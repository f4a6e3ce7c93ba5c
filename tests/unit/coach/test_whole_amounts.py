"""Minutes that are written are the minutes that were said: no part of a duration is dropped, whatever it is made of."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

import pytest

from agent.coach.understanding.reading import Certainty, hear
from tests.unit.coach.corpus import understand

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


class TestSaidOfDays:
    @pytest.mark.parametrize(
        ("language", "skill", "text", "entries"),
        [
            ("en", "flute", "monday I did 30 min of flute, tuesday nothing", [(30, 16)]),
            ("es", "flauta", "el viernes hice 30 min de flauta y una hora de flauta", [(30, 13), (60, 13)]),
            ("en", "flute", "instead of piano I did 40 min of flute", [(40, 18)]),
            ("en", "flute", "had a flute lesson on monday, 45 minutes", [(45, 16)]),
            ("en", "flute", "Did my flute homework last night, took 50 minutes", [(50, 17)]),
            ("en", "flute", "flute 6.30pm-7.15pm", [(45, 18)]),
            ("es", "flauta", "flauta 15min, poco pero algo es algo", [(15, 18)]),
        ],
    )
    def test_whole_ones_are_logged(self, language: str, skill: str, text: str, entries: list[tuple[int, int]]):
        """With the day that each has."""
        understood = understand(text, (skill, "piano"), NOW, language)
        assert "log" == understood.kind
        assert entries == [(minutes, int(day[-2:])) for _, minutes, day in understood.entries]

    @pytest.mark.parametrize(
        ("language", "skill", "text"),
        [
            ("en", "flute", "half an hour of flute on sunday and the same on monday"),
            ("es", "flauta", "media hora de flauta el domingo y lo mismo el lunes"),
            ("en", "flute", "flute: mon 30, tue 25"),
            ("es", "flauta", "flauta: lun 30, jue 25"),
            ("en", "flute", "flute podcast on my walk, 30 min"),
            ("es", "flauta", "leí flauta una hora"),
            ("en", "flute", "45 min of flute today, and I'll do another 30 tonight"),
        ],
    )
    def test_what_may_be_half_of_it_is_asked_about(self, language: str, skill: str, text: str):
        """A number of a day may be its date; the same of another day is an entry of its own."""
        understood = understand(text, (skill, "piano"), NOW, language)
        assert ("ask", ()) == (understood.kind, understood.writes)
        assert understood.entries

    @pytest.mark.parametrize(
        ("language", "skill", "text"),
        [
            ("es", "dibujo", "tendría que haber dibujado una hora pero había partido"),
            ("es", "correr", "luego salgo a correr una hora"),
            ("en", "flute", "my band practised flute for an hour"),
            ("en", "running", "goal: run a 10k in spring"),
        ],
    )
    def test_what_was_not_done_is_neither(self, language: str, skill: str, text: str):
        """What ought to be, is still to come, or others did."""
        understood = understand(text, (skill,), NOW, language)
        assert ("no_write", (), ()) == (understood.kind, understood.entries, understood.writes)
