"""A person's own days and weeks."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.calendar import is_zone, local_date, today_of, week_of
from agent.ports import Principal


class TestDays:
    @pytest.mark.parametrize(
        ("instant", "zone", "day"),
        [
            (datetime(2026, 3, 8, 6, 30, tzinfo=UTC), "America/New_York", date(2026, 3, 8)),  # 01:30, before the jump
            (datetime(2026, 3, 8, 7, 30, tzinfo=UTC), "America/New_York", date(2026, 3, 8)),  # 03:30, after it
            (datetime(2026, 3, 9, 3, 59, tzinfo=UTC), "America/New_York", date(2026, 3, 8)),  # 23:59 of a 23 h day
            (datetime(2026, 10, 25, 22, 59, tzinfo=UTC), "Europe/Berlin", date(2026, 10, 25)),  # 23:59 of a 25 h day
            (datetime(2026, 10, 25, 23, 0, tzinfo=UTC), "Europe/Berlin", date(2026, 10, 26)),
            (datetime(2026, 1, 1, 0, 0, tzinfo=UTC), "Pacific/Kiritimati", date(2026, 1, 1)),
            (datetime(2026, 1, 1, 0, 0, tzinfo=UTC), "Pacific/Pago_Pago", date(2025, 12, 31)),
        ],
    )
    def test_an_instant_has_the_date_on_the_wall(self, instant, zone, day):
        """Cover F63."""
        assert day == local_date(instant, zone)

    @pytest.mark.parametrize("zone", ["", "Nowhere/City", "../../etc/passwd", "/etc/localtime", "UTC\x00", "America"])
    def test_a_zone_that_is_none_counts_as_utc(self, zone):
        assert not is_zone(zone)
        assert date(2026, 3, 4) == today_of(Principal("u", "t", timezone=zone), datetime(2026, 3, 4, 23, tzinfo=UTC))

    def test_utc_is_a_zone(self):
        assert is_zone("UTC")

    @given(st.dates(date(1990, 1, 1), date(2100, 1, 1)), st.integers(0, 6))
    def test_a_week_begins_where_the_person_says(self, day, week_start):
        first = week_of(day, week_start)
        assert week_start == first.weekday()
        assert timedelta(0) <= day - first <= timedelta(days=6)
