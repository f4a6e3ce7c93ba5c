"""Data of a button: signed, for one person at one account, for a time, within every platform's limit."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.access.buttons import MAX_DATA_BYTES, ButtonContent, InvalidPress, SealedButtons, long_id, short_id
from gateway.access.codes import AccessKeys
from gateway.store.tables.base import new_id
from tests.fakes.people import KEY, NOON, minutes

BUTTONS = SealedButtons(AccessKeys.derive_from(KEY).buttons)
UNTIL = NOON + minutes(60)
DATA = BUTTONS.seal("approve", "abc", "u-1", "telegram:main", UNTIL)


def opened(
    data: str, user_id: str = "u-1", account: str = "telegram:main", at: float = 0
) -> ButtonContent | InvalidPress:
    return BUTTONS.open(data, user_id, account, NOON + minutes(at))


def test_a_button_means_what_it_was_made_for_until_its_time_is_over() -> None:
    assert ButtonContent("approve", "abc") == opened(DATA) == opened(DATA, at=59.99) == opened(DATA, at=-600)
    assert InvalidPress.STALE == opened(DATA, at=60) == opened(DATA, at=1e6)


ELSEWHERE = [("u-2", "telegram:main"), ("", "telegram:main"), ("u-1", "discord:main"), ("u-1", "telegram:second")]


@pytest.mark.parametrize(("user_id", "account"), ELSEWHERE)
def test_a34_a_button_is_for_one_person_at_one_account(user_id: str, account: str) -> None:
    assert InvalidPress.FORGED == opened(DATA, user_id, account)


@given(st.integers(0, len(DATA) - 1), st.sampled_from("abcABC019:_-. é\n"))
def test_a_button_with_any_character_changed_is_none(place: int, letter: str) -> None:
    changed = DATA[:place] + letter + DATA[place + 1 :]
    assert (changed == DATA) == (opened(changed) == ButtonContent("approve", "abc"))


@given(st.text(max_size=200) | st.from_regex(r"(approve|deny|block):[a-z0-9:]{0,60}", fullmatch=True))
def test_made_up_data_is_none(data: str) -> None:
    assert InvalidPress.FORGED == opened(data)


def test_a_button_of_another_home_is_none() -> None:
    other = SealedButtons(AccessKeys.derive_from(bytes(32)).buttons)
    fresh = SealedButtons(AccessKeys.fresh().buttons)
    for buttons in (other, fresh):
        assert InvalidPress.FORGED == opened(buttons.seal("approve", "abc", "u-1", "telegram:main", UNTIL))


@given(st.integers(0, 10_000))
def test_a_button_about_a_row_fits_into_what_telegram_takes(days: int) -> None:
    data = BUTTONS.seal("approve", short_id(new_id()), "u-1", "telegram:main", NOON + timedelta(days=days))
    assert data.isascii()
    assert len(data) <= MAX_DATA_BYTES


def test_what_no_button_can_carry_is_a_programming_error() -> None:
    for word, subject in (("Approve", "a"), ("a" * 13, "a"), ("a", ""), ("a", "x:y"), ("approve", "x" * 36)):
        with pytest.raises(ValueError, match=r"a button|the button"):
            BUTTONS.seal(word, subject, "u-1", "telegram:main", UNTIL)


def test_an_id_survives_being_shortened() -> None:
    id_ = new_id()
    assert id_ == long_id(short_id(id_))
    assert ["", "", ""] == [long_id(short) for short in ("", "abc", "!" * 22)]
