"""A log line without a model."""

from contextlib import suppress
from datetime import date, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.coach.durations import spell_minutes
from agent.coach.log_line import LogLine, LogLineError, LogProblem, parse_log
from agent.coach.vocabulary.amounts import find_duration
from tests.fakes.practice_reader import TODAY

SKILLS = ("Guitar", "Bass guitar", "Piano")
YESTERDAY = TODAY - timedelta(days=1)


class TestDurations:
    @pytest.mark.parametrize(
        ("text", "minutes"),
        [
            ("45m", 45),
            ("45 min", 45),
            ("45'", 45),
            ("90 minutes", 90),
            ("1h30", 90),
            ("1h 30m", 90),
            ("1 h 30", 90),
            ("1 hour and 30 minutes", 90),
            ("1:30", 90),
            ("1.5 h", 90),
            ("1,5h", 90),
            ("2 hrs", 120),
            ("half an hour", 30),
            ("an hour and a half", 90),
            ("two and a half hours", 150),
            ("three quarters of an hour", 45),
            ("twenty minutes", 20),
            ("media hora", 30),
            ("hora y media", 90),
            ("una hora", 60),
            ("dos horas y media", 150),
            ("tres cuartos de hora", 45),
            ("1 hora y 20 minutos", 80),
            ("cuarenta y cinco minutos", 45),
            ("0.4 min", 0),
            ("0.5 min", 1),
        ],
    )
    def test_a_duration_is_read(self, text, minutes):
        found = find_duration(text)
        assert found is not None
        assert (minutes, 0, len(text)) == (found.minutes, found.start, found.end)

    @pytest.mark.parametrize("text", ["", "45", "-45m", "−45m", "12.45.45m", "45mx", "h30", "9" * 50 + "h", "9" * 5000])
    def test_what_is_no_duration_is_none(self, text):
        assert find_duration(text) is None

    @given(st.integers(1, 1440))
    def test_spelled_minutes_are_read_back(self, minutes):
        found = find_duration(spell_minutes(minutes))
        assert found is not None
        assert minutes == found.minutes

    def test_thousands_are_set_apart(self):
        assert "10\u202f000 h" == spell_minutes(600_000)


class TestLines:
    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("45m guitar scales", LogLine(45, "Guitar", "scales", TODAY)),
            ("guitar 45m", LogLine(45, "Guitar", "", TODAY)),
            ("guitar 45m scales", LogLine(45, "Guitar", "scales", TODAY)),
            ("1h30 piano", LogLine(90, "Piano", "", TODAY)),
            ("1.5 h GUITAR", LogLine(90, "Guitar", "", TODAY)),
            ("45m bass guitar slow", LogLine(45, "Bass guitar", "slow", TODAY)),
            ("45m violin: bars 5 to 8", LogLine(45, "violin", "bars 5 to 8", TODAY)),
            ("45m jazz piano - comping", LogLine(45, "Piano", "jazz piano - comping", TODAY)),
            ('45m "jazz trumpet" comping', LogLine(45, "jazz trumpet", "comping", TODAY)),
            ("45m\nguitar\nscales", LogLine(45, "Guitar", "scales", TODAY)),
            ("guitar\n45m", LogLine(45, "Guitar", "", TODAY)),
            ("45m guitar\nbars 5\nbars 6", LogLine(45, "Guitar", "bars 5 bars 6", TODAY)),
            ("20 min slow scales on guitar", LogLine(20, "Guitar", "slow scales on guitar", TODAY)),
            ("I practised 45 minutes of guitar today", LogLine(45, "Guitar", "", TODAY)),
            ("I just practiced guitar for 45 minutes", LogLine(45, "Guitar", "", TODAY)),
            ("hoy practiqué guitarra 1 hora y 20 minutos", LogLine(80, "guitarra", "", TODAY)),
            ("ayer media hora de guitarra", LogLine(30, "guitarra", "", YESTERDAY)),
            ("tres horas de piano ayer", LogLine(180, "Piano", "", YESTERDAY)),
        ],
    )
    def test_a_line_is_read_as_it_is_said(self, text, line):
        assert line == parse_log(text, TODAY, SKILLS)

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("from 7 to 8:30 guitar", LogLine(90, "Guitar", "", TODAY)),
            ("guitar de 7 a 8:30 escalas", LogLine(90, "Guitar", "escalas", TODAY)),
            ("yesterday 7:00-8:15 piano", LogLine(75, "Piano", "", YESTERDAY)),
            ("45m guitar from 7 to 8", LogLine(45, "Guitar", "from 7 to 8", TODAY)),
        ],
    )
    def test_what_lies_between_two_times_is_a_duration(self, text: str, line: LogLine):
        assert line == parse_log(text, TODAY, SKILLS)

    @pytest.mark.parametrize(
        ("said", "day"),
        [
            ("yesterday", YESTERDAY),
            ("Yesterday:", YESTERDAY),
            ("today", TODAY),
            ("2026-02-28", date(2026, 2, 28)),
            ("on 2026-02-28", date(2026, 2, 28)),
            ("3 days ago", TODAY - timedelta(days=3)),
            ("hace 3 días", TODAY - timedelta(days=3)),
            ("the day before yesterday", TODAY - timedelta(days=2)),
            ("anteayer", TODAY - timedelta(days=2)),
            ("monday", date(2026, 3, 2)),
            ("el domingo", date(2026, 3, 1)),
            ("wednesday", TODAY),
        ],
    )
    @pytest.mark.parametrize("line", ["{} 20 min guitar", "20 min guitar {}", "20 min {} guitar", "guitar {} 20 min"])
    def test_a_day_may_stand_anywhere(self, said, day, line):
        assert LogLine(20, "Guitar", "", day) == parse_log(line.format(said), TODAY, SKILLS)

    def test_a_day_inside_the_notes_is_a_note(self):
        assert LogLine(20, "Guitar", "yesterday's piece again", TODAY) == parse_log(
            "20m guitar: yesterday's piece again", TODAY, SKILLS
        )

    def test_one_skill_needs_no_name(self):
        assert "Guitar" == parse_log("90 min", TODAY, ("Guitar",)).skill

    @pytest.mark.parametrize(
        ("text", "problem", "detail"),
        [
            ("", LogProblem.EMPTY, ""),
            ("\x00 \u200b", LogProblem.EMPTY, ""),
            ("guitar", LogProblem.NO_DURATION, ""),
            ("-45m guitar", LogProblem.NEGATIVE, ""),
            ("45 guitar", LogProblem.NO_UNIT, ""),
            ("0m guitar", LogProblem.ZERO, "Guitar"),
            ("25h guitar", LogProblem.TOO_LONG, "24"),
            ("9999999h guitar", LogProblem.TOO_LONG, "24"),
            ("2026-03-05 45m guitar", LogProblem.FUTURE, "2026-03-05"),
            ("2026-02-30 45m guitar", LogProblem.BAD_DATE, "2026-02-30"),
            ("3/4 45m guitar", LogProblem.BAD_DATE, "3/4"),
            ("90 min", LogProblem.NO_SKILL, "Guitar, Bass guitar, Piano"),
            ("45m 🎸", LogProblem.NO_NAME, "🎸"),
            (f"45m {'g' * 65}", LogProblem.NAME_TOO_LONG, "64"),
        ],
    )
    def test_what_is_unclear_is_refused_with_a_reason(self, text, problem, detail):
        with pytest.raises(LogLineError) as error:
            parse_log(text, TODAY, SKILLS)
        assert (problem, detail) == (error.value.problem, error.value.detail)

    @given(st.text(max_size=200))
    @example("²A¹")
    def test_any_text_is_a_line_or_a_reason(self, text):
        try:
            line = parse_log(text, TODAY, SKILLS)
        except LogLineError:
            return
        assert 1 <= line.minutes <= 1440
        assert line.day <= TODAY
        assert 0 < len(line.skill) <= 64

    @given(
        st.lists(
            st.sampled_from(
                ["45m", "1h", "30", "guitar", "piano", "yesterday", "ayer", "2026-03-01", ":", "-", "for", "y"]
            ),
            max_size=8,
        )
    )
    def test_any_order_of_words_is_a_line_or_a_reason(self, words):
        with suppress(LogLineError):
            assert 0 < len(parse_log(" ".join(words), TODAY, SKILLS).skill) <= 64

    def test_a_long_message_is_read_in_no_time(self):
        line = parse_log("45m guitar " + "scales " * 7000, TODAY, SKILLS)
        assert 1000 == len(line.notes)

    @pytest.mark.parametrize("skill", ["te", "té"])
    def test_skills_that_differ_in_an_accent_are_told_apart(self, skill):
        assert skill == parse_log(f"45m {skill}", TODAY, ("té", "te")).skill
        assert skill == parse_log(f"45m {skill} slowly", TODAY, ("te", "té")).skill
