"""Detection of circles, and what resets it."""

import pytest

from agent.recovery import detect_loop
from agent.transcript import (
    CallOutcome,
    ModelResponded,
    Nudged,
    NudgeReason,
    Steered,
    ToolCall,
    ToolReturned,
    UserItem,
)
from tests.unit.agent.normal_transcripts import Dice


def call(name, arguments="{}", result="{}", outcome=CallOutcome.DONE):
    return [
        ModelResponded(0, "", (ToolCall("c", name, arguments),)),
        ToolReturned(0, "k", "c", name, result, outcome),
    ]


def failing(name):
    return call(name, result='{"error": "no"}', outcome=CallOutcome.FAILED)


@pytest.mark.parametrize(
    ("events", "found"),
    [
        (call("a") * 3, None),
        (call("a") * 4, "same result 4"),
        (failing("a") * 2, None),
        (failing("a") * 3, "failed the same way 3"),
        ([ModelResponded(0, "hm")] * 2, None),
        ([ModelResponded(0, "hm")] * 3, "said 3"),
        ((call("a") + call("b")) * 5 + call("a"), None),
        ((call("a") + call("b")) * 6, "alternate for 6"),
        (call("a", result="1") + call("a", result="2") + call("a", result="3") + call("a", result="4"), None),
        (call("a", '{"n":1}') + call("a", '{"n":2}') + call("a", '{"n":3}') + call("a", '{"n":4}'), None),
        (call("a") * 3 + call("b") + call("a"), None),
        (call("a", outcome=CallOutcome.SKIPPED) * 9, None),
    ],
)
def test_f54_circles(events, found):
    how = detect_loop(events)
    assert (found is None) is (how is None)
    assert found is None or found in how


def test_times_of_day_do_not_make_a_difference():
    events = [event for n in range(4) for event in call("a", result=f'{{"at": "2026-01-02T10:00:0{n}Z"}}')]
    assert detect_loop(events)


@pytest.mark.parametrize(
    ("times", "circles"),
    [
        ([f"2026-01-02T10:00:0{n}Z" for n in range(4)], True),
        ([f"10:0{n}:30" for n in range(4)], True),
        ([f"2026-01-02T10:{15 * n:02}:00+01:00" for n in range(4)], False),
        ([f"2026-01-0{n + 2} 08:30" for n in range(4)], False),
        ([f"1{n}:00:00" for n in range(4)], False),
        ([str(1767348000 + n) for n in range(4)], False),
    ],
)
def test_a_clock_in_the_arguments_makes_no_difference_another_time_or_id_does(times, circles):
    events = [event for at in times for event in call("remind", f'{{"at": "{at}"}}', '{"data": "done"}')]
    assert circles is (detect_loop(events) is not None)


@pytest.mark.parametrize("between", [Steered(0, (UserItem("go on"),)), Nudged(0, "stop", NudgeReason.STUCK)])
def test_what_the_person_says_and_a_warning_start_anew(between):
    assert detect_loop([*call("a") * 3, between, *call("a") * 3]) is None


def test_the_same_arguments_in_another_spelling_are_the_same():
    spelled = ['{"a":1,"b":2}', '{"b": 2, "a": 1}', '{ "a": 1, "b": 2 }', '{"b":2,"a":1}']
    assert "same result 4" in detect_loop([event for each in spelled for event in call("a", each)])


def test_a_batch_of_calls_that_is_asked_for_again_is_a_circle():
    batch = [
        ModelResponded(0, "", (ToolCall("c", "a", "{}"), ToolCall("d", "b", "{}"))),
        ToolReturned(0, "k", "c", "a", "{}"),
        ToolReturned(0, "l", "d", "b", "{}"),
    ]
    assert detect_loop(batch * 3) is None
    assert "same result 4" in detect_loop(batch * 4)


def test_four_equal_calls_of_one_response_are_no_circle():
    calls = tuple(ToolCall(f"c{n}", "a", "{}") for n in range(4))
    returned = [ToolReturned(0, f"k{n}", f"c{n}", "a", "{}") for n in range(4)]
    assert detect_loop([ModelResponded(0, "", calls), *returned]) is None


def test_hardly_any_turn_that_works_is_taken_for_a_circle():
    stopped = 0
    for seed in range(500):
        events = list(Dice(seed).turn())
        steps = [at for at, event in enumerate(events) if at and isinstance(event, ModelResponded)]
        stopped += any(detect_loop(events[:at]) for at in steps)
    assert 5 >= stopped
