"""The words of `/remind`."""

from datetime import date, time, timedelta

import pytest

from agent.coach.reminders import ReminderWords, read_reminder
from agent.schedules.rules import EVERY_DAY
from tests.fakes.practice_reader import TODAY

DAY = timedelta(days=1)


class TestWords:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("19:00 mon,wed guitar", ReminderWords(time(19), (0, 2), None, "guitar")),
            ("19:00", ReminderWords(time(19), EVERY_DAY)),
            ("7pm guitar", ReminderWords(time(19), EVERY_DAY, None, "guitar")),
            ("12am", ReminderWords(time(0), EVERY_DAY)),
            ("19h30 lun mié guitarra", ReminderWords(time(19, 30), (0, 2), None, "guitarra")),
            ("tomorrow 7:00 scales", ReminderWords(time(7), (), TODAY + DAY, "scales")),
            ("mañana a las 19:00", ReminderWords(time(19), (), TODAY + DAY)),
            ("a las 7:00 de la tarde", ReminderWords(time(19), EVERY_DAY)),
            ("2026-12-24 18:30 carols", ReminderWords(time(18, 30), (), date(2026, 12, 24), "carols")),
            ("at 19:00 on weekdays for piano", ReminderWords(time(19), (0, 1, 2, 3, 4), None, "piano")),
            ("cada día 8:05 chess", ReminderWords(time(8, 5), EVERY_DAY, None, "chess")),
            ("19:00 guitar on monday", ReminderWords(time(19), EVERY_DAY, None, "guitar on monday")),
            ("25:00 guitar", ReminderWords(None, EVERY_DAY, None, "guitar", "25:00")),
            ("13pm", ReminderWords(None, EVERY_DAY, None, "", "13pm")),
            ("soon", ReminderWords(None, EVERY_DAY, None, "soon")),
        ],
    )
    def test_time_days_and_what_of(self, text: str, words: ReminderWords):
        assert words == read_reminder(text, TODAY)
