"""Languages and their words."""

import inspect
import re

import pytest

from agent.catalogue import NAMES, escape, language_of
from agent.coach.changes import read_change
from agent.coach.log_line import LogLineError, LogProblem, explain_log
from agent.coach.practice import COLOUR_NAMES, Refusal
from agent.coach.reader.requests import spoken_language
from agent.coach.texts import detect, say, say_colour, say_days
from gateway.coach import writer


class TestRefusals:
    @pytest.mark.parametrize("language", NAMES)
    def test_every_refusal_has_words(self, language: str):
        for problem in (*Refusal, *LogProblem):
            key = f"problem.{problem.value}"
            assert key != say(language, key)


class TestChanges:
    def test_every_change_that_the_writer_makes_has_words(self):
        made = re.findall(r'"change": "(\w+)"', inspect.getsource(writer))
        assert "logged" in made
        unsaid = [change for change in made if read_change({"change": change}) is None]
        assert [] == unsaid, "give each its words in agent.coach.changes"


class TestChoice:
    @pytest.mark.parametrize(
        ("locale", "language"),
        [("es", "es"), ("es-MX", "es"), ("ES_ar", "es"), ("en-GB", "en"), ("de", "en"), (None, "en"), ("", "en")],
    )
    def test_a_locale_has_a_language(self, locale, language):
        assert language == language_of(locale)

    @pytest.mark.parametrize(
        ("text", "language"),
        [
            ("how am I doing?", "en"),
            ("¿cómo voy?", "es"),
            ("ayer practiqué piano", "es"),
            ("thanks", "en"),
            ("gracias", "es"),
            ("racha", "es"),
            ("vale", "es"),
            ("45m", None),
            ("", None),
        ],
    )
    def test_a_text_tells_its_language_or_nothing(self, text, language):
        assert language == detect(text)


class TestWords:
    @pytest.mark.parametrize("language", ["en", "es"])
    def test_every_colour_that_can_be_said_has_a_name(self, language: str):
        names = {say_colour(language, colour) for colour in COLOUR_NAMES.values()}
        assert len(set(COLOUR_NAMES.values())) == len(names) and names <= COLOUR_NAMES.keys()
        assert "#123456" == say_colour(language, "#123456")

    def test_a_persons_words_are_literal(self):
        assert "You have no skill “{0}\\*x\\*”. /skills shows yours." == say(
            "en", "problem.unknown_skill", detail=escape("{0}*x*")
        )

    def test_one_day_is_not_days(self):
        assert ("1 day", "2 days", "1 día", "0 días") == (
            say_days("en", 1),
            say_days("en", 2),
            say_days("es", 1),
            say_days("es", 0),
        )

    def test_a_missing_skill_names_the_known_ones(self):
        error = LogLineError(LogProblem.NO_SKILL, "Guitar, Piano")
        assert "You have: Guitar, Piano." in explain_log("en", error, ("Guitar", "Piano"))
        assert "`/log 45m guitarra`" in explain_log("es", LogLineError(LogProblem.NO_SKILL))

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("habla en inglés", ("en", True)),
            ("speak Spanish please", ("es", True)),
            ("can you speak Spanish?", ("es", True)),
            ("I want to learn to speak Spanish", ("en", False)),
            ("me duele la muñeca", ("es", False)),
            ("hola", ("es", False)),
            ("change the language", ("en", False)),
            ("45m guitar", None),
        ],
    )
    def test_a_message_has_a_language_or_asks_for_one(self, text: str, said: tuple[str, bool] | None) -> None:
        assert said == spoken_language(text)
