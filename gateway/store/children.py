"""Tasks of agents: a turn begins a child, a session of its own, whose end hands the result to the parent's session.

Plain functions over a connection. A child begins once a call key, and ends once; its end is part of the commit that
ends its turn, in which the parent's session gets the result: as an event, or for the call that waits for it.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import sqlalchemy as sa

from agent.delegation.delegation_config import DelegationConfig
from agent.delegation.tasks import GivenTask, Standing, check_standing
from agent.tools.base import ToolError
from agent.transcript import EndReason
from channels.messages import Address, SystemEvent
from gateway.store import approvals, inbox
from gateway.store.handover import SYSTEM, SessionStopped, TurnsReleased, hand_over
from gateway.store.inbox import InboxRow
from gateway.store.journal import CHILD_MARK, TurnRow, result_of, unpack_address
from gateway.store.people import ids_of
from gateway.store.rows import Rows
from gateway.store.tables.delegation import children
from gateway.store.tables.traffic import IS_WAITING
from gateway.store.tables.traffic import inbox as inbox_table
from gateway.store.tables.turns import sessions, turns
from gateway.store.writer import tell

SUBAGENT = "subagent"
"""Kind of turn that works on a task."""

ALL = "*"
"""Name that stands for all receivers of a message."""

READING = "reading"
"""Kind of turn that answers what may change nothing."""

TASK_EVENT = "task:"
"""Begins the id of the event that starts a task; behind it stands the key of the call that gave it."""

ALL_ROWS = 2**62
"""Stands for the row before which all rows are stopped."""

ENDED = "its task has ended"
"""Reason for which rows of a task, and tasks of it, are cleared."""

MAX_TOLD_CHARS = 30_000
"""Characters of a result that its event tells."""

LABEL_CHARS = 40
_NO_LABEL = re.compile(r"[^a-z0-9]+")


class ChildState(StrEnum):
    """The states of a task."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"  # it ended without a whole answer: a limit, an error
    STOPPED = "stopped"  # by the person, or by the agent that gave it


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """One task."""

    id: str  # key of the call that began it
    tenant: str
    user_id: str
    parent_key: str
    parent_turn_id: str
    session_key: str
    label: str  # by which agents name it
    description: str
    type: str
    model: str | None
    in_background: bool
    state: ChildState = ChildState.RUNNING
    result: str = ""
    began_at: datetime
    ended_at: datetime | None = None


CHILDREN = Rows(children, Child)


@dataclass(frozen=True, slots=True)
class CallingTurn:
    """The turn whose call begins a task or sends a message."""

    turn_id: str
    user_id: str
    session_key: str
    address: Address
    kind: str


def caller_of(connection: sa.Connection, call_key: str) -> CallingTurn:
    """Return the turn of a call.

    Raises:
        ToolError: it is no turn's.
    """
    turn_id = call_key.partition("/")[0]
    query = sa.select(turns.c.user_id, turns.c.address, turns.c.kind, sessions.c.key)
    query = query.join(sessions, sessions.c.id == turns.c.session_id).where(turns.c.id == turn_id)
    row = connection.execute(query).first()
    if row is None:
        raise ToolError("This works only in a conversation.")
    return CallingTurn(turn_id, row.user_id, row.key, unpack_address(row.address), row.kind)


def of_session(connection: sa.Connection, session_key: str) -> Child | None:
    """Return the task that this session works on."""
    return CHILDREN.get(connection, session_key=session_key)


def of_turn(connection: sa.Connection, turn_id: str) -> Child | None:
    """Return the task that this turn works on."""
    key = sa.select(sessions.c.key).join(turns, turns.c.session_id == sessions.c.id).where(turns.c.id == turn_id)
    return CHILDREN.get(connection, session_key=key)


def line_of(connection: sa.Connection, session_key: str) -> list[Child]:
    """Return the task of a session and those it descends from, the nearest first."""
    line: list[Child] = []
    while CHILD_MARK in session_key and (child := of_session(connection, session_key)) is not None:
        line.append(child)
        session_key = child.parent_key
    return line


def begin(
    connection: sa.Connection, call_key: str, tenant: str, new: GivenTask, limits: DelegationConfig, now: datetime
) -> Child:
    """Begin a task: its row, and the event that starts its turn. A repeated call key gives the first.

    Raises:
        ToolError: a limit is reached; the text says which.
    """
    if (begun := CHILDREN.get(connection, id=call_key)) is not None:
        return begun
    caller = caller_of(connection, call_key)
    _check_runs(connection, caller)
    CHILDREN.delete(connection, CHILDREN.c.ended_at < now - timedelta(minutes=limits.kept_min))
    running = {"state": ChildState.RUNNING}
    standing = Standing(
        types=tuple(child.type for child in line_of(connection, caller.session_key)),
        of_parent=CHILDREN.count(connection, parent_key=caller.session_key, **running),
        overall=CHILDREN.count(connection, **running),
    )
    check_standing(standing, new.type, limits)
    _check_place(connection, caller)
    label = _free_label(connection, tenant, caller.session_key, new.description)
    child = Child(
        id=call_key,
        tenant=tenant,
        user_id=caller.user_id,
        parent_key=caller.session_key,
        parent_turn_id=caller.turn_id,
        session_key=key_of(caller.session_key, label),
        label=label,
        description=new.description,
        type=new.type,
        model=new.model,
        in_background=new.in_background,
        began_at=now,
    )
    CHILDREN.add(connection, child)
    where = tenant, caller.address
    task = _event(
        f"{TASK_EVENT}{call_key}",
        where,
        now,
        "task",
        turn=SUBAGENT,
        said=new.prompt,
        data=new.description,  # with data beside it, the prompt does not count as the person's own words alone
        head="name of this task, which another agent has written",
    )
    if hand_over(connection, task, caller.user_id, child.session_key, now, caller.turn_id) is None:
        raise ToolError("This task has ended, and its result is not kept any more.")
    return child


def _check_place(connection: sa.Connection, caller: CallingTurn) -> None:
    """Check that whatever a task says later in the chat of its turn is read by the same people as the turn's answer.

    Raises:
        ToolError: the answer is private in a group, or the turn may change nothing.
    """
    if caller.kind == READING:
        raise ToolError("This request can change nothing, so you cannot give tasks to others. Answer it yourself.")
    for _, event in inbox.rows_of_turn(connection, caller.turn_id)[:1]:
        route = inbox.route_of(event)
        if route is not None and route.private:
            raise ToolError("In a private answer you cannot give tasks to others. Do it yourself.")


def _check_runs(connection: sa.Connection, caller: CallingTurn) -> None:
    """Check that the caller's own task, if it works on one, has not ended; lock it, so that its end sees this task.

    Raises:
        ToolError: it has ended.
    """
    running = {"state": ChildState.RUNNING}
    if CHILD_MARK in caller.session_key and not CHILDREN.patch(
        connection, running, session_key=caller.session_key, **running
    ):
        raise ToolError("The task has ended, so it gives no other.")


def key_of(parent_key: str, label: str) -> str:
    """Return the key of a child's session."""
    return f"{parent_key}{CHILD_MARK}{label}"


def _free_label(connection: sa.Connection, tenant: str, parent_key: str, description: str) -> str:
    """Return a label that no task of this session has had: its session begins empty."""
    stem = _NO_LABEL.sub("-", description.lower())[:LABEL_CHARS].strip("-") or "task"
    first = key_of(parent_key, stem)
    taken = sa.select(inbox_table.c.session_key).where(
        inbox_table.c.session_key.startswith(first, autoescape=True), inbox_table.c.tenant_id == tenant
    )
    known = sa.select(sessions.c.key).where(sessions.c.key.startswith(first, autoescape=True))
    keys = {*connection.execute(taken.distinct()).scalars(), *connection.execute(known.distinct()).scalars()}
    number = 1
    while key_of(parent_key, label := stem if number == 1 else f"{stem}-{number}") in keys:
        number += 1
    return label


def any_ended(connection: sa.Connection, call_keys: Collection[str]) -> bool:
    """Return True if one of these tasks has ended, or is not known any more."""
    running = CHILDREN.count(connection, id=list(call_keys), state=ChildState.RUNNING)
    return running < len(call_keys)


def is_parked(connection: sa.Connection, turn_id: str) -> bool:
    """Return True if a turn waits."""
    return connection.execute(sa.select(turns.c.parked_at).where(turns.c.id == turn_id)).scalar() is not None


def asking_turns(connection: sa.Connection, turn_id: str) -> list[str]:
    """Return the turns that wait for their person's word: this one, or those of tasks for whose results it waits."""
    if approvals.pending(connection, turn_id) is not None:
        return [turn_id]
    awaited = CHILDREN.find(connection, parent_turn_id=turn_id, state=ChildState.RUNNING, in_background=False)
    keys = [child.session_key for child in awaited]
    query = sa.select(turns.c.id).join(sessions, sessions.c.id == turns.c.session_id).where(sessions.c.key.in_(keys))
    parked = connection.execute(query.where(turns.c.end_reason.is_(None), turns.c.parked_at.is_not(None))).scalars()
    return [asking for id_ in parked.all() for asking in asking_turns(connection, id_)]


def end(connection: sa.Connection, turn: TurnRow, reason: EndReason, text: str, now: datetime) -> None:
    """End the task of a turn, once: its result goes to the call that waits for it, else to the parent's session."""
    child = of_turn(connection, turn.id)
    if child is not None:
        _hand_back(connection, child, _STATES.get(reason, ChildState.FAILED), text, turn.address, now, turn.id)


def give_up(connection: sa.Connection, row: InboxRow, why: str, now: datetime) -> None:
    """End the task that a row would have begun."""
    if (child := of_session(connection, row.session_key)) is not None:
        _hand_back(connection, child, ChildState.FAILED, f"The task was not begun: {why}.", row.event.address, now)


def _hand_back(
    connection: sa.Connection,
    child: Child,
    state: ChildState,
    text: str,
    address: Address,
    now: datetime,
    from_turn: str | None = None,
) -> None:
    if not _settle(connection, child, state, text, now):
        return
    if not child.in_background and result_of(connection, child.id) is None:
        approvals.set_parked(connection, child.parent_turn_id, None)
        tell(connection, TurnsReleased((child.parent_turn_id,)))
        return
    event = _event(
        f"task ended:{child.id}",
        (child.tenant, address),
        now,
        "task_ended",
        turn="chat",
        data=f"{child.description}\n\n{text[:MAX_TOLD_CHARS]}",
        head=f'task notification: the task "{child.label}" is {state.value}; this is its result',
    )
    hand_over(connection, event, child.user_id, child.parent_key, now, from_turn)


_STATES = {EndReason.COMPLETED: ChildState.DONE, EndReason.STOPPED: ChildState.STOPPED}


def _settle(connection: sa.Connection, child: Child, state: ChildState, text: str, now: datetime) -> bool:
    """Record the end of a task, once; clear what waits in its session, and stop the tasks that it has begun."""
    ended = {"state": state, "result": text, "ended_at": now}
    if not CHILDREN.patch(connection, ended, id=child.id, state=ChildState.RUNNING):
        return False
    inbox.clear_session(connection, child.session_key, ALL_ROWS, now, ENDED)
    stop_under(connection, child.session_key, now, ENDED)
    return True


def stop(connection: sa.Connection, child: Child, now: datetime, why: str) -> bool:
    """Stop a task and those that it has begun; return False if it had ended."""
    if not _settle(connection, child, ChildState.STOPPED, "", now):
        return False
    inbox.clear_claimed(connection, child.session_key, ALL_ROWS, now, why)
    unparked = approvals.withdraw_session(connection, child.tenant, child.session_key, now, None)
    tell(connection, SessionStopped(child.tenant, child.session_key, ALL_ROWS))
    tell(connection, TurnsReleased(tuple(unparked)))
    return True


def stop_under(connection: sa.Connection, parent_key: str, now: datetime, why: str, user_id: str | None = None) -> int:
    """Stop the tasks that a session has begun, of one person or of all; return how many ran."""
    whose = [] if user_id is None else [CHILDREN.c.user_id.in_(ids_of(user_id))]
    found = CHILDREN.find(connection, *whose, parent_key=parent_key, state=ChildState.RUNNING)
    return sum(stop(connection, child, now, why) for child in found)


def stop_of_turn(connection: sa.Connection, turn_id: str, now: datetime, why: str) -> None:
    """Stop the running tasks that a turn has begun."""
    for child in CHILDREN.find(connection, parent_turn_id=turn_id, state=ChildState.RUNNING):
        stop(connection, child, now, why)


def running_of(connection: sa.Connection, parent_key: str) -> Sequence[Child]:
    """Return the running tasks that a session has begun."""
    return CHILDREN.find(connection, parent_key=parent_key, state=ChildState.RUNNING, order=CHILDREN.c.began_at)


@dataclass(frozen=True, slots=True)
class Receivers:
    """The receivers of a message."""

    to: tuple[str, ...]
    full: tuple[str, ...]  # did not get it: their mailboxes are full


def send(
    connection: sa.Connection, call_key: str, tenant: str, to: str, text: str, limits: DelegationConfig, now: datetime
) -> Receivers:
    """Send a message to a running task of the caller's session; from a task to its parent, or to a task beside it.

    Raises:
        ToolError: there is no such receiver, or its mailbox is full; of ALL, if none can get it.
    """
    caller = caller_of(connection, call_key)
    own = of_session(connection, caller.session_key)
    reached = _find_receivers(connection, caller, own)
    wanted = tuple(reached) if to == ALL else (to,)
    if not wanted or wanted[0] not in reached:
        names = ", ".join(reached) or "none"
        raise ToolError(f"No running task is called {to[:80]!r}. You can write to: {names}.")
    full = tuple(name for name in wanted if _is_full(connection, reached[name], limits.mailbox))
    if len(full) == len(wanted):
        whose = ", ".join(full)
        raise ToolError(f"The mailbox of {whose} is full ({limits.mailbox} messages). Send more once they are read.")
    open_ = tuple(name for name in wanted if name not in full)
    for number, name in enumerate(open_):
        is_mine = reached[name].startswith(f"{caller.session_key}{CHILD_MARK}")
        sender = "the agent that gave you this task" if own is None or is_mine else f'the task "{own.label}"'
        event = _event(
            f"message:{call_key}/{number}",
            (tenant, caller.address),
            now,
            "message",
            turn="chat",
            data=text,
            head=f"message from {sender}",
        )
        hand_over(connection, event, caller.user_id, reached[name], now, caller.turn_id)
    return Receivers(open_, full)


def _find_receivers(connection: sa.Connection, caller: CallingTurn, own: Child | None) -> dict[str, str]:
    """Return the session keys that a caller can write to, by name: tasks for others of a group are not among them."""
    found = {"parent": own.parent_key} if own is not None and own.in_background else {}
    beside = [] if own is None else [each for each in running_of(connection, own.parent_key) if each.id != own.id]
    running = [*beside, *running_of(connection, caller.session_key)]
    return found | {child.label: child.session_key for child in running if child.user_id == caller.user_id}


def _is_full(connection: sa.Connection, session_key: str, limit: int) -> bool:
    waiting = sa.select(sa.func.count()).where(IS_WAITING, inbox_table.c.session_key == session_key)
    return int(connection.execute(waiting).scalar_one()) >= limit


def _event(
    event_id: str,
    where: tuple[str, Address],
    now: datetime,
    name: str,
    *,
    turn: str,
    said: str = "",
    data: str = "",
    head: str = "",
) -> SystemEvent:
    tenant, address = where
    return SystemEvent(
        event_id=event_id,
        address=address,
        sender=SYSTEM,
        received_at=now,
        tenant=tenant,
        name=name,
        arguments=said,
        turn=turn,
        data=data,
        data_head=head,
    )
