"""The instant of the next call, on a virtual clock."""

from dataclasses import replace

from channels.base import Limits, TextUnit
from gateway.delivery.pacing import Pacer

LIMITS = Limits(max_text=4096, unit=TextUnit.UTF16, per_chat_per_s=1.0, per_group_per_min=20.0, overall_per_s=30.0)


def test_nothing_is_held_back_before_the_first_429() -> None:
    pacer = Pacer(LIMITS, lambda: 0.0)
    assert [0.0] * 100 == [pacer.reserve("42") for _ in range(100)]


def test_after_a_429_the_chat_waits_as_long_as_it_was_told() -> None:
    pacer = Pacer(LIMITS, lambda: 100.0)
    pacer.slow_down("42", 600.0)
    assert [600.0, 601.0, 602.0] == [pacer.reserve("42") for _ in range(3)]


def test_strict_pacing_holds_from_the_start() -> None:
    pacer = Pacer(LIMITS, lambda: 0.0, strict=True)
    assert [0.0, 1.0, 2.0] == [pacer.reserve("42") for _ in range(3)]


def test_the_overall_limit_is_shared_by_all_chats() -> None:
    pacer = Pacer(replace(LIMITS, per_chat_per_s=None), lambda: 0.0, strict=True)
    waits = [pacer.reserve(str(chat)) for chat in range(32)]
    assert [0.0] * 30 == waits[:30]
    assert waits[30] > 0.0


def test_a_group_gets_twenty_a_minute() -> None:
    pacer = Pacer(replace(LIMITS, group_prefix="-"), lambda: 0.0, strict=True)
    assert [0.0, 3.0, 6.0] == [pacer.reserve("-100") for _ in range(3)]
    assert [0.0, 1.0, 2.0] == [pacer.reserve("100") for _ in range(3)]


def test_a_live_edit_does_not_go_where_calls_wait() -> None:
    now_s = 100.0
    pacer = Pacer(LIMITS, lambda: now_s)
    pacer.slow_down("42", 600.0)
    assert 600.0 == pacer.reserve("42")
    now_s = 700.5
    assert not pacer.may_edit("42")
    now_s = 701.0
    assert pacer.may_edit("42")
