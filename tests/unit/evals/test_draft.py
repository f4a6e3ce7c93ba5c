"""The first draft of a case from recorded turns."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent.evals.case_file import BadCase, parse_case, write_case
from agent.evals.draft import SaidTurn, draft_case
from agent.replay.record import RecordedCall
from agent.tools.toolbox import TOOL_SEARCH

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def call(name, arguments="{}", data=None, error=None):
    content = {"success": error is None, "data": data, "error": error}
    return RecordedCall(name, arguments, json.dumps(content))


def drafted(*turns):
    recorded = [SaidTurn(*turn[:2], NOON + timedelta(minutes=at), turn[2:]) for at, turn in enumerate(turns)]
    return draft_case("a week", "coach", "es", recorded)


def test_a_case_says_what_was_said_and_wants_the_facts_of_the_answers():
    stats = call("stats", '{"days": 7}', {"minutes": 75})
    case = drafted(
        ("how much?\nthis week", "You practised **75** min, 3 times; 20% more.", stats), ("thanks", "Welcome! Bye.")
    )
    found = parse_case(write_case(case, Path("a.yaml")), Path("a.yaml")).case
    assert ("a week", "coach", "es", NOON) == (found.name, found.agent, found.language, found.date)
    assert ["how much?\nthis week", "thanks"] == [each.text for each in found.messages]
    assert NOON + timedelta(minutes=1) == found.messages[1].at
    first, second = (each.rules for each in found.messages)
    assert (("75 min", "3 times", "20%"), ["stats"]) == (first.contains, [each.tool for each in first.calls])
    assert (("Welcome",), ()) == (second.contains, second.calls)


def test_calls_are_fixtures_once_for_each_result():
    again = call("stats", '{"days": 7}', 2)
    case = drafted(
        ("a", "b", call("stats", '{"days": 7}', 1), again, again, call(TOOL_SEARCH, '{"query": "x"}', 1)),
        ("c", "", call("mail", "no object", error="no address"), call("mail", error="no address")),
    )
    fixtures = parse_case(write_case(case, Path("a.yaml")), Path("a.yaml")).case.fixtures
    assert [1, 2, None] == [each.result for each in fixtures]
    assert [{"days": 7}, {"days": 7}, None] == [each.arguments for each in fixtures]
    assert "no address" == fixtures[2].error
    assert {"calls": ["mail"]} == case["messages"][1]["rules"]


def test_a_case_that_would_be_too_large_is_refused():
    with pytest.raises(BadCase, match=r"a\.yaml: the case would have more than"):
        write_case(drafted(("a", "b", call("stats", data="x" * 1_000_001))), Path("a.yaml"))
