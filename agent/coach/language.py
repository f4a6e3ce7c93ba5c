"""The coach's words in each language, and in which language somebody writes; one more language is one more table."""

import re
from collections.abc import Mapping
from datetime import date, timedelta
from types import MappingProxyType

from agent.coach import texts_en, texts_es
from agent.coach.log_line import LogLineError, LogProblem
from agent.coach.mastery import Level
from agent.coach.practice import PracticeRefused
from agent.language import DEFAULT, escape

TABLES: Mapping[str, Mapping[str, str]] = MappingProxyType({"en": texts_en.TEXTS, "es": texts_es.TEXTS})

_MARKS = {
    "en": frozenset(
        [
            "the",
            "is",
            "are",
            "was",
            "were",
            "of",
            "my",
            "i",
            "you",
            "how",
            "what",
            "and",
            "do",
            "did",
            "does",
            "it",
            "hello",
            "hi",
            "hey",
            "thanks",
            "please",
            "practice",
            "practiced",
            "practised",
            "yesterday",
            "today",
            "minutes",
            "hours",
            "show",
            "me",
            "give",
            "help",
            "undo",
            "actually",
            "was",
            "log",
            "with",
            "for",
            "skills",
            "week",
            "guide",
        ]
    ),
    "es": frozenset(
        [
            "el",
            "la",
            "los",
            "las",
            "es",
            "son",
            "fue",
            "fueron",
            "de",
            "mi",
            "yo",
            "tu",
            "cómo",
            "como",
            "qué",
            "que",
            "y",
            "hola",
            "gracias",
            "por",
            "favor",
            "práctica",
            "practica",
            "practiqué",
            "practicar",
            "ayer",
            "hoy",
            "minutos",
            "horas",
            "muestra",
            "dame",
            "ayuda",
            "deshacer",
            "en",
            "realidad",
            "anota",
            "con",
            "para",
            "habilidades",
            "semana",
            "guía",
            "guia",
            "voy",
            "una",
            "un",
            "estadísticas",
            "estadisticas",
            "guitarra",
            "media",
            "historial",
        ]
    ),
}
_ACCENTS = re.compile(r"[¿¡ñáéíóú]")


def detect(text: str) -> str | None:
    """The language a text is probably in; None where nothing tells. Counts a few common words, no more."""
    words = re.findall(r"\w+", text[:500].lower())
    score = {language: sum(word in marks for word in words) for language, marks in _MARKS.items()}
    score["es"] += len(_ACCENTS.findall(text[:500].lower()))
    best = max(score, key=lambda language: score[language])
    return best if list(score.values()).count(score[best]) == 1 else None


def say(language: str, key: str, **values: object) -> str:
    """The words of this key in this language with the fields filled in."""
    return TABLES.get(language, TABLES[DEFAULT])[key].format(**values)


def say_days(language: str, days: int) -> str:
    """A count of days: "1 day", "12 days"."""
    return say(language, "day_one" if days == 1 else "day_many", n=days)


def say_weekday(language: str, weekday: int) -> str:
    """The name of a weekday, 0 for Monday."""
    return say(language, "weekdays").split("|")[weekday]


def say_level(language: str, level: Level) -> str:
    """A level with its emoji: "🌱 Seed"."""
    return f"{level.emoji} {say(language, f'level_{level.key}')}"


def say_date(language: str, day: date, today: date) -> str:
    """A date as people say it: today, yesterday, else ISO."""
    if day == today:
        return say(language, "today")
    return say(language, "yesterday") if day == today - timedelta(days=1) else day.isoformat()


def explain(language: str, refused: PracticeRefused) -> str:
    """What is wrong with a change, and what to do."""
    return say(language, f"problem_{refused.refusal.value}", detail=escape(refused.detail))


def explain_log(language: str, error: LogLineError, skills: tuple[str, ...] = ()) -> str:
    """What is wrong with a log line, and what to do."""
    example = escape(skills[0]) if skills else ("guitarra" if language == "es" else "guitar")
    key = f"problem_{error.problem.value}"
    if error.problem is LogProblem.NO_SKILL and skills:
        key = "problem_which_skill"
    return say(language, key, detail=escape(error.detail), example=example)
