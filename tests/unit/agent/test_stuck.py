"""Going in circles: what counts as one, and what starts the count anew."""

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
        ((call("a") + call("b")) * 2, None),
        ((call("a") + call("b")) * 3, "alternate for 6"),
        (call("a", result="1") + call("a", result="2") + call("a", result="3") + call("a", result="4"), None),
        (call("a", '{"n":1}') + call("a", '{"n":2}') + call("a", '{"n":3}') + call("a", '{"n":4}'), None),
        (call("a") * 3 + call("b") + call("a"), None),
        (call("a", outcome=CallOutcome.SKIPPED) * 9, None),
    ],
)
def test_f54_circles(events, found):
    """Four pairs, three errors, three monologues, six alternations; nothing less."""
    how = detect_loop(events)
    assert (found is None) is (how is None)
    assert found is None or found in how


def test_times_of_day_do_not_make_a_difference():
    """A result that differs by its clock alone is the same result."""
    events = [event for n in range(4) for event in call("a", result=f'{{"at": "2026-01-02T10:00:0{n}Z"}}')]
    assert detect_loop(events)


@pytest.mark.parametrize("between", [Steered(0, (UserItem("go on"),)), Nudged(0, "stop", NudgeReason.STUCK)])
def test_what_the_person_says_and_a_warning_start_anew(between):
    """After either the count begins at none."""
    assert detect_loop([*call("a") * 3, between, *call("a") * 3]) is None
