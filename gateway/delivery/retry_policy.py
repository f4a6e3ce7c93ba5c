"""Retry policy: what follows a failed attempt, as a pure function of the row and the failure.

The only place that decides to retry, resend with a mark, fall back to plain text, park or give up.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from channels.chat.retrying import Backoff
from channels.errors import ChannelError, Permanent, PermanentKind, Retryable
from channels.foreign import LONGEST_WAIT_S
from channels.messages import Rendered
from gateway.store.outbox import Action, OutboxRow, PartState

BACKOFF = Backoff((1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0))
"""Waits between attempts if the platform named none, in seconds; the last one repeats."""


PROMPT_TRIES = 5
"""Attempts made exactly at the time that the platform names."""

MOST_MOVES = 10
"""Attempts after which a chat that keeps moving counts as gone."""


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """Decision after an attempt."""

    row: OutboxRow
    error: str
    park: bool = False  # the person cannot be reached: stop the lane until they write again
    moved_to: str | None = None  # new id of the chat: move the lane
    drop_rest: bool = False  # give up the later parts, too, and tell the person once


def decide(
    row: OutboxRow,
    failure: ChannelError,
    now: datetime,
    give_up_after_s: float,
    *,
    idempotent: bool = False,
    longest_wait_s: float = LONGEST_WAIT_S,
) -> AttemptOutcome:
    """Return the decision about a failed attempt.

    `idempotent`: the platform recognises a repeated send by its key. A wait that it names is obeyed up to
    `longest_wait_s`.
    """
    if isinstance(failure, Permanent):
        return _without_voice(_decide_refusal(row, failure))
    error = str(failure)
    if isinstance(failure, Retryable):
        wait_s = None if failure.retry_after_s is None else min(failure.retry_after_s, longest_wait_s)
        return _without_voice(_retry_later(row, error, now, give_up_after_s, wait_s))
    if row.part.action is Action.PLACEHOLDER:
        if idempotent and not row.maybe_duplicate:  # retry once, to learn which message is to become the answer
            return AttemptOutcome(replace(row, state=PartState.READY, maybe_duplicate=True, not_before=None), error)
        return AttemptOutcome(replace(row, state=PartState.UNKNOWN), error)
    if row.part.action in (Action.EDIT, Action.DELETE):
        return _retry_later(row, error, now, give_up_after_s, None)
    if idempotent:
        return _retry_later(replace(row, maybe_duplicate=True), error, now, give_up_after_s, None)
    if row.maybe_duplicate:
        return AttemptOutcome(replace(row, state=PartState.UNKNOWN), error)
    return AttemptOutcome(replace(row, state=PartState.READY, maybe_duplicate=True, not_before=None), error)


def _without_voice(outcome: AttemptOutcome) -> AttemptOutcome:
    """Return the outcome; a voice that is given up needs no apology, because its text was sent."""
    if outcome.row.state is not PartState.DEAD or not outcome.row.part.is_speech:
        return outcome
    return replace(outcome, row=replace(outcome.row, state=PartState.DISCARDED), drop_rest=False)


def _retry_later(
    row: OutboxRow, error: str, now: datetime, give_up_after_s: float, retry_after_s: float | None
) -> AttemptOutcome:
    if row.created_at is not None and now - row.created_at > timedelta(seconds=give_up_after_s):
        return AttemptOutcome(
            replace(row, state=PartState.DEAD), f"given up after {give_up_after_s:.0f} s: {error}", drop_rest=True
        )
    if row.part.action is Action.PLACEHOLDER:  # by then the answer may be there
        return AttemptOutcome(replace(row, state=PartState.UNKNOWN), error)
    wait_s = BACKOFF.wait_s(max(row.attempts, 1))
    if retry_after_s is not None:
        # After several refusals with nearly no wait, wait at least the first step, to avoid a tight loop.
        wait_s = retry_after_s if row.attempts <= PROMPT_TRIES else max(retry_after_s, BACKOFF.steps_s[0])
    return AttemptOutcome(replace(row, state=PartState.READY, not_before=now + timedelta(seconds=wait_s)), error)


def _goes_on(row: OutboxRow, chat: str | None) -> bool:
    """Return True if the chat moved to a new id, not in circles."""
    return chat is not None and chat != row.part.address.chat and row.attempts <= MOST_MOVES


def _decide_refusal(row: OutboxRow, failure: Permanent) -> AttemptOutcome:
    error = failure.reason
    if failure.kind is PermanentKind.BLOCKED:
        return AttemptOutcome(replace(row, state=PartState.READY), error, park=True)
    if failure.kind is PermanentKind.MOVED and _goes_on(row, failure.moved_to):
        return AttemptOutcome(replace(row, state=PartState.READY, not_before=None), error, moved_to=failure.moved_to)
    if row.part.action is Action.DELETE:  # gone already, or it stays: no text is missing
        return AttemptOutcome(replace(row, state=PartState.DISCARDED), error)
    if failure.kind is PermanentKind.MALFORMED and row.part.rendered != Rendered(row.part.plain):
        return AttemptOutcome(
            replace(
                row, state=PartState.READY, part=replace(row.part, rendered=Rendered(row.part.plain)), not_before=None
            ),
            error,
        )
    if failure.kind is PermanentKind.TARGET_GONE and row.part.action is Action.EDIT:
        return AttemptOutcome(
            replace(row, state=PartState.READY, part=replace(row.part, action=Action.SEND), not_before=None), error
        )
    if row.part.action is Action.PLACEHOLDER:
        return AttemptOutcome(replace(row, state=PartState.UNKNOWN), error)
    return AttemptOutcome(replace(row, state=PartState.DEAD), error, drop_rest=True)
