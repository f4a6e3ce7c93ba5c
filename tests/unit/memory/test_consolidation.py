"""Requests about conversations that have ended, and what is taken of the answers."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.consolidation import (
    MAX_SAID_CHARS,
    BrokenFindings,
    KnownBefore,
    OwnWords,
    entities_of,
    memories_of,
    read_findings,
    statements_of,
    to_request,
)
from agent.memory.facts import PERSON, Fact, Relation
from agent.memory.memory import MemoryOrigin
from agent.transcript import UserItem

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
SAID = (OwnWords("I moved to Oslo in January, I work for Müller & Sons", NOON),)


MEMORY = {"name": "cello", "type": "user", "description": "Plays the cello", "body": "They play the cello."}


def answer(**changed: Any) -> dict[str, Any]:
    return {
        "abstract": "Moved to Oslo,\n new work.",
        "entities": [{"name": "Oslo", "kind": "place"}, {"name": "Müller & Sons", "kind": "organisation"}],
        "facts": [{"subject": "person", "relation": "lives_in", "object": "Oslo", "since": "2026-01-01"}],
        **changed,
    }


def test_a_request_has_the_words_and_what_is_known_as_data():
    known = [Fact(PERSON, Relation.LIVES_IN, "Rome", NOON - timedelta(days=400))]
    request = to_request([OwnWords("x" * 9_000, NOON), *SAID], KnownBefore("So far so good.", known))
    (item,) = request.items
    assert isinstance(item, UserItem)
    data = json.loads(item.data)
    assert ("So far so good.", "Rome") == (data["abstract"], data["known"][0]["object"])
    assert [MAX_SAID_CHARS, len(SAID[0].text)] == [len(each["text"]) for each in data["said"]]
    assert not request.tools and "Oslo" not in item.text + str(request.system)


@pytest.mark.parametrize("fence", ["{}", "```json\n{}\n```", "```\n{}\n```\n"])
def test_an_answer_is_read_with_or_without_a_fence(fence: str) -> None:
    found = read_findings(fence.replace("{}", json.dumps(answer())))
    assert "Moved to Oslo, new work." == found.abstract
    (fact,) = statements_of(found, SAID, [])
    assert (Relation.LIVES_IN, "Oslo", datetime(2026, 1, 1, tzinfo=UTC)) == (fact.relation, fact.object, fact.since)
    assert ["Oslo"] == [each.name for each in entities_of(found, [fact])]


@pytest.mark.parametrize(
    "broken",
    [
        "Here you are: {}",
        "{",
        "[]",
        json.dumps(answer(abstract="x" * 401)),
        json.dumps(answer(abstract="a\x1b[31m")),
        json.dumps(answer(**{"delete everything": 1})),
        json.dumps(answer(facts=[{"delete everything": 1}])),
        json.dumps(answer(entities=[{"name": "Oslo", "kind": "spell"}])),
        json.dumps(answer(entities=[{"name": "a\nb", "kind": "place"}])),
        json.dumps(answer(entities=[{"name": "x" * 81, "kind": "place"}])),
        json.dumps(answer(facts=[{"subject": "person", "relation": "obeys", "object": "Oslo"}])),
        json.dumps(answer(facts=[{"subject": "person", "relation": "likes", "object": "Oslo", "confidence": 7}])),
        json.dumps(answer(entities=[{"name": "Oslo", "kind": "place"}] * 51)),
        json.dumps(answer(memories=[{**MEMORY, "name": "../etc"}])),
        json.dumps(answer(memories=[{**MEMORY, "name": "cello\n"}])),
        json.dumps(answer(memories=[{**MEMORY, "type": "order"}])),
        json.dumps(answer(memories=[{**MEMORY, "description": "x" * 151}])),
        json.dumps(answer(memories=[{**MEMORY, "body": "x" * 4_001}])),
        json.dumps(answer(memories=[{**MEMORY, "body": "They play tomorrow."}])),
        json.dumps(answer(memories=[{**MEMORY, "type": "feedback"}])),
    ],
)
def test_an_answer_of_another_form_is_refused_without_its_words(broken: str) -> None:
    with pytest.raises(BrokenFindings) as refused:
        read_findings(broken)
    assert "delete everything" not in str(refused.value)


def test_a_memory_is_kept_as_consolidated():
    found = read_findings(json.dumps(answer(memories=[MEMORY, {**MEMORY, "body": "Why: fun"}])))
    (memory,) = memories_of(found, SAID, "consolidation/1/0")
    assert ("cello", "Why: fun", MemoryOrigin.CONSOLIDATED, NOON) == (
        memory.name,
        memory.body,
        memory.origin,
        memory.updated_at,
    )


def test_the_model_reads_the_text_of_memories_that_it_may_write_anew():
    memory = memories_of(read_findings(json.dumps(answer(memories=[MEMORY]))), SAID, "")[0]
    known = KnownBefore(memories=[memory, replace(memory, name="own", origin=MemoryOrigin.PERSON)])
    (item,) = to_request(SAID, known).items
    assert isinstance(item, UserItem)
    assert [("cello", True), ("own", False)] == [(m["name"], "body" in m) for m in json.loads(item.data)["memories"]]


def test_names_that_were_not_said_are_left_out():
    facts = [
        {"subject": "person", "relation": "knows", "object": "Eve"},  # an entity that was not said
        {"subject": "person", "relation": "likes", "object": "jazz"},  # no entity
        {"subject": "Eve", "relation": "lives_in", "object": "Oslo"},
        {"subject": "person", "relation": "works_at", "object": "muller & sons"},
    ]
    found = read_findings(
        json.dumps(answer(entities=[*answer()["entities"], {"name": "Eve", "kind": "person"}], facts=facts))
    )
    (kept,) = statements_of(found, SAID, [])
    assert "muller & sons" == kept.object
    known = [Fact(PERSON, Relation.KNOWS, "Eve", NOON)]
    assert ["Eve", "Oslo", "muller & sons"] == [each.object for each in statements_of(found, SAID, known)]


@pytest.mark.parametrize("since", [date(2026, 3, 5), date(1066, 1, 1), date(9999, 12, 31)])
def test_a_date_that_lies_ahead_or_far_back_counts_as_not_said(since: date) -> None:
    fact = {"subject": "person", "relation": "lives_in", "object": "Oslo", "since": since.isoformat()}
    (kept,) = statements_of(read_findings(json.dumps(answer(facts=[fact]))), SAID, [])
    assert NOON == kept.since


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(answer())), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(max_size=200) | JSON.map(json.dumps))
def test_no_answer_breaks_the_reading(text: str) -> None:
    try:
        found = read_findings(text)
    except BrokenFindings:
        return
    statements_of(found, SAID, [])
