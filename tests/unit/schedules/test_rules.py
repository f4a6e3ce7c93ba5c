"""When schedules are due."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.schedules.prompts import drop_silence
from agent.schedules.rules import (
    DAY,
    RULES,
    BadTiming,
    Cron,
    Daily,
    Every,
    Once,
    Slot,
    as_daily,
    check_interval,
    describe_rule,
    due_slots,
    dump_rule,
    exists,
    next_slot,
    read_cron,
    to_wall,
)
from gateway.capabilities.schedule_commands import weekdays_text
from tests.fakes.invocations import invocation
from tests.fakes.practice_reader import TODAY

MADRID = "Europe/Madrid"
SPRING = date(2026, 3, 29)  # 02:00 becomes 03:00
AUTUMN = date(2026, 10, 25)  # 03:00 becomes 02:00
ZONES = ("UTC", MADRID, "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu", "Antarctica/Troll")
SEVEN = Daily(at=time(19))
INSTANTS = st.datetimes(datetime(2024, 1, 1), datetime(2028, 1, 1)).map(lambda at: at.replace(tzinfo=UTC))  # noqa: DTZ001  made aware at once


def noon(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)


def walls(rule, after: datetime, count: int, zone: str = MADRID) -> list[str]:
    """Return the next slots on the wall."""
    found = []
    for _ in range(count):
        slot = next_slot(rule, zone, after)
        found.append(f"{slot.wall:%d %H:%M}")
        after = slot.at
    return found


class TestDaily:
    def test_it_is_the_persons_wall_that_counts(self):
        """19:00 in Madrid is 18:00 UTC in winter and 17:00 in summer."""
        for day, hour in ((date(2026, 1, 10), 18), (date(2026, 7, 10), 17)):
            slot = next_slot(SEVEN, MADRID, noon(day))
            instant = datetime(day.year, day.month, day.day, hour, tzinfo=UTC)
            assert Slot(datetime.combine(day, time(19)), instant) == slot

    def test_a_time_that_a_day_lacks_comes_an_hour_later(self):
        slot = next_slot(Daily(at=time(2, 30)), MADRID, noon(SPRING - DAY))
        assert Slot(datetime(2026, 3, 29, 2, 30), datetime(2026, 3, 29, 1, 30, tzinfo=UTC)) == slot  # noqa: DTZ001  on the wall
        assert not exists(SPRING, time(2, 30), MADRID)
        assert exists(SPRING, time(3, 30), MADRID)

    def test_a_time_that_a_day_has_twice_comes_once(self):
        twice = Daily(at=time(2, 30))
        first = next_slot(twice, MADRID, noon(AUTUMN - DAY))
        assert datetime(2026, 10, 25, 0, 30, tzinfo=UTC) == first.at
        following = next_slot(twice, MADRID, first.at)
        assert AUTUMN + DAY == following.wall.date()

    def test_weekdays_and_single_days(self):
        assert TODAY == next_slot(Daily(at=time(19), weekdays=(0, 2)), "UTC", noon(TODAY)).wall.date()
        assert TODAY + 5 * DAY == next_slot(Daily(at=time(9), weekdays=(0, 2)), "UTC", noon(TODAY)).wall.date()
        assert TODAY == next_slot(Once(day=TODAY, at=time(19)), "UTC", noon(TODAY)).wall.date()
        assert next_slot(Once(day=TODAY, at=time(9)), "UTC", noon(TODAY)) is None

    @given(
        st.sampled_from(ZONES),
        st.times().map(lambda at: at.replace(second=0, microsecond=0)),
        INSTANTS,
        st.sets(st.integers(0, 6), min_size=1),
    )
    def test_slots_follow_each_other_once_a_date(self, zone, at, now, weekdays):
        rule, days = Daily(at=at, weekdays=tuple(sorted(weekdays))), []
        for _ in range(5):
            slot = next_slot(rule, zone, now)
            assert now < slot.at < now + 9 * DAY
            assert slot.wall.weekday() in weekdays
            days.append(slot.wall.date())
            now = slot.at
        assert sorted(set(days)) == days

    def test_a_person_who_moves_is_not_told_a_date_twice(self):
        was = datetime(2026, 3, 4, 19)  # noqa: DTZ001  on the wall
        slot = next_slot(SEVEN, "America/New_York", datetime(2026, 3, 4, 18, tzinfo=UTC), was)
        assert datetime(2026, 3, 5, 19) == slot.wall  # noqa: DTZ001  on the wall


class TestCron:
    @pytest.mark.parametrize(
        ("expression", "after", "expected"),
        [
            ("30 2 * * *", noon(SPRING - DAY), ["29 03:00", "30 02:30"]),
            ("30 2 * * *", noon(AUTUMN - DAY), ["25 02:30", "26 02:30"]),
            ("0,30 2 * * *", datetime(2026, 10, 25, 0, 10, tzinfo=UTC), ["25 02:30", "26 02:00"]),
            ("0 * * * *", datetime(2026, 10, 24, 23, 30, tzinfo=UTC), ["25 02:00", "25 02:00", "25 03:00"]),
            ("0 * * * *", datetime(2026, 3, 29, 0, 30, tzinfo=UTC), ["29 03:00", "29 04:00"]),
            ("@daily", noon(TODAY), ["05 00:00", "06 00:00"]),
            ("0 9 * * MON", noon(TODAY), ["09 09:00", "16 09:00"]),
        ],
    )
    def test_it_follows_the_clocks_of_a_zone(self, expression, after, expected):
        assert expected == walls(read_cron(expression), after, len(expected))

    @pytest.mark.parametrize(
        ("expression", "why"),
        [
            ("0 9 30 2 *", "it never comes"),
            ("0 9 31 4,6 *", "it never comes"),
            ("0 9 * * * *", "seconds are not supported"),
            ("9 * *", "five fields"),
            ("", "five fields"),
            ("when I like it so", "bad minute"),
            ("0 25 * * *", "bad hour"),
            ("0 9 32 * *", "bad day-of-month"),
            ("0 9 * * 1L/2", "bad day-of-week"),
        ],
    )
    def test_what_is_none_is_refused_with_the_reason(self, expression, why):
        with pytest.raises(BadTiming, match=why):
            read_cron(expression)

    @given(
        st.sampled_from(["*/20 * * * *", "30 2 * * *", "0 1,2,3 * * *", "5 0 1 * *"]), st.sampled_from(ZONES), INSTANTS
    )
    def test_no_instant_comes_twice(self, expression, zone, now):
        for _ in range(8):
            slot = next_slot(Cron(expression=expression), zone, now)
            assert slot.at > now
            now = slot.at

    @given(st.text(alphabet="0123456789*/,-L#MONJA @", max_size=24))
    def test_any_text_is_an_expression_or_refused(self, text):
        try:
            rule = read_cron(text)
        except BadTiming:
            return
        assert next_slot(rule, MADRID, noon(TODAY)) is not None


class TestEvery:
    def test_it_keeps_to_its_hours(self):
        rule = Every(minutes=90, begin=time(9), end=time(13))
        assert ["04 09:00", "04 10:30", "04 12:00", "05 09:00"] == walls(rule, noon(TODAY) - DAY / 2, 4)

    def test_the_hours_of_a_night_begin_on_the_evening_before(self):
        rule = Every(minutes=240, begin=time(22), end=time(6))
        assert ["05 02:00", "05 22:00"] == walls(rule, datetime(2026, 3, 4, 23, tzinfo=UTC), 2)

    def test_its_minutes_are_as_long_when_clocks_change(self):
        rule = Every(minutes=60)
        assert ["25 02:00", "25 02:00", "25 03:00"] == walls(rule, datetime(2026, 10, 24, 23, 30, tzinfo=UTC), 3)
        assert ["29 01:00", "29 03:00"] == walls(rule, datetime(2026, 3, 28, 23, 30, tzinfo=UTC), 2)


class TestMissed:
    def test_of_missed_slots_the_last_ones_count(self):
        first = next_slot(SEVEN, "UTC", noon(TODAY - 5 * DAY))
        assert [TODAY - DAY] == [slot.wall.date() for slot in due_slots(SEVEN, "UTC", first, noon(TODAY), 1)]
        three = due_slots(SEVEN, "UTC", first, noon(TODAY), 3)
        assert [TODAY - 3 * DAY, TODAY - 2 * DAY, TODAY - DAY] == [slot.wall.date() for slot in three]

    def test_years_are_not_counted_slot_by_slot(self):
        first = next_slot(Every(minutes=1), "UTC", datetime(2020, 1, 1, tzinfo=UTC))
        (slot,) = due_slots(Every(minutes=1), "UTC", first, noon(TODAY), 1)
        assert noon(TODAY) == slot.at

    def test_a_rule_that_comes_once_a_year_is_due_though_it_is_long_ago(self):
        rule = Cron(expression="0 9 1 1 *")
        first = next_slot(rule, "UTC", datetime(2025, 12, 31, tzinfo=UTC))
        assert [first] == due_slots(rule, "UTC", first, noon(TODAY), 1)


@pytest.mark.parametrize("rule", [SEVEN, Once(day=TODAY, at=time(9)), Cron(expression="0 9 * * 1"), Every(minutes=30)])
def test_a_rule_is_read_as_it_was_written(rule):
    assert rule == RULES.validate_json(dump_rule(rule))


def test_rules_that_come_too_often_are_refused():
    least = timedelta(minutes=15)
    for rule in (Cron(expression="*/10 * * * *"), Every(minutes=5), Cron(expression="0,5 9 1 * *")):
        with pytest.raises(BadTiming, match="every 15 minutes"):
            check_interval(rule, MADRID, noon(TODAY), least)
    for rule in (Cron(expression="*/15 * * * *"), Every(minutes=15), SEVEN, Once(day=TODAY, at=time(19))):
        check_interval(rule, MADRID, noon(TODAY), least)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("NOTHING_TO_SAY", ""),
        (" **NOTHING_TO_SAY.**\n", ""),
        ("", ""),
        ("NOTHING_TO_SAY\n\nHello.", "Hello."),
        ("There is NOTHING_TO_SAY here.", "There is NOTHING_TO_SAY here."),
    ],
)
def test_a_line_that_means_silence_is_no_part_of_an_answer(answer, said):
    assert said == drop_silence(answer)


def test_the_wall_of_an_instant_is_the_same_in_both_hours_of_a_fold():
    assert {datetime(2026, 10, 25, 2, 30)} == {  # noqa: DTZ001  on the wall
        to_wall(datetime(2026, 10, 25, hour, 30, tzinfo=UTC), MADRID) for hour in (0, 1)
    }


def test_the_days_of_a_reminder_are_told_by_name():
    assert "19:00, Mon,Wed" == describe_rule(Daily(at=time(19), weekdays=(0, 2)))
    assert "19:00, daily" == describe_rule(Daily(at=time(19)))


@pytest.mark.parametrize(
    ("expression", "weekdays"),
    [
        ("0 8 * * 1-5", (0, 1, 2, 3, 4)),
        ("30 19 * * *", tuple(range(7))),
        ("0 8 * * 0,6", (5, 6)),
        ("0 8 * * 7", (6,)),
        ("0 8 * * 3-1", None),
        ("*/5 8 * * 1", None),
        ("0 24 * * 1", None),
        ("0 8 1 * *", None),
    ],
)
def test_a_cron_expression_of_one_time_a_day_is_a_time_on_weekdays(
    expression: str, weekdays: tuple[int, ...] | None
) -> None:
    daily = as_daily(Cron(expression=expression))
    assert weekdays == (None if daily is None else daily.weekdays)


@pytest.mark.parametrize(
    ("weekdays", "said"),
    [((0, 1, 2, 3, 4), "Mon–Fri"), ((0, 2), "Mon, Wed"), ((5, 6), "Sat, Sun"), (tuple(range(7)), "every day")],
)
def test_weekdays_are_said_in_short(weekdays: tuple[int, ...], said: str) -> None:
    assert said == weekdays_text(invocation("schedules"), weekdays)
