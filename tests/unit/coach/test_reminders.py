"""Due times of reminders, and `/remind`."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.coach.reminders import EVERY_DAY, Reminder, ReminderWords, Slot, exists, last_slot, next_slot, read_reminder
from tests.fakes.practice_reader import TODAY

MADRID = "Europe/Madrid"
SPRING = date(2026, 3, 29)  # 02:00 becomes 03:00
AUTUMN = date(2026, 10, 25)  # 03:00 becomes 02:00
DAY = timedelta(days=1)
ZONES = ("UTC", MADRID, "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu")


def noon(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)


class TestSlots:
    def test_it_is_the_persons_wall_that_counts(self):
        """19:00 in Madrid is 18:00 UTC in winter and 17:00 in summer."""
        winter, summer = date(2026, 1, 10), date(2026, 7, 10)
        for day, hour in ((winter, 18), (summer, 17)):
            slot = next_slot(time(19), EVERY_DAY, None, MADRID, noon(day))
            assert Slot(day, datetime(day.year, day.month, day.day, hour, tzinfo=UTC)) == slot

    def test_a_time_that_a_day_lacks_comes_an_hour_later(self):
        slot = next_slot(time(2, 30), EVERY_DAY, None, MADRID, noon(SPRING - DAY))
        assert Slot(SPRING, datetime(2026, 3, 29, 1, 30, tzinfo=UTC)) == slot
        assert not exists(SPRING, time(2, 30), MADRID)
        assert exists(SPRING, time(3, 30), MADRID)

    def test_a_time_that_a_day_has_twice_comes_once(self):
        first = next_slot(time(2, 30), EVERY_DAY, None, MADRID, noon(AUTUMN - DAY))
        assert Slot(AUTUMN, datetime(2026, 10, 25, 0, 30, tzinfo=UTC)) == first
        following = next_slot(time(2, 30), EVERY_DAY, None, MADRID, first.at, first.day)
        assert following is not None
        assert AUTUMN + DAY == following.day

    def test_weekdays_and_single_days(self):
        assert TODAY == next_slot(time(19), (0, 2), None, "UTC", noon(TODAY)).day
        assert TODAY + 5 * DAY == next_slot(time(9), (0, 2), None, "UTC", noon(TODAY)).day
        assert TODAY == next_slot(time(19), (), TODAY, "UTC", noon(TODAY)).day
        assert next_slot(time(9), (), TODAY, "UTC", noon(TODAY)) is None

    @given(
        st.sampled_from(ZONES),
        st.times().map(lambda at: at.replace(second=0, microsecond=0)),
        st.datetimes(datetime(2024, 1, 1), datetime(2028, 1, 1)).map(lambda at: at.replace(tzinfo=UTC)),  # noqa: DTZ001  made aware at once
        st.sets(st.integers(0, 6), min_size=1),
    )
    def test_slots_follow_each_other_once_a_date(self, zone, at, now, weekdays):
        slot, days = next_slot(at, tuple(weekdays), None, zone, now), []
        for _ in range(5):
            assert slot is not None
            assert slot.at > now
            assert slot.at - now < 9 * DAY
            assert slot.day.weekday() in weekdays
            days.append(slot.day)
            now, slot = slot.at, next_slot(at, tuple(weekdays), None, zone, slot.at, slot.day)
        assert sorted(set(days)) == days

    def test_of_missed_slots_the_last_counts(self):
        reminder = Reminder("1", time(19), EVERY_DAY, None, "", None)
        first = Slot(TODAY - 4 * DAY, datetime(2026, 2, 28, 19, tzinfo=UTC))
        assert TODAY - DAY == last_slot(reminder, "UTC", noon(TODAY), first).day
        years = Slot(date(2020, 1, 1), datetime(2020, 1, 1, 19, tzinfo=UTC))
        assert TODAY - DAY == last_slot(reminder, "UTC", noon(TODAY), years).day


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
