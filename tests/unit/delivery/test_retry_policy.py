"""The next step after each kind of failure, for each kind of row."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from channels.errors import Permanent, PermanentKind, Retryable, Unknown
from channels.messages import Address, AttachmentKind, Rendered
from gateway.delivery.retry_policy import BACKOFF, MOST_MOVES, PROMPT_TRIES, decide
from gateway.store.causes import AnswerOf
from gateway.store.outbox import Action, MediaRef, OutboxPart, OutboxRow, PartState

STEPS_S = BACKOFF.steps_s
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
DAY_S = 86_400.0
CHAT = Address("telegram", "main", "42")
PART = OutboxPart(AnswerOf("turn"), 1, 0, Action.SEND, CHAT, Rendered("bold", "[]"), "bold")
ROW = OutboxRow(1, "default", PART, "k", PartState.SENDING, attempts=1, created_at=NOW)


def row_of(action: Action) -> OutboxRow:
    return replace(ROW, part=replace(PART, action=action))


def test_an_unknown_send_goes_once_more_and_is_marked() -> None:
    after = decide(ROW, Unknown("cut"), NOW, DAY_S).row
    assert (PartState.READY, True) == (after.state, after.maybe_duplicate)


def test_a_second_unknown_is_recorded_and_the_lane_goes_on() -> None:
    outcome = decide(replace(ROW, maybe_duplicate=True), Unknown("cut"), NOW, DAY_S)
    assert PartState.UNKNOWN == outcome.row.state
    assert not outcome.drop_rest


def test_an_edit_may_be_repeated_without_a_mark() -> None:
    after = decide(row_of(Action.EDIT), Unknown("cut"), NOW, DAY_S).row
    assert (PartState.READY, False) == (after.state, after.maybe_duplicate)


def test_a_platform_that_knows_keys_is_asked_again_as_often_as_it_takes() -> None:
    once = decide(ROW, Unknown("cut"), NOW, DAY_S, idempotent=True).row
    twice = decide(once, Unknown("cut"), NOW, DAY_S, idempotent=True).row
    assert [(PartState.READY, True)] * 2 == [(once.state, once.maybe_duplicate), (twice.state, twice.maybe_duplicate)]


def test_an_unknown_placeholder_is_not_resent_where_keys_are_not_known() -> None:
    assert PartState.UNKNOWN == decide(row_of(Action.PLACEHOLDER), Unknown("cut"), NOW, DAY_S).row.state


def test_an_unknown_placeholder_is_asked_for_once_where_keys_are_known() -> None:
    once = decide(row_of(Action.PLACEHOLDER), Unknown("cut"), NOW, DAY_S, idempotent=True).row
    assert (PartState.READY, True, None) == (once.state, once.maybe_duplicate, once.not_before)
    assert PartState.UNKNOWN == decide(once, Unknown("cut"), NOW, DAY_S, idempotent=True).row.state


def test_retry_after_is_obeyed_to_the_second() -> None:
    """Cover F01."""
    after = decide(ROW, Retryable("429", retry_after_s=17.0), NOW, DAY_S).row
    assert NOW + timedelta(seconds=17) == after.not_before


@pytest.mark.parametrize(("attempts", "wait_s"), [(1, STEPS_S[0]), (3, STEPS_S[2]), (50, STEPS_S[-1])])
def test_backoff_grows_to_its_last_step(attempts: int, wait_s: float) -> None:
    after = decide(replace(ROW, attempts=attempts), Retryable("refused"), NOW, DAY_S).row
    assert NOW + timedelta(seconds=wait_s) == after.not_before


def test_a_part_older_than_a_day_is_given_up() -> None:
    outcome = decide(replace(ROW, created_at=NOW - timedelta(days=2)), Retryable("refused"), NOW, DAY_S)
    assert (PartState.DEAD, True) == (outcome.row.state, outcome.drop_rest)


def test_a_refused_rendering_goes_as_plain_text_once() -> None:
    refused = Permanent("can't parse entities", PermanentKind.MALFORMED)
    first = decide(ROW, refused, NOW, DAY_S).row
    assert (PartState.READY, Rendered("bold")) == (first.state, first.part.rendered)
    assert PartState.DEAD == decide(first, refused, NOW, DAY_S).row.state


def test_an_edit_without_its_target_becomes_a_send() -> None:
    gone = Permanent("message to edit not found", PermanentKind.TARGET_GONE)
    after = decide(row_of(Action.EDIT), gone, NOW, DAY_S).row
    assert (PartState.READY, Action.SEND) == (after.state, after.part.action)


def test_a_person_who_blocked_the_bot_parks_their_lane() -> None:
    outcome = decide(ROW, Permanent("blocked", PermanentKind.BLOCKED), NOW, DAY_S)
    assert (PartState.READY, True) == (outcome.row.state, outcome.park)


def test_any_other_refusal_dead_letters_the_rest() -> None:
    outcome = decide(ROW, Permanent("chat is closed"), NOW, DAY_S)
    assert (PartState.DEAD, True) == (outcome.row.state, outcome.drop_rest)


@pytest.mark.parametrize(
    ("said_s", "longest_s", "wait_s"), [(1e12, 3600.0, 3600.0), (9e3, 3600.0, 3600.0), (60.0, 5.0, 5.0)]
)
def test_a_wait_of_ages_is_bounded(said_s: float, longest_s: float, wait_s: float) -> None:
    after = decide(ROW, Retryable("429", retry_after_s=said_s), NOW, DAY_S, longest_wait_s=longest_s).row
    assert NOW + timedelta(seconds=wait_s) == after.not_before


def test_who_refuses_again_and_again_without_a_wait_is_asked_once_a_second() -> None:
    waits = [
        decide(replace(ROW, attempts=attempts), Retryable("429", retry_after_s=-5.0), NOW, DAY_S).row.not_before
        for attempts in (1, PROMPT_TRIES, PROMPT_TRIES + 1)
    ]
    assert [NOW, NOW, NOW + timedelta(seconds=1)] == waits


def test_a_chat_that_moves_in_circles_is_nowhere() -> None:
    moved = Permanent("moved", PermanentKind.MOVED, moved_to="43")
    to_itself = Permanent("moved", PermanentKind.MOVED, moved_to=PART.address.chat)
    assert "43" == decide(ROW, moved, NOW, DAY_S).moved_to
    for row, failure in ((ROW, to_itself), (replace(ROW, attempts=MOST_MOVES + 1), moved)):
        outcome = decide(row, failure, NOW, DAY_S)
        assert (None, PartState.DEAD) == (outcome.moved_to, outcome.row.state)


def test_a_voice_is_given_up_alone_and_without_an_apology() -> None:
    voice = MediaRef(AttachmentKind.VOICE, "answer", "audio/ogg", "b")
    row = replace(ROW, part=replace(PART, media=(voice,)))
    late = NOW + timedelta(seconds=DAY_S + 1)
    for outcome in (decide(row, Permanent("no"), NOW, DAY_S), decide(row, Retryable("429"), late, DAY_S)):
        assert (PartState.DISCARDED, False) == (outcome.row.state, outcome.drop_rest)
    assert PartState.READY == decide(row, Retryable("429"), NOW, DAY_S).row.state
