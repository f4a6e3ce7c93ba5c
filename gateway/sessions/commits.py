"""Each commit of a turn's life is one function over a connection, testable by itself.

Each holds the session's fence first, so that a process that lost its shard changes nothing. A function may run more
than once (see `gateway.store.writer`), and asks the clock inside the commit: what is compared by time was written in
the order of commits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agent.consent import Consent, Parked
from agent.fallbacks import ResponseDiscarded
from agent.ports import Spent, Summary
from agent.transcript import (
    EndReason,
    JournalEvent,
    ModelResponded,
    Steered,
    ToolReturned,
    TurnEnded,
    TurnStarted,
    UserItem,
)
from channels.clocks import Clock
from gateway.sessions.inbox_rules import is_task
from gateway.store import (
    approvals,
    children,
    conversations,
    inbox,
    journal,
    leases,
    outbox,
    schedules,
    standing_buttons,
    usage,
)
from gateway.store.approvals import Approval
from gateway.store.children import SUBAGENT
from gateway.store.engine import Connection
from gateway.store.inbox import InboxRow, Outcome
from gateway.store.journal import Fence, TurnRow
from gateway.store.leases import Lease
from gateway.store.outbox import OutboxPart
from gateway.store.schedules import HEARTBEAT, SCHEDULED

BY_ITSELF = (SUBAGENT, SCHEDULED, HEARTBEAT)
"""Kinds of turns that no message of their person starts."""

OUTCOMES = {
    EndReason.STOPPED: Outcome.CLEARED,
    EndReason.MODEL_ERROR: Outcome.FAILED,
    EndReason.CONTEXT_EXHAUSTED: Outcome.FAILED,
}
"""The outcome of a turn's first row by how it ended; all others are answered."""


@dataclass(frozen=True, slots=True)
class JournalPlace:
    """The place of a turn's next events in the journal, with the fence that allows writing there."""

    fence: Fence
    turn: TurnRow
    seq: int  # of the first of them; reserved, so that nobody else writes there


def claim(
    connection: Connection,
    place: JournalPlace,
    ids: Sequence[int],
    started: TurnStarted,
    title: str = "",
    costs: "CostsBeside | None" = None,
    heard: Sequence[OutboxPart] = (),
) -> Sequence[int]:
    """Begin a turn if every one of its rows is open still; those that are. All of them: it has begun.

    A conversation that begins with it gets this title, unless it has one. `costs` are of calls that prepared it,
    `heard` shows transcripts of voice messages.
    """
    turn = place.turn
    journal.check_fence(connection, place.fence)
    still_open = inbox.open_of(connection, ids, turn.id) if len(ids) > 1 else ids
    if len(still_open) < len(ids):
        return still_open
    if inbox.claim(connection, ids, turn.id) == 0:
        return []
    journal.begin_turn(connection, turn)
    journal.append(connection, turn, place.seq, (started,), turn.started_at)
    if costs is not None and costs.responses:
        costs.note(connection, turn, turn.started_at)
    if title:
        conversations.entitle(connection, turn.session_id, title, anew=False)
    outbox.put(connection, turn.tenant, heard, turn.started_at)
    return ids


def count_attempt(connection: Connection, fence: Fence, turn_id: str) -> int:
    """Count an attempt at a turn that was begun before; return how many there were since its last step."""
    journal.check_fence(connection, fence)
    return inbox.count_turn_attempt(connection, turn_id)


def record(connection: Connection, place: JournalPlace, events: Sequence[JournalEvent], clock: Clock) -> None:
    """Append events, with what each response cost."""
    now = clock()
    journal.check_fence(connection, place.fence)
    journal.append_step(connection, place.turn, place.seq, events, now)
    _note_usage(connection, place.turn, events, now)


def _note_usage(connection: Connection, turn: TurnRow, events: Sequence[JournalEvent], now: datetime) -> None:
    for event in events:
        if isinstance(event, ModelResponded | ResponseDiscarded):
            usage.note_call(connection, turn, event, now)


@dataclass(slots=True)
class CostsBeside:
    """The cost of calls that are no steps of a turn: counted once, however often their commit is repeated."""

    responses: Sequence[Spent]
    first: int = 0  # the number of the first, kept from the first try on; 0: there was none yet

    def note(self, connection: Connection, turn: TurnRow, now: datetime) -> None:
        """Count each under its number."""
        self.first = self.first or usage.step_beside(connection, turn.id)
        for place, response in enumerate(self.responses):
            usage.note_call(connection, turn, replace(response, step=self.first - place), now)


def keep_summary(
    connection: Connection,
    fence: Fence,
    turn: TurnRow,
    summary: Summary,
    costs: CostsBeside,
    parts: Sequence[OutboxPart],
    clock: Clock,
) -> None:
    """Put a summary in place of the one before, with what it cost; said where it is the first, or begins to lose."""
    now = clock()
    journal.check_fence(connection, fence)
    if journal.person_of(connection, turn.id) is None:
        return  # it was forgotten while its notes were made
    before = conversations.keep_summary(connection, turn, summary, now)
    costs.note(connection, turn, now)
    is_news = before is None or (summary.left_out > 0 and before.left_out == 0)
    if is_news:
        outbox.put(connection, turn.tenant, parts, now)


def note_cost(connection: Connection, fence: Fence, turn: TurnRow, costs: CostsBeside, clock: Clock) -> None:
    """Count what calls cost that are no steps of the turn."""
    journal.check_fence(connection, fence)
    if journal.person_of(connection, turn.id) is not None:
        costs.note(connection, turn, clock())


def apply(
    connection: Connection, place: JournalPlace, returned: ToolReturned, run: Callable[[Connection], str], clock: Clock
) -> ToolReturned:
    """Run a local effect and journal its result; a call that ran before gives its first result."""
    journal.check_fence(connection, place.fence)
    earlier = journal.result_of(connection, returned.call_key)
    if earlier is not None:
        return earlier
    event = replace(returned, content=run(connection))
    journal.append_step(connection, place.turn, place.seq, [event], clock())
    return event


def steer(
    connection: Connection,
    place: JournalPlace,
    step: int,
    overtaken: Sequence[ToolReturned],
    read: Sequence[tuple[InboxRow, UserItem]],
    heard: Mapping[int, Sequence[OutboxPart]],
    clock: Clock,
) -> list[tuple[InboxRow, UserItem]]:
    """Let messages join the turn. What was cleared or deleted meanwhile is left out; if all was, nothing is written.

    `heard` shows transcripts of voice messages, by row.
    """
    journal.check_fence(connection, place.fence)
    claimed = [(row, item) for row, item in read if inbox.claim(connection, [row.id], place.turn.id)]
    if claimed:
        events: tuple[JournalEvent, ...] = (*overtaken, Steered(step, tuple(item for _, item in claimed)))
        now = clock()
        journal.append_step(connection, place.turn, place.seq, events, now)
        for row, _ in claimed:
            outbox.put(connection, place.turn.tenant, heard.get(row.id, ()), now)
    return claimed


def settle_question(
    connection: Connection, fence: Fence, approval: Approval, typed: Consent | None, row_id: int, now: datetime
) -> None:
    """Settle a question by what its person typed in a row; without an answer in it the question is withdrawn."""
    journal.check_fence(connection, fence)
    approvals.settle(connection, approval, typed or Consent.WITHDRAWN, now)
    if typed is not None:
        inbox.settle(connection, row_id, Outcome.ANSWERED, now, f"{approvals.WORD_FOR}{approval.turn_id}")


def park(
    connection: Connection, place: JournalPlace, parked: Parked, approval: Approval, parts: Sequence[OutboxPart]
) -> None:
    """Let a turn wait for its person's word: the wait, the question as it is kept, and as it is said."""
    journal.check_fence(connection, place.fence)
    journal.append_step(connection, place.turn, place.seq, (parked,), approval.asked_at)
    approvals.ask(connection, approval)
    outbox.put(connection, place.turn.tenant, parts, approval.asked_at)


def wait(connection: Connection, place: JournalPlace, parked: Sequence[Parked], clock: Clock) -> bool:
    """Let a turn wait for the results of its tasks; return False, with nothing written, if one has ended by now."""
    now = clock()
    journal.check_fence(connection, place.fence)
    if children.any_ended(connection, [each.about for each in parked]):
        return False
    journal.append_step(connection, place.turn, place.seq, parked, now)
    approvals.set_parked(connection, place.turn.id, now)
    return True


def stop_waiting(connection: Connection, fence: Fence, row: InboxRow, now: datetime) -> list[str]:
    """Stop the turns of a person that wait in a session, and their tasks, for a row that interrupts; return them."""
    journal.check_fence(connection, fence)
    why = "interrupted"
    inbox.clear_claimed(connection, row.session_key, row.id, now, why, row.user_id)
    children.stop_under(connection, row.session_key, now, why, row.user_id)
    return approvals.withdraw_session(connection, row.tenant, row.session_key, now, row.user_id)


def begin_effect(connection: Connection, fence: Fence, run: Callable[[Connection], object]) -> None:
    """Run a local effect whose result comes later."""
    journal.check_fence(connection, fence)
    run(connection)


def end(
    connection: Connection,
    place: JournalPlace,
    events: Sequence[ModelResponded | TurnEnded],
    reason: EndReason,
    first_id: int,
    parts: Sequence[OutboxPart],
    clock: Clock,
    *,
    first_by: Lease | None,
) -> None:
    """End a turn: last response, outcomes of its rows and what is to be said, or nothing of it.

    A task ends with it, and a schedule notes how it ended. The first part goes at once, where this process may send
    there `first_by`.
    """
    now = clock()
    turn = place.turn
    journal.check_fence(connection, place.fence)
    journal.append(connection, turn, place.seq, events, now)
    _note_usage(connection, turn, events, now)
    journal.end_turn(connection, turn.id, reason, now)
    outcome = OUTCOMES.get(reason, Outcome.ANSWERED)
    inbox.settle_turn(connection, turn.id, first_id, outcome, now, reason.value)
    if turn.kind == SUBAGENT:
        children.end(connection, turn, reason, events[-1].text, now)
    elif turn.kind in (SCHEDULED, HEARTBEAT):
        schedules.note_end(connection, turn.id, reason, now)
    if reason is EndReason.STOPPED:
        children.stop_of_turn(connection, turn.id, now, reason.value)
    if turn.kind not in BY_ITSELF or any(part.buttons for part in parts):
        standing_buttons.overtake(connection, turn.address, turn.user_id, now)
    claimed = first_by is not None and leases.holds(connection, first_by)
    outbox.put(connection, turn.tenant, parts, now, first_claimed=claimed)


def refuse(
    connection: Connection,
    fence: Fence,
    rows: Sequence[InboxRow],
    parts: Sequence[OutboxPart],
    outcome: Outcome,
    detail: str,
    clock: Clock,
) -> None:
    """Settle rows that become no turn, and say so."""
    now = clock()
    journal.check_fence(connection, fence)
    for row in rows:
        inbox.settle(connection, row.id, outcome, now, detail)
        if is_task(row):
            children.give_up(connection, row, detail, now)
        schedules.note_refused(connection, row.event.event_id, now)
    outbox.put(connection, rows[0].tenant, parts, now)
