"""The data of one person: exported as JSON, and deleted.

A command's commit asks for a deletion; batches follow once nothing of the person's runs.

What an agent keeps stands in tables of its own; of those with a `user_id` the rows go too. Backups are not reached.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

import sqlalchemy as sa
from pydantic import JsonValue

from agent.transcript import EndReason
from channels.messages import Address
from gateway.store import approvals as questions
from gateway.store import inbox as rows_in
from gateway.store import search_index
from gateway.store.causes import HEARD
from gateway.store.conversations import gone_on, keys_of_continued
from gateway.store.groups import forget_kept
from gateway.store.journal import unpack_address
from gateway.store.outbox import IS_OPEN, came_with, file_id, handed_with, speech_id
from gateway.store.people import AuditRow, Person, ids_of, record, senders_of
from gateway.store.rows import Rows
from gateway.store.tables.base import metadata, new_id
from gateway.store.tables.boards import tasks
from gateway.store.tables.consolidation import abstracts, consolidations, dreams, entities, facts
from gateway.store.tables.delegation import children
from gateway.store.tables.memory import memories
from gateway.store.tables.passages import passages
from gateway.store.tables.people import (
    audit,
    credentials,
    erasures,
    forgotten_senders,
    grants,
    identities,
    ticket_guesses,
    tickets,
    users,
)
from gateway.store.tables.traffic import chats, inbox, moved_chats, outbox, parked_lanes, reply_routes
from gateway.store.tables.turns import (
    approvals,
    blobs,
    budget_use,
    events,
    session_rules,
    sessions,
    summaries,
    turns,
    usage,
)
from gateway.store.tenancy import named_tenant
from gateway.store.tickets import TICKETS, TicketKind
from gateway.store.usage import give_to
from gateway.store.web_devices import DEVICES

_MADE_OF_TALK = (abstracts, consolidations, dreams, entities, facts, memories, session_rules, tasks)
"""Tables whose rows go with a person's conversations."""

TURNS_BATCH = 50
ROWS_BATCH = 300
GONE = "forgotten"
"""Stands in place of a name that was erased."""

PATIENCE = timedelta(minutes=10)
"""So long the goodbye is waited for, where it cannot be delivered; and what runs for others beside them."""

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_BLOB = re.compile(r'"blob":"([^"]{1,64})"')


class Extent(StrEnum):
    """The extent of an erasure."""

    TALK = "talk"  # what was said, and what was made of it
    EVERYTHING = "everything"  # and who they are


class Progress(StrEnum):
    """The result of one batch."""

    WAITS = "waits"  # something of theirs runs, or is to be said still
    MORE = "more"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Erasure:
    """One wish to be forgotten."""

    id: str
    tenant: str
    user_id: str
    extent: Extent
    senders: tuple[str, ...]  # canonical, as they were; () where they stay
    keys: tuple[str, ...]  # the sessions that they took part in
    lanes: tuple[str, ...]  # the direct chats with them
    inbox_id: int  # the row it was said with
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A sender who was forgotten, as an unreadable mark."""

    tenant: str
    mark: str  # keyed hash of the canonical sender
    former_id: str  # the user they were
    at: datetime  # what they said up to then is not taken in again


ERASURES = Rows(erasures, Erasure)
FORGOTTEN = Rows(forgotten_senders, Forgotten)


@dataclass(frozen=True, slots=True)
class ErasureAsked:
    """The result of a request for erasure."""

    unparked: Sequence[str]  # turns that waited for their word
    forgotten: Sequence[Forgotten] = ()  # who they were; () where they stay


Mark = Callable[[str, str], str]
"""The keyed hash of a tenant's sender."""


def ask(
    connection: sa.Connection,
    person: Person,
    extent: Extent,
    inbox_id: int,
    said_at: datetime,
    now: datetime,
    mark: Mark,
) -> ErasureAsked:
    """Record a request for erasure, and end everything of the person that waits.

    A person who wants everything forgotten has no identity from this commit on. The users linked to them are included.
    """
    tenant, user_id = person.tenant, person.user_id
    unparked, marked = list[str](), list[Forgotten]()
    if not said_at.microsecond:  # Telegram's times are whole seconds: a message of the same second may be newer
        said_at -= timedelta(microseconds=1)
    for each in (user_id, *person.aliases):
        senders = senders_of(connection, each) if extent is Extent.EVERYTHING else []
        marked += [Forgotten(tenant, mark(tenant, sender), each, said_at) for sender in senders]
        unparked += _ask_of(connection, tenant, each, extent, inbox_id, now)
    for table in (identities, grants) if extent is Extent.EVERYTHING else ():
        connection.execute(sa.delete(table).where(table.c.user_id.in_([user_id, *person.aliases])))
    for sender in marked:
        FORGOTTEN.put(connection, sender)
    return ErasureAsked(unparked, marked)


def _ask_of(
    connection: sa.Connection, tenant: str, user_id: str, extent: Extent, inbox_id: int, now: datetime
) -> Sequence[str]:
    """Keep the wish about one user; return the turns that waited for their answer."""
    senders = senders_of(connection, user_id) if extent is Extent.EVERYTHING else []
    keys, lanes = tuple(sorted(_keys(connection, user_id))), tuple(_lanes(connection, user_id))
    ERASURES.add(connection, Erasure(new_id(), tenant, user_id, extent, tuple(senders), keys, lanes, inbox_id, now))
    _clear_waiting(connection, user_id, extent, inbox_id, now)
    return questions.withdraw_person(connection, user_id, now)


def lately(connection: sa.Connection) -> list[Forgotten]:
    """Return the people who were forgotten recently and still have a mark of their own. A system query."""
    return FORGOTTEN.find(connection)


def pending(connection: sa.Connection) -> list[Erasure]:
    """Return the requests that are not done, the oldest first. A system query."""
    return ERASURES.find(connection, order=erasures.c.asked_at)


def _clear_waiting(connection: sa.Connection, user_id: str, extent: Extent, inbox_id: int, now: datetime) -> None:
    """End the waiting rows of a person without identity, also those admitted since they asked."""
    before_id = None if extent is Extent.EVERYTHING else inbox_id
    rows_in.clear_person(connection, user_id, before_id, now, "/forget", beside_id=inbox_id)


def _keys(connection: sa.Connection, user_id: str) -> set[str]:
    """Return the sessions that the person took part in, also as a reader."""
    spoken = sa.select(inbox.c.session_key).where(inbox.c.user_id == user_id, inbox.c.session_key.is_not(None))
    taken = sa.select(sessions.c.key).join(turns, turns.c.session_id == sessions.c.id)
    answered = taken.where(turns.c.user_id == user_id)
    found = {*connection.execute(spoken.distinct()).scalars(), *connection.execute(answered.distinct()).scalars()}
    found.update(keys_of_continued(connection, user_id))
    talk = sa.select(inbox.c.channel, inbox.c.account, inbox.c.chat).where(
        inbox.c.user_id == user_id, inbox.c.session_key.is_(None), inbox.c.chat != ""
    )
    for row in connection.execute(talk.distinct()).all():
        group = f":{row.channel}:{row.account}:group:{row.chat}"
        there = sa.or_(
            sessions.c.key.endswith(group, autoescape=True),
            sessions.c.key.contains(f"{group}:thread:", autoescape=True),
        )
        found.update(connection.execute(sa.select(sessions.c.key).where(there).distinct()).scalars())
    return found


def erase(
    connection: sa.Connection,
    erasure: Erasure,
    now: datetime,
    own_tables: Sequence[sa.Table] = (),
    is_configured: Callable[[Address], bool] = lambda _: True,
) -> Progress:
    """One batch of it: conversations, then messages, then the rest. No account is waited for that is not configured."""
    _end_left_behind(connection, erasure, is_configured, now)
    if erasure.extent is Extent.EVERYTHING:
        _clear_waiting(connection, erasure.user_id, erasure.extent, erasure.inbox_id, now)
    if _is_under_way(connection, erasure, now):
        return Progress.WAITS
    for batch in (_erase_turns, _erase_messages):
        if batch(connection, erasure):
            return Progress.MORE
    _erase_places(connection, erasure)
    forget_kept(connection, user_id=erasure.user_id)
    for table in _MADE_OF_TALK:
        connection.execute(sa.delete(table).where(table.c.user_id == erasure.user_id))
    if erasure.extent is Extent.EVERYTHING:
        _erase_identity(connection, erasure)
        TICKETS.delete(connection, other_id=erasure.user_id)
        _erase_rows(connection, own_tables, erasure.user_id)
        _erase_rows(connection, metadata.sorted_tables, erasure.user_id)
        connection.execute(sa.delete(users).where(users.c.id == erasure.user_id))
    if search_index.purge(connection):
        return Progress.MORE
    ERASURES.delete(connection, id=erasure.id)
    record(connection, erasure.tenant, AuditRow(now, "person", "person_forgotten", erasure.id, erasure.extent))
    return Progress.DONE


def _end_left_behind(
    connection: sa.Connection, erasure: Erasure, is_configured: Callable[[Address], bool], now: datetime
) -> None:
    """End the person's turns on accounts that are no longer configured: such a turn never ends by itself."""
    running = sa.select(turns.c.id, turns.c.address).where(turns.c.end_reason.is_(None), *_mine(erasure))
    ids = [row.id for row in connection.execute(running) if not is_configured(unpack_address(row.address))]
    stopped = {"end_reason": EndReason.STOPPED.value, "ended_at": now}
    connection.execute(sa.update(turns).where(turns.c.id.in_(ids)).values(stopped))


def _is_under_way(connection: sa.Connection, erasure: Erasure, now: datetime) -> bool:
    """Return True if a turn of theirs runs, or a message to them is being sent."""
    runs = turns.c.end_reason.is_(None)
    if connection.execute(sa.select(turns.c.id).where(runs, *_mine(erasure)).limit(1)).first() is not None:
        return True
    if now - erasure.asked_at >= PATIENCE:
        return False
    reads = sa.select(turns.c.id).where(runs, turns.c.parked_at.is_(None), _beside(erasure)).limit(1)
    last = outbox.c.cause == f"inbox:{erasure.inbox_id}"
    to_others = outbox.c.cause.in_(sa.select(turns.c.id).where(_beside(erasure)))
    goes = sa.select(outbox.c.id).where(IS_OPEN, sa.or_(last, outbox.c.lane.in_(erasure.lanes), to_others)).limit(1)
    return any(connection.execute(query).first() is not None for query in (reads, goes))


def _mine(erasure: Erasure) -> tuple[sa.ColumnElement[bool], ...]:
    """Select the person's turns; of a person without identity also one that began just then."""
    whose = turns.c.user_id == erasure.user_id
    return (whose,) if erasure.extent is Extent.EVERYTHING else (whose, turns.c.started_at <= erasure.asked_at)


def _beside(erasure: Erasure) -> sa.ColumnElement[bool]:
    """Select turns of others in a conversation in which the person asked something, or in a group since they first
    spoke.
    """
    asked = gone_on(sa.select(turns.c.session_id).where(*_mine(erasure)))
    groups = [key for key in erasure.keys if ":group:" in key]
    there = sa.select(sessions.c.id).where(sessions.c.tenant_id == erasure.tenant, sessions.c.key.in_(groups))
    first = sa.select(sa.func.min(inbox.c.admitted_at)).where(inbox.c.user_id == erasure.user_id).scalar_subquery()
    heard = sa.and_(turns.c.session_id.in_(there), turns.c.started_at >= first)
    return sa.and_(turns.c.user_id != erasure.user_id, sa.or_(turns.c.session_id.in_(asked), heard))


def _lanes(connection: sa.Connection, user_id: str) -> list[str]:
    """Select the lanes of the direct chats with the person."""
    mine = sa.select(chats).where(chats.c.user_id == user_id, chats.c.direct)
    known = {f"{row.channel}:{row.account}:{row.chat}" for row in connection.execute(mine)}
    said = sa.select(inbox.c.channel, inbox.c.account, inbox.c.chat).where(
        inbox.c.user_id == user_id, inbox.c.session_key.contains(":direct:"), inbox.c.chat != ""
    )
    direct = {(row.channel, row.account, row.chat) for row in connection.execute(said.distinct())}
    groups = sa.select(inbox.c.chat).where(inbox.c.session_key.contains(":group:")).distinct()
    shared = set(connection.execute(groups).scalars())  # a private answer in a group is part of their own conversation
    return sorted(known | {f"{channel}:{account}:{chat}" for channel, account, chat in direct if chat not in shared})


def _erase_turns(connection: sa.Connection, erasure: Erasure) -> bool:
    """Journals of what they said; in groups also of what others said beside it: theirs tell of it too."""
    over = turns.c.end_reason.is_not(None)
    beside = sa.select(turns.c.id).where(over, _beside(erasure))
    mine = sa.select(turns.c.id).where(over, *_mine(erasure))  # theirs last: by them the others' are known
    found = (list(connection.execute(query.limit(TURNS_BATCH)).scalars()) for query in (beside, mine))
    ids = next((batch for batch in found if batch), [])
    if not ids:
        return False
    of_sessions = gone_on(sa.select(turns.c.session_id).where(turns.c.id.in_(ids)))
    connection.execute(sa.delete(summaries).where(summaries.c.session_id.in_(of_sessions)))
    connection.execute(sa.update(sessions).where(sessions.c.id.in_(of_sessions)).values(title=None))
    _erase_files(connection, ids)
    answers = [outbox.c.cause.in_(ids), *(outbox.c.cause.startswith(f"{id_}.") for id_ in ids)]
    _empty_outbox(connection, sa.or_(*answers))
    for table in (events, approvals):
        connection.execute(sa.delete(table).where(table.c.turn_id.in_(ids)))
    connection.execute(sa.delete(children).where(children.c.parent_turn_id.in_(ids)))
    connection.execute(sa.delete(turns).where(turns.c.id.in_(ids)))
    return True


def _erase_files(connection: sa.Connection, turn_ids: Sequence[str]) -> None:
    """Erase the files that came with the person's messages or were made by their tools."""
    found = connection.execute(sa.select(events.c.call_key, events.c.payload).where(events.c.turn_id.in_(turn_ids)))
    ids = set(map(speech_id, turn_ids))
    for row in found:
        ids.update(_UUID.findall(row.payload))
        ids.update([file_id(row.call_key)] if row.call_key else [])
    _delete_each(connection, blobs.c.id, ids)


def _erase_messages(connection: sa.Connection, erasure: Erasure) -> bool:
    """Erase the person's messages: the rows stay, empty, so that no number is reused and no redelivery is accepted."""
    theirs, before = inbox.c.user_id == erasure.user_id, inbox.c.id <= erasure.inbox_id
    said = sa.and_(theirs, before)
    if erasure.extent is Extent.EVERYTHING:
        said = sa.or_(theirs, sa.and_(inbox.c.sender.in_(erasure.senders), before))
    came = inbox.c.id, inbox.c.channel, inbox.c.account, inbox.c.chat, inbox.c.event_id
    query = sa.select(*came).where(said, inbox.c.sender != GONE)
    found = connection.execute(query.limit(ROWS_BATCH)).all()
    ids = [row.id for row in found]
    if not ids:
        return False
    causes = [f"{kind}:{id_}" for id_ in ids for kind in ("inbox", HEARD)]
    sent = connection.execute(sa.select(outbox.c.media).where(outbox.c.cause.in_(causes), outbox.c.media.is_not(None)))
    _delete_each(connection, blobs.c.id, {blob for row in sent for blob in _BLOB.findall(row.media)})
    _delete_each(connection, blobs.c.turn_id, {came_with(row.channel, row.account, row.event_id) for row in found})
    _delete_each(connection, blobs.c.id, handed_with(row.event_id for row in found if row.channel == "web"))
    _empty_outbox(connection, outbox.c.cause.in_(causes))
    connection.execute(sa.delete(reply_routes).where(reply_routes.c.inbox_id.in_(ids)))
    values: dict[str, object] = {"payload": "", "detail": None, "message_id": None, "sender": GONE, "turn_id": None}
    values |= {"chat": "", "session_key": None, "user_id": None}
    if erasure.extent is Extent.TALK:
        del values["user_id"]
    connection.execute(sa.update(inbox).where(inbox.c.id.in_(ids)).values(values))
    for row in found if erasure.extent is Extent.EVERYTHING else ():  # who stays is known by their places anyway
        if row.chat and row.chat in row.event_id:  # else it is the platform's number of the event, by which it is known
            connection.execute(sa.update(inbox).where(inbox.c.id == row.id).values(event_id=f"{GONE}:{row.id}"))
    return True


def _erase_places(connection: sa.Connection, erasure: Erasure) -> None:
    """Erase all messages sent to the person's direct chats, and the addresses of these chats."""
    lanes = erasure.lanes
    before = sa.or_(outbox.c.created_at <= erasure.asked_at, outbox.c.cause == f"inbox:{erasure.inbox_id}")
    _empty_outbox(connection, sa.and_(outbox.c.lane.in_(lanes), before))
    own = [key for key in erasure.keys if ":direct:" in key]
    connection.execute(sa.update(sessions).where(sessions.c.key.in_(own)).values(title=None))
    if erasure.extent is Extent.TALK:
        return
    connection.execute(sa.update(sessions).where(sessions.c.key.in_(own)).values(key=GONE + ":" + sessions.c.id))
    connection.execute(sa.delete(parked_lanes).where(parked_lanes.c.lane.in_(lanes)))
    of_chats = [lane.split(":", 2)[2] for lane in lanes]
    DEVICES.delete(connection, chat=of_chats)
    moved = sa.or_(moved_chats.c.old_chat.in_(of_chats), moved_chats.c.new_chat.in_(of_chats))
    connection.execute(sa.delete(moved_chats).where(moved))
    mine = chats.c.user_id == erasure.user_id
    connection.execute(sa.delete(chats).where(mine, chats.c.direct))
    connection.execute(sa.update(chats).where(mine).values(user_id=GONE))


def _erase_identity(connection: sa.Connection, erasure: Erasure) -> None:
    """Erase the person's identity: records lose their names, and their usage belongs to no person."""
    before = tickets.c.created_at <= erasure.asked_at  # a stranger may have asked to be let in since
    asked = sa.and_(tickets.c.kind == TicketKind.PAIRING, tickets.c.sender.in_(erasure.senders), before)
    requests = connection.execute(sa.select(tickets.c.id).where(asked)).scalars().all()
    names = [*erasure.senders, erasure.user_id, *requests]
    told = (outbox.c.cause.startswith(f"{what}:{id_}") for id_ in requests for what in ("asked", "named", "approved"))
    _empty_outbox(connection, sa.or_(sa.false(), *told))  # owners were asked about them by name
    connection.execute(sa.delete(tickets).where(asked))
    connection.execute(sa.delete(ticket_guesses).where(ticket_guesses.c.who.in_(erasure.senders)))
    connection.execute(sa.update(tickets).where(tickets.c.ended_by.in_(erasure.senders)).values(ended_by=GONE))
    told = sa.or_(sa.false(), *(audit.c.detail.contains(sender, autoescape=True) for sender in erasure.senders))
    by, of = audit.c.actor.in_(names), audit.c.subject.in_(names)
    connection.execute(sa.update(audit).where(sa.or_(told, by, of)).values(detail=""))
    connection.execute(sa.update(audit).where(by).values(actor=GONE))
    connection.execute(sa.update(audit).where(of).values(subject=GONE))
    give_to(connection, erasure.user_id, GONE)
    connection.execute(sa.update(budget_use).where(budget_use.c.key == erasure.user_id).values(told=True))  # see go_on


_KEPT = {table.name for table in (users, erasures, inbox, turns, usage, chats)}
"""The erasures whose rows have gone already, or stay without a name."""


def _erase_rows(connection: sa.Connection, tables: Sequence[sa.Table], user_id: str) -> None:
    """Whatever else is theirs by its column `user_id`, what refers to others first."""
    for table in reversed(tables):
        if "user_id" in table.c and table.name not in _KEPT:
            connection.execute(sa.delete(table).where(table.c.user_id == user_id))


def _empty_outbox(connection: sa.Connection, which: sa.ColumnElement[bool]) -> None:
    """Parts go but for the newest one there is, which is emptied: its number is not to be given again."""
    newest = connection.execute(sa.select(sa.func.max(outbox.c.id))).scalar()
    connection.execute(sa.delete(outbox).where(which, outbox.c.id != newest))
    shown = ("thread", "target", "reply_to", "markup", "buttons", "buttons_of", "buttons_until", "media")
    nothing = dict.fromkeys((*shown, "platform_id", "error"))
    said = {"rendered": "", "plain": "", "lane": GONE, "chat": "", "state": "discarded", "secret_ref": None}
    connection.execute(sa.update(outbox).where(which, outbox.c.id == newest).values(nothing | said))


def _delete_each(connection: sa.Connection, column: "sa.Column[str]", ids: set[str]) -> None:
    wanted = sorted(ids)
    for start in range(0, len(wanted), ROWS_BATCH):
        connection.execute(sa.delete(column.table).where(column.in_(wanted[start : start + ROWS_BATCH])))


SECRET = {credentials.c.sealed.key: "(a secret, which is not given out)"}


def of_person(connection: sa.Connection, user_id: str, own_tables: Sequence[sa.Table] = ()) -> dict[str, JsonValue]:
    """Rows by table, in the order in which they came: the harness's tables, then the agent's own.

    Raises:
        RuntimeError: the query runs in no tenant's name.
    """
    named_tenant()
    ids = list(connection.execute(ids_of(user_id)).scalars())
    found: dict[str, JsonValue] = {"users": [*_rows(connection, sa.select(users).where(users.c.id.in_(ids)))]}
    there = sa.inspect(connection)
    for table in (*metadata.sorted_tables, *own_tables):
        if "user_id" in table.c and table is not passages and there.has_table(table.name):
            rows = sa.select(table).where(table.c.user_id.in_(ids)).order_by(*table.primary_key.columns)
            found[table.name] = [*_rows(connection, rows)]
    mine = sa.select(turns.c.id).where(turns.c.user_id.in_(ids))
    said = sa.select(events).where(events.c.turn_id.in_(mine)).order_by(*events.primary_key.columns)
    found["events"] = [*_rows(connection, said)]
    direct = connection.execute(sa.select(chats).where(chats.c.user_id.in_(ids), chats.c.direct)).all()
    lanes = [f"{row.channel}:{row.account}:{row.chat}" for row in direct]
    sent = sa.or_(outbox.c.lane.in_(lanes), outbox.c.cause.in_(mine))
    found["outbox"] = [*_rows(connection, sa.select(outbox).where(sent).order_by(outbox.c.id))]
    by_or_about = sa.or_(audit.c.actor.in_(ids), audit.c.subject.in_(ids))
    found["audit"] = [*_rows(connection, sa.select(audit).where(by_or_about).order_by(audit.c.id))]
    return found


def newest_row(connection: sa.Connection) -> int:
    """Return the number of the newest row; 0 if there is none."""
    return connection.execute(sa.select(sa.func.max(inbox.c.id))).scalar() or 0


def _rows(connection: sa.Connection, query: sa.Select[tuple[object, ...]]) -> Iterator[JsonValue]:
    for row in connection.execute(query).mappings():
        yield {
            str(name): _value(value)
            for name, value in ({**row} | {k: v for k, v in SECRET.items() if k in row}).items()
        }


def _value(value: object) -> JsonValue:
    """As JSON; what is JSON in a text already is read."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            read: JsonValue = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return read
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
