"""A platform's numbers and dates: finite, bounded and aware."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.errors import Permanent, Retryable, Unknown
from channels.foreign import (
    EARLIEST,
    LATEST,
    MOST_ID,
    MOST_SAID_S,
    as_text,
    in_our_time,
    instant_of,
    seconds_of,
    wait_of,
    whole_of,
    words_of,
)

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)

ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=80),
    st.lists(st.integers(), max_size=2),
    st.sampled_from([10**400, -(10**400), "9" * 400, "inf", "-Infinity", "nan", "1e999", "0x10", "１２", "²", {}]),
)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        (30, 30.0),
        (0.3, 0.3),
        ("1.5", 1.5),
        (0, 0.0),
        (-5, 0.0),
        ("-5", 0.0),
        (10**12, MOST_SAID_S),
        (10**400, MOST_SAID_S),
        ("99999999999", MOST_SAID_S),
        ("9" * 400, MOST_SAID_S),
        ("inf", MOST_SAID_S),
        (float("inf"), MOST_SAID_S),
        ("nan", None),
        (float("nan"), None),
        ("abc", None),
        ("", None),
        (None, None),
        (True, None),
        ([3], None),
        ("Fri, 20 Nov 2026 12:00:30 GMT", 30.0),
        ("Thu, 19 Nov 2026 12:00:00 GMT", 0.0),
        ("Fri, 20 Nov 9999 12:00:00 GMT", MOST_SAID_S),
        ("Mon, 01 Jan 0001 00:00:00 GMT", 0.0),
        ("Fri, 20 Nov 2026 12:00:30 +9999", None),
        ("Fri, 99 Nov 2026 12:00:30 GMT", None),
    ],
)
def test_waits(said: object, seconds: float | None) -> None:
    assert seconds == wait_of(said, NOW)


@given(said=ANYTHING)
def test_nothing_that_is_said_breaks_the_reading(said: object) -> None:
    assert seconds_of(said) in (None, 0.0) or 0 < (seconds_of(said) or 0) <= MOST_SAID_S
    assert wait_of(said, NOW) is None or 0 <= (wait_of(said, NOW) or 0) <= MOST_SAID_S
    assert whole_of(said) is None or 0 <= (whole_of(said) or 0) <= MOST_ID
    assert EARLIEST <= instant_of(said, NOW) <= LATEST
    assert not {"\x00", "\ud800"} & set(words_of(said))


@given(at=st.datetimes(), aware=st.booleans())
def test_a_date_stays_in_our_time(at: datetime, aware: bool) -> None:
    assert EARLIEST <= in_our_time(at.replace(tzinfo=UTC) if aware else at) <= LATEST


@pytest.mark.parametrize(
    ("said", "number"),
    [(7, 7), ("7", 7), (MOST_ID, MOST_ID), (MOST_ID + 1, None), ("²", None), ("１２", None), (True, None), (7.0, None)],
)
def test_ids_are_whole_numbers_of_64_bits(said: object, number: int | None) -> None:
    assert number == whole_of(said)


def test_whatever_an_adapter_makes_of_a_failure_is_bounded() -> None:
    assert MOST_SAID_S == Retryable("busy", retry_after_s=1e12).retry_after_s
    assert Retryable("busy", retry_after_s=float("nan")).retry_after_s is None
    words = "a\x00b\ud800\n" * 900
    for failure in (Retryable(words), Permanent(words), Unknown(words)):
        assert 500 >= len(failure.reason.encode()) // 3
        assert str(failure) == failure.reason
        assert "\n" not in failure.reason


def test_what_is_nested_beyond_measure_is_still_written_down() -> None:
    deep: object = []
    for _ in range(100_000):  # beyond what any interpreter of ours follows
        deep = [deep]
    assert as_text(deep).startswith("(list that is nested")
    assert '{"a":null}' == as_text(json.loads('{"a": NaN}'))
