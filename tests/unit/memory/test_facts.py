"""Facts with the times in which they hold, and dreaming."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from agent.memory.dreaming import FREQUENCY, FRESHNESS, RECENCY, RELEVANCE, dream, score_of
from agent.memory.facts import PERSON, Fact, Relation, Statement, contradicts, is_same, learn, normal_form

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def lives_in(place: str, since: datetime = NOON, said_at: datetime | None = None, *, holds: bool = True) -> Statement:
    return Statement(PERSON, Relation.LIVES_IN, place, since, said_at or since, holds)


def test_a_newer_fact_ends_the_one_that_it_contradicts():
    rome, oslo = learn([], [lives_in("Rome"), lives_in("Oslo", NOON + DAY)])
    assert ("Rome", NOON, NOON + DAY) == (rome.object, rome.valid_from, rome.valid_to)
    assert ("Oslo", NOON + DAY, None) == (oslo.object, oslo.valid_from, oslo.valid_to)


def test_what_is_told_later_of_an_earlier_time_ends_where_the_known_begins():
    oslo, rome = learn([], [lives_in("Oslo"), lives_in("Rome", NOON - 9 * DAY, NOON + DAY)])
    assert ("Rome", NOON - 9 * DAY, NOON) == (rome.object, rome.valid_from, rome.valid_to)
    assert oslo.valid_to is None


def test_a_fact_said_again_is_counted_and_one_that_is_over_ends():
    guitar = Statement(PERSON, Relation.PRACTISES, "the guitar", NOON, NOON, confidence=0.5)
    again = replace(guitar, object="Guitar", since=NOON + DAY, said_at=NOON + DAY, confidence=1.0)
    (fact,) = learn([], [guitar, again])
    assert (2, 0.75, NOON, NOON + DAY) == (fact.mentions, fact.confidence, fact.valid_from, fact.last_at)
    (ended,) = learn([fact], [replace(again, since=NOON + 2 * DAY, said_at=NOON + 2 * DAY, holds=False)])
    assert NOON + 2 * DAY == ended.valid_to


def test_likes_and_dislikes_of_one_thing_do_not_hold_together():
    liked = Statement(PERSON, Relation.LIKES, "scales", NOON, NOON)
    first, second = learn([], [liked, replace(liked, relation=Relation.DISLIKES, since=NOON + DAY, said_at=NOON + DAY)])
    assert (NOON + DAY, None) == (first.valid_to, second.valid_to)


def test_spellings_of_a_name_are_one_name():
    assert normal_form("El Café, Müller") == normal_form("cafe  muller")
    assert normal_form("The") == "the"


def test_a_score_weighs_frequency_relevance_recency_and_freshness():
    perfect = Fact(PERSON, Relation.WANTS, "a concert", NOON, mentions=10, first_at=NOON, last_at=NOON)
    assert 1.0 == round(score_of(perfect, NOON), 6)
    assert score_of(perfect, NOON) == score_of(perfect, NOON - DAY), "a clock was set back"
    assert round(1 - RELEVANCE, 6) == round(score_of(replace(perfect, confidence=0.0), NOON), 6)
    old = replace(perfect, first_at=NOON - 90 * DAY, last_at=NOON - 14 * DAY)
    assert round(FREQUENCY + RELEVANCE + RECENCY / 2 + FRESHNESS / 2, 6) == round(score_of(old, NOON), 6)


def test_dreaming_merges_other_words_for_one_thing():
    one = Fact(PERSON, Relation.OWNS, "red guitars", NOON, mentions=2, first_at=NOON, last_at=NOON)
    other = replace(one, object="Guitar, red", valid_from=NOON + DAY, mentions=1, last_at=NOON + DAY)
    (merged,) = dream([other, one], NOON + DAY)
    assert ("red guitars", 3, NOON, NOON + DAY) == (
        merged.object,
        merged.mentions,
        merged.valid_from,
        merged.last_at,
    )


def test_dreaming_keeps_the_best_that_hold():
    facts = [
        Fact(PERSON, Relation.LIKES, f"thing number {n}x", NOON, mentions=n, first_at=NOON, last_at=NOON)
        for n in range(1, 8)
    ]
    facts[-1] = replace(facts[-1], valid_to=NOON + DAY)
    assert ["thing number 6x", "thing number 5x"] == [each.object for each in dream(facts, NOON + DAY, most=2)]


NAMES = st.sampled_from(["Rome", "rome", "Oslo", "the Oslo", "Oslos", "Lima"])
STATEMENTS = st.builds(
    lambda relation, name, since, said, holds, confidence: Statement(
        PERSON, relation, name, NOON + min(since, said) * DAY, NOON + said * DAY, holds, confidence
    ),
    st.sampled_from([Relation.LIVES_IN, Relation.LIKES, Relation.DISLIKES]),
    NAMES,
    st.integers(0, 20),
    st.integers(0, 20),
    st.booleans(),
    st.floats(0, 1),
)


def _overlap(one: Fact, other: Fact) -> bool:
    ends = [each.valid_to or datetime.max.replace(tzinfo=UTC) for each in (one, other)]
    return max(one.valid_from, other.valid_from) < min(ends)


def _check(facts: list[Fact]) -> None:
    assert all(each.valid_to is None or each.valid_from < each.valid_to for each in facts)
    for one, other in combinations(facts, 2):
        if contradicts(one, other) or is_same(one, other):
            assert not _overlap(one, other), (one, other)


@given(st.lists(STATEMENTS, max_size=25))
def test_contradictions_never_hold_at_one_time(stated: list[Statement]) -> None:
    facts: list[Fact] = []
    for each in stated:
        facts = learn(facts, [each])
        _check(facts)


@given(st.lists(st.lists(STATEMENTS, max_size=10), max_size=3))
def test_dreaming_again_changes_nothing(people: list[list[Statement]]) -> None:
    facts = [fact for stated in people for fact in learn([], stated)]  # of users who were linked since
    dreamt = dream(facts, NOON + 30 * DAY)
    _check(dreamt)
    assert dreamt == dream(dreamt, NOON + 30 * DAY)
    assert all(0 <= each.score <= 1 for each in dreamt)
    assert sum(each.mentions for each in dreamt) <= sum(each.mentions for each in facts)
