"""A failed attempt leads to what follows: a pure function from a row and a failure to the row as it stands then.

Three kinds of failure come in (`channels.errors`); where a lane goes on, waits, resends once marked, falls back to
plain text, parks or gives up is decided here and nowhere else.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from channels.chat.retrying import Backoff
from channels.errors import ChannelError, Permanent, PermanentKind, Retryable
from channels.foreign import LONGEST_WAIT_S
from channels.messages import Rendered
from gateway.store.outbox import Action, OutboxRow, PartState

BACKOFF = Backoff((1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0))
"""Waits between attempts where the platform named none; the last one repeats."""


PROMPT_TRIES = 5
"""Attempts that are made as soon as the platform says."""

MOST_MOVES = 10
"""Attempts after which a chat that is said to be elsewhere, time and again, is nowhere."""


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """The row after the attempt, and what else follows."""

    row: OutboxRow
    error: str
    park: bool = False  # the person cannot be reached: the lane stops until they are heard again
    moved_to: str | None = None  # the chat goes on under this id: the whole lane moves
    drop_rest: bool = False  # the parts behind this one are given up too, and that is said once


def decide(
    row: OutboxRow,
    failure: ChannelError,
    now: datetime,
    give_up_after_s: float,
    *,
    idempotent: bool = False,
    longest_wait_s: float = LONGEST_WAIT_S,
) -> AttemptOutcome:
    """What to do with a row whose attempt failed.

    `idempotent`: the platform knows a repeated send by its key. A wait it asks for is obeyed up to `longest_wait_s`.
    """
    if isinstance(failure, Permanent):
        return _decide_refusal(row, failure)
    error = str(failure)
    if isinstance(failure, Retryable):
        wait_s = None if failure.retry_after_s is None else min(failure.retry_after_s, longest_wait_s)
        return _retry_later(row, error, now, give_up_after_s, wait_s)
    if row.part.action is Action.PLACEHOLDER:
        if idempotent and not row.maybe_duplicate:  # once more, at once: it tells which message is to become the answer
            return AttemptOutcome(replace(row, state=PartState.READY, maybe_duplicate=True, not_before=None), error)
        return AttemptOutcome(replace(row, state=PartState.UNKNOWN), error)
    if row.part.action in (Action.EDIT, Action.DELETE):
        return _retry_later(row, error, now, give_up_after_s, None)
    if idempotent:
        return _retry_later(replace(row, maybe_duplicate=True), error, now, give_up_after_s, None)
    if row.maybe_duplicate:
        return AttemptOutcome(replace(row, state=PartState.UNKNOWN), error)
    return AttemptOutcome(replace(row, state=PartState.READY, maybe_duplicate=True, not_before=None), error)


def _retry_later(
    row: OutboxRow, error: str, now: datetime, give_up_after_s: float, retry_after_s: float | None
) -> AttemptOutcome:
    if row.created_at is not None and now - row.created_at > timedelta(seconds=give_up_after_s):
        return AttemptOutcome(
            replace(row, state=PartState.DEAD), f"given up after {give_up_after_s:.0f} s: {error}", drop_rest=True
        )
    if row.part.action is Action.PLACEHOLDER:  # by the time it could go, the answer may be there
        return AttemptOutcome(replace(row, state=PartState.UNKNOWN), error)
    wait_s = BACKOFF.wait_s(max(row.attempts, 1))
    if retry_after_s is not None:
        # Whoever refuses again and again, and each time names next to no time, is not asked in a tight loop.
        wait_s = retry_after_s if row.attempts <= PROMPT_TRIES else max(retry_after_s, BACKOFF.steps_s[0])
    return AttemptOutcome(replace(row, state=PartState.READY, not_before=now + timedelta(seconds=wait_s)), error)


def _goes_on(row: OutboxRow, chat: str | None) -> bool:
    """Whether a chat goes on elsewhere: not where it is already, and not in circles."""
    return chat is not None and chat != row.part.address.chat and row.attempts <= MOST_MOVES


def _decide_refusal(row: OutboxRow, failure: Permanent) -> AttemptOutcome:
    error = failure.reason
    if failure.kind is PermanentKind.BLOCKED:
        return AttemptOutcome(replace(row, state=PartState.READY), error, park=True)
    if failure.kind is PermanentKind.MOVED and _goes_on(row, failure.moved_to):
        return AttemptOutcome(replace(row, state=PartState.READY, not_before=None), error, moved_to=failure.moved_to)
    if row.part.action is Action.DELETE:  # it is gone, or stays: nothing is missing
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
