"""The coach's texts in English and Spanish, and the language of a message; the texts stand in `agent/coach/locale`.

Text for a model (its prompt, its tools' errors) is English and stands in the code.
"""

import re
from datetime import date, timedelta
from operator import itemgetter
from pathlib import Path

from agent.catalogue import NAMES, Catalogue

COACH_TEXTS = Catalogue(Path(__file__).parent / "locale", "coach")
"""They go before the harness's."""

_ENGLISH = """
the is are was were of my i you how what and do did does it hello hi hey thanks please practice practiced practised
yesterday today minutes hours show give help undo actually log with for skills week guide this that not but so am
have had to in on at
"""
_SPANISH = """
el la los las es son fue fueron de mi yo tu cómo como qué que y hola gracias por favor práctica practica practiqué
practicar ayer hoy minutos horas muestra dame ayuda deshacer en realidad anota con para habilidades semana guía guia
voy una un estadísticas estadisticas guitarra media historial se le lo del al muy más pero si sí estoy nada todo esta
este tengo quiero cuando porque buenas noches tardes onda chau chao adios deshaz borra anotame apunta
vale bien genial listo racha nivel idioma zona horaria exportar importar
"""
_MARKS = {"en": frozenset(_ENGLISH.split()), "es": frozenset(_SPANISH.split())}
_ACCENTS = re.compile(r"[¿¡ñáéíóú]")
FEW_WORDS = 3
"""So short a message is in the language of its one word that tells; in a longer one, one word may be a name."""


def detect(text: str, *, surely: bool = False) -> str | None:
    """Return the language a text is probably in, or `surely`; None where nothing tells. Counts a few common
    words, no more.
    """
    words = re.findall(r"\w+", text[:500].lower())
    score = {language: sum(word in marks for word in words) for language, marks in _MARKS.items()}
    score["es"] += len(_ACCENTS.findall(text[:500].lower()))
    (_, second), (best, first) = sorted(score.items(), key=itemgetter(1))
    lead = first - second
    return best if lead > 1 or (lead and (not surely or len(words) <= FEW_WORDS)) else None


say = COACH_TEXTS.text
"""The words of a key in a language, the fields filled in; without values, the fields stay."""


def in_any_language(key: str) -> list[str]:
    """Return the words of a text before its first field, in each language."""
    return [say(language, key).split("{")[0] for language in NAMES]


def file_name(language: str, day: date, suffix: str) -> str:
    """Return the name of a practice file in the person's language, in letters that every system takes."""
    return f"{say(language, 'export.file_name', day=day.isoformat())}.{suffix}"


def say_days(language: str, days: int) -> str:
    """Return a count of days: "1 day", "12 days"."""
    return COACH_TEXTS.plural(language, "units.days", days)


def say_colour(language: str, colour: str) -> str:
    """Return a colour by its name, where it has one."""
    key = f"colour.{colour.removeprefix('#')}"
    named = say(language, key)
    return colour if named == key else named


def say_date(language: str, day: date, today: date) -> str:
    """Return a date as people say it: today, yesterday, Monday, 2 March, and the year where it is another one."""
    if day == today:
        return say(language, "day.today")
    if day == today - timedelta(days=1):
        return say(language, "day.yesterday")
    if timedelta() < today - day < timedelta(days=7):
        return say(language, f"weekday.{day.weekday()}")
    key = "day.short" if day.year == today.year else "day.short_year"
    return say(language, key, day=day.day, month=say(language, f"month.{day.month}"), year=day.year)


def say_on(language: str, day: date, today: date) -> str:
    """Return the date something was on, within a sentence: "today", "Monday", and in Spanish "el lunes"."""
    said = say_date(language, day, today)
    return said if timedelta() <= today - day <= timedelta(days=1) else say(language, "day.the", date=said)


def say_day(language: str, day: date, today: date) -> str:
    """Return a date with its weekday: "Monday, 2 March", and the year where it is another one."""
    key = "day.full" if day.year == today.year else "day.full_year"
    month = say(language, f"month.{day.month}")
    return say(
        language, key, weekday=say(language, f"weekday.{day.weekday()}"), day=day.day, month=month, year=day.year
    )
