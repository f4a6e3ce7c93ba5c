"""The rules of one entry, and the cleaning of its text."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.coach.practice import PracticeRefused, Refusal, check_entry, clean_name, clean_notes, name_key
from agent.wellformed import clean
from tests.fakes.practice_reader import TODAY


class TestEntries:
    @pytest.mark.parametrize("minutes", [1, 1440])
    def test_a_minute_and_a_day_are_allowed(self, minutes):
        check_entry(minutes, TODAY, TODAY)

    @pytest.mark.parametrize(
        ("minutes", "days", "refusal"),
        [
            (0, 0, Refusal.ZERO),
            (-5, 0, Refusal.ZERO),
            (1441, 0, Refusal.TOO_LONG),
            (30, 1, Refusal.FUTURE),
        ],
    )
    def test_an_impossible_entry_is_refused(self, minutes, days, refusal):
        with pytest.raises(PracticeRefused) as refused:
            check_entry(minutes, TODAY + timedelta(days=days), TODAY)
        assert refusal == refused.value.refusal


class TestText:
    def test_what_cannot_be_seen_is_left_out(self):
        """Cover A55."""
        assert "guitar" == clean("gu\x00it\u202ea\u200br\U000e0041\ud800")

    def test_an_emoji_family_stays_whole(self):
        assert "👨\u200d👩\u200d👧" == clean("👨\u200d👩\u200d👧")

    def test_lines_become_one(self):
        assert "a b c" == clean(" a\n\tb \r\n c ")

    @pytest.mark.parametrize("name", ["", "   ", "123", "';--", "🎸"])
    def test_a_name_has_letters(self, name):
        with pytest.raises(PracticeRefused) as refused:
            clean_name(name)
        assert Refusal.NO_NAME == refused.value.refusal

    def test_sql_in_a_name_is_just_a_name(self):
        """Cover A50."""
        assert "'; DROP TABLE skills; --" == clean_name("'; DROP TABLE skills; --")

    @pytest.mark.parametrize("name", ["g" * 65, "\ufdfa" * 60])
    def test_a_name_is_short_also_folded(self, name):
        with pytest.raises(PracticeRefused) as refused:
            clean_name(name)
        assert Refusal.NAME_TOO_LONG == refused.value.refusal

    def test_long_notes_are_cut_with_a_sign(self):
        assert "n" * 999 + "…" == clean_notes("n" * 2000)

    @given(st.text())
    def test_cleaning_twice_is_cleaning_once(self, text):
        once = clean(text)
        once.encode()
        assert once == clean(once)

    def test_case_and_width_do_not_make_a_new_skill(self):
        assert name_key("Bass  Guitar") == name_key("ｂａｓｓ guitar")
