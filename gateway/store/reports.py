"""Typed rows of the store for operators: what comes in and what goes out, without the words of people.

Plain functions over a connection, for the command line, the console and the API alike; nothing here changes a row.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from gateway.store import people
from gateway.store.journal import CHILD_MARK
from gateway.store.outbox import IS_DISCARDED, IS_FAILED, IS_OPEN, Action, PartState
from gateway.store.tables.people import audit, tickets
from gateway.store.tables.traffic import inbox, outbox, parked_lanes
from gateway.store.tables.turns import turns
from gateway.store.tickets import TicketKind

MAX_ROW_ID = 2**63 - 1

OPEN = "open"
"""Stands for the outcome of a row that has none yet."""


@dataclass(frozen=True, slots=True)
class InboxLine:
    """One thing that came in, and what became of it."""

    id: int
    admitted_at: datetime
    account: str  # telegram:main
    chat: str
    kind: str  # message, edit, command ...; rejected: it could not be read
    sender: str  # canonical: telegram:42
    user: str | None  # None: a stranger
    name: str | None
    outcome: str  # see `gateway.store.inbox.Outcome`, or OPEN
    detail: str | None  # why
    turn: str | None  # that took it
    attempts: int  # since its last journaled step
    done_at: datetime | None


@dataclass(frozen=True, slots=True)
class OutboxLine:
    """One part of something said, and how far it got."""

    id: int
    state: str  # see `gateway.store.outbox.PartState`
    account: str  # telegram:main
    chat: str
    thread: str | None
    name: str | None  # whom it answers, where that is known
    cause: str  # a turn's id, or what else it answers: "inbox:17"
    part: int  # from 0
    action: str  # placeholder | send | edit | delete
    attempts: int
    maybe_doubled: bool  # an earlier attempt may have arrived
    platform_id: str | None  # of the message that it became
    error: str | None  # of the last attempt
    parked: str | None  # why nothing is sent to its chat until its person is heard again; None: it is not parked
    created_at: datetime
    not_before: datetime | None
    done_at: datetime | None


@dataclass(frozen=True, slots=True)
class OutboxWords:
    """The text of a part, for the operator who decides on it; a secret in it is eight bullets."""

    line: OutboxLine
    plain: str
    files: int


def inbox_lines(
    connection: sa.Connection, tenant: str, limit: int, outcome: str | None = None, before_id: int | None = None
) -> list[InboxLine]:
    """Return the newest rows of a tenant, newest first; with one outcome, or with any."""
    where = [inbox.c.tenant_id == tenant]
    if outcome is not None:
        few = sa.select(inbox.c.id).where(inbox.c.outcome.is_(None))  # found by their index, which holds no others
        where.append(inbox.c.id.in_(few) if outcome == OPEN else inbox.c.outcome == outcome)
    if before_id is not None:
        where.append(inbox.c.id < before_id)
    return read_inbox(connection, where, limit)


def read_inbox(
    connection: sa.Connection, where: Sequence[sa.ColumnElement[bool]], limit: int, *, oldest: bool = False
) -> list[InboxLine]:
    """Return the newest rows that fit, newest first; or the `oldest`, those first."""
    order = inbox.c.id if oldest else inbox.c.id.desc()
    found = connection.execute(sa.select(inbox).where(*where).order_by(order).limit(limit)).all()
    names = people.names_of(connection, {row.user_id for row in found if row.user_id})
    return [
        InboxLine(
            id=row.id,
            admitted_at=row.admitted_at,
            account=f"{row.channel}:{row.account}",
            chat=row.chat,
            kind=row.kind,
            sender=row.sender,
            user=row.user_id,
            name=names.get(row.user_id),
            outcome=row.outcome or OPEN,
            detail=row.detail,
            turn=row.turn_id,
            attempts=row.attempts,
            done_at=row.done_at,
        )
        for row in found
    ]


NEED_SOMEBODY = (*map(str, (PartState.READY, PartState.SENDING, PartState.UNKNOWN, PartState.DEAD)),)
"""States of parts that are under way, or that an operator may look into."""


def outbox_lines(
    connection: sa.Connection, tenant: str, limit: int, states: Iterable[str] = NEED_SOMEBODY
) -> list[OutboxLine]:
    """Return the newest parts of a tenant in one of these states, newest first."""
    wanted = set(states)
    where = [outbox.c.tenant_id == tenant, outbox.c.state.in_(sorted(wanted))]
    if wanted <= set(NEED_SOMEBODY):  # few among many: found by their indexes, which serve each condition alone
        few = sa.union_all(*(sa.select(outbox.c.id).where(which) for which in (IS_OPEN, IS_FAILED)))
        where.append(outbox.c.id.in_(few))
    if wanted == {PartState.DISCARDED}:
        where.append(IS_DISCARDED)
    return read_outbox(connection, where, limit)


def read_outbox(connection: sa.Connection, where: Sequence[sa.ColumnElement[bool]], limit: int) -> list[OutboxLine]:
    """Return the newest parts that fit, newest first."""
    found = connection.execute(sa.select(outbox).where(*where).order_by(outbox.c.id.desc()).limit(limit)).all()
    return _to_lines(connection, found)


def outbox_by_id(connection: sa.Connection, tenant: str, ids: Collection[int]) -> list[OutboxLine]:
    """Return these parts, in their order."""
    where = [outbox.c.tenant_id == tenant, outbox.c.id.in_(ids)]
    return read_outbox(connection, where, len(ids))[::-1]


def outbox_words(connection: sa.Connection, tenant: str, id_: int) -> OutboxWords | None:
    """One part with what it says; None where there is none of this id."""
    where = outbox.c.id == id_, outbox.c.tenant_id == tenant
    found = connection.execute(sa.select(outbox).where(*where)).all()
    lines = _to_lines(connection, found)
    return OutboxWords(lines[0], found[0].plain, (found[0].media or "").count('"blob"')) if lines else None


def _to_lines(connection: sa.Connection, found: Sequence[sa.Row[tuple[object, ...]]]) -> list[OutboxLine]:
    lanes = {row.lane for row in found}
    of_lanes = sa.select(parked_lanes.c.lane, parked_lanes.c.reason).where(parked_lanes.c.lane.in_(lanes))
    parked = {row.lane: row.reason for row in connection.execute(of_lanes)} if lanes else {}
    whose = _whom_causes_answer(connection, {row.cause for row in found})
    names = people.names_of(connection, set(whose.values()))
    return [
        OutboxLine(
            id=row.id,
            state=row.state,
            account=f"{row.channel}:{row.account}",
            chat=row.chat,
            thread=row.thread,
            name=names.get(whose.get(row.cause, "")),
            cause=row.cause,
            part=row.part,
            action=row.action,
            attempts=row.attempts,
            maybe_doubled=row.marked,
            platform_id=row.platform_id,
            error=row.error,
            parked=parked.get(row.lane) if row.state in ("ready", "sending") else None,
            created_at=row.created_at,
            not_before=row.not_before,
            done_at=row.done_at,
        )
        for row in found
    ]


def _whom_causes_answer(connection: sa.Connection, causes: set[str]) -> dict[str, str]:
    """Return the user whom each of these causes answers, if that is known."""
    turn_of = {cause: cause.removeprefix("dead:").partition(".")[0] for cause in causes}
    row_of = {
        cause: int(number)
        for cause in causes
        if (number := cause.removeprefix("dead:").removeprefix("inbox:")).isdecimal() and "inbox:" in cause
    }
    of_turns = sa.select(turns.c.id, turns.c.user_id).where(turns.c.id.in_(set(turn_of.values())))
    of_rows = sa.select(inbox.c.id, inbox.c.user_id).where(inbox.c.id.in_(set(row_of.values())))
    by_turn = {row.id: row.user_id for row in connection.execute(of_turns)}
    by_row = {row.id: row.user_id for row in connection.execute(of_rows) if row.user_id} if row_of else {}
    found = {cause: by_turn[turn] for cause, turn in turn_of.items() if turn in by_turn}
    return found | {cause: by_row[number] for cause, number in row_of.items() if number in by_row}


@dataclass(frozen=True, slots=True)
class KnownSender:
    """A person who has written: a user or a stranger."""

    user_id: str | None  # None: a stranger
    name: str
    role: str
    senders: tuple[str, ...]  # canonical: telegram:42
    timezone: str


def known_senders(connection: sa.Connection, tenant: str) -> list[KnownSender]:
    """Everybody of a tenant who was let in, then the strangers who asked to be, each once."""
    found = [
        KnownSender(person.user_id, person.display_name, person.role, tuple(sorted(person.identities)), person.timezone)
        for person in people.everybody(connection)
        if person.tenant == tenant
    ]
    inside = {sender for person in found for sender in person.senders}
    asked = sa.select(tickets.c.sender, tickets.c.display_name).where(
        tickets.c.kind == TicketKind.PAIRING, tickets.c.tenant_id == tenant
    )
    strangers = {row.sender: row.display_name for row in connection.execute(asked.order_by(tickets.c.id))}
    return found + [
        KnownSender(None, name, "not let in", (sender,), "UTC")
        for sender, name in strangers.items()
        if sender not in inside
    ]


def messages_of(
    connection: sa.Connection,
    tenant: str,
    person: KnownSender,
    limit: int,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    oldest: bool = False,
) -> list[InboxLine]:
    """Return a person's messages with `since` <= instant < `until`: the newest, newest first, or the `oldest`.

    Rows stand in the order of their admission, so that their ids bound the time without an index of it.
    """
    theirs: sa.ColumnElement[bool] = inbox.c.sender.in_(person.senders)
    if person.user_id is not None:  # also from where they are somebody else by now
        theirs = sa.or_(theirs, inbox.c.user_id == person.user_id)
    of_tasks = sa.func.coalesce(inbox.c.session_key, "").contains(CHILD_MARK, autoescape=True)
    where: list[sa.ColumnElement[bool]] = [inbox.c.tenant_id == tenant, theirs, ~of_tasks]
    if since is not None:
        where.append(inbox.c.id >= _first_id_at(connection, since))
    if until is not None:
        where.append(inbox.c.id < _first_id_at(connection, until))
    return read_inbox(connection, where, limit, oldest=oldest)


def _first_id_at(connection: sa.Connection, at: datetime) -> int:
    """Return the lowest id of a row admitted at this instant or later; one beyond the highest if there is none."""
    ends = sa.select(sa.func.coalesce(sa.func.min(inbox.c.id), 0), sa.func.coalesce(sa.func.max(inbox.c.id), 0))
    low, high = connection.execute(ends).one()
    high += 1
    while low < high:  # the first row from the middle on says which half
        middle = (low + high) // 2
        from_there = (
            sa.select(inbox.c.id, inbox.c.admitted_at).where(inbox.c.id >= middle).order_by(inbox.c.id).limit(1)
        )
        row = connection.execute(from_there).first()
        if row is None or row.admitted_at >= at:
            high = middle
        else:
            low = row.id + 1
    return int(low)


def pairing_state(connection: sa.Connection, tenant: str, row: InboxLine) -> str | None:
    """Return the state of a stranger's newest pairing request, in words; None if there is none."""
    asked = sa.select(tickets).where(
        tickets.c.kind == TicketKind.PAIRING, tickets.c.tenant_id == tenant, tickets.c.sender == row.sender
    )
    found = connection.execute(asked.order_by(tickets.c.id.desc()).limit(1)).first()
    if found is None:
        return None
    if found.state == "pending":
        return f"their request waits: `tenk pairing approve --request {found.id[-8:]}` lets them in"
    by = f" by {found.ended_by}" if found.ended_by else ""
    return f"their last request is {found.state}{by}"


@dataclass(frozen=True, slots=True)
class FailedLetters:
    """The number of undeliverable parts; without failed alerts and apologies."""

    dead: int
    unknown: int
    newest_id: int  # 0: none
    newest_error: str


def failed_letters(connection: sa.Connection) -> FailedLetters:
    """Count failed parts of every tenant. A system query. A placeholder of unknown fate does not count: the answer was
    sent without it.
    """
    own = [outbox.c.cause.startswith(prefix) for prefix in ("alert:", "dead:")]
    where = sa.and_(IS_FAILED, outbox.c.action != Action.PLACEHOLDER, ~sa.or_(*own))
    counted = sa.select(outbox.c.state, sa.func.count(), sa.func.max(outbox.c.id)).where(where)
    found = {row[0]: (row[1], row[2]) for row in connection.execute(counted.group_by(outbox.c.state))}
    newest = max((id_ for _, id_ in found.values()), default=0)
    error = connection.execute(sa.select(outbox.c.error).where(outbox.c.id == newest)).scalar() if newest else None
    dead, unknown = (found.get(state, (0, 0))[0] for state in (PartState.DEAD, PartState.UNKNOWN))
    return FailedLetters(dead, unknown, newest, (error or "nobody noted why")[:200])


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """The changes that are asked for; an empty field and None match every one."""

    by: Collection[str] = ()  # the names of the actor: ids, senders, "cli"; a single one may be the end of an id
    about: Collection[str] = ()  # those of the person or thing it is about, likewise
    action: str = ""
    since: datetime | None = None
    limit: int = 100


ALL_CHANGES = AuditFilter()
LEAST_END_CHARS = 4  # of an id


def audit_log(connection: sa.Connection, wanted: AuditFilter = ALL_CHANGES) -> list[people.AuditRow]:
    """Return the latest changes of every tenant, newest first. A system query."""
    columns = (audit.c.at, audit.c.actor, audit.c.action, audit.c.subject, audit.c.detail)
    query = sa.select(*columns).order_by(audit.c.id.desc()).limit(wanted.limit)
    if wanted.action:
        query = query.where(audit.c.action == wanted.action)
    if wanted.since is not None:
        query = query.where(audit.c.at >= wanted.since)
    if wanted.by:
        query = query.where(_rows_with_name(wanted.by, audit.c.actor))
    if wanted.about:
        words = sa.literal(" ") + audit.c.detail + " "  # in details, ids and senders stand between blanks
        query = query.where(_rows_with_name(wanted.about, audit.c.subject, words))
    return [people.AuditRow(*row) for row in connection.execute(query)]


def _rows_with_name(
    names: Collection[str], column: sa.Column[str], words: sa.ColumnElement[str] | None = None
) -> sa.ColumnElement[bool]:
    """Select the rows with one of these names in the column or among the words."""
    ways: list[sa.ColumnElement[bool]] = [column.in_(names)]
    if len(names) == 1 and len(end := next(iter(names))) >= LEAST_END_CHARS:
        ways.append(column.endswith(end.lower(), autoescape=True))
    if words is not None:
        ways += [words.contains(f" {name} ", autoescape=True) for name in names]
    return sa.or_(*ways)
