"""The durable outbox: parts to send, their files, attempts and outcomes, and the lanes that wait for their person.

Plain functions over a connection. Which state follows which attempt is decided in `gateway.delivery`.
"""

import base64
import hashlib
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from pydantic import TypeAdapter

from channels.base import OWN_VIEWS
from channels.messages import Address, AttachmentKind, Button, Rendered
from channels.viewers.viewer_frames import MOST_NUMBERS
from gateway.store.causes import Cause, read_cause
from gateway.store.dialect import insert_new
from gateway.store.people import tag_of
from gateway.store.tables.traffic import IN_OWN_VIEWS, outbox
from gateway.store.tables.traffic import parked_lanes as parked
from gateway.store.tables.turns import blobs
from gateway.store.writer import tell


class PartState(StrEnum):
    """The states of a part."""

    READY = "ready"
    SENDING = "sending"  # an attempt was made, its result is not recorded yet
    SENT = "sent"
    UNKNOWN = "unknown"  # it may have arrived; nobody will try again by itself
    DEAD = "dead"  # refused for good; an operator may re-drive it
    DISCARDED = "discarded"  # an operator gave it up


OPEN = (PartState.READY, PartState.SENDING)

MOST_AT_ONCE = 2_000
"""Rows that are read for several lanes in one statement."""

LANES_AT_ONCE = 64
"""Lanes that one statement reads, which has a place for each: fewer lanes fill it by the last one."""

IS_OPEN = outbox.c.state.in_([sa.literal_column(f"'{state}'") for state in OPEN])
"""Written out, because the index of open parts serves no query that binds the states."""

FAILED = (PartState.UNKNOWN, PartState.DEAD)

IS_FAILED = outbox.c.state.in_([sa.literal_column(f"'{state}'") for state in FAILED])
"""As `IS_OPEN`, for the parts that an operator may look into."""


IS_DISCARDED = outbox.c.state == sa.literal_column(f"'{PartState.DISCARDED}'")


class Action(StrEnum):
    """The call that is made to the platform."""

    PLACEHOLDER = "placeholder"  # a stand-in that the final edit fills; never resent
    SEND = "send"
    EDIT = "edit"  # of `target`, or of op 0 of the same part; a send where that is unknown or gone
    DELETE = "delete"  # of op 0 of the same part, which an answer did not come to in the end; nothing where it is gone


@dataclass(frozen=True, slots=True)
class MediaRef:
    """A file that goes with a part; its content is a blob until then."""

    kind: AttachmentKind
    name: str
    mime: str
    blob: str  # id in the table `blobs`, see `put_file`
    description: str = ""  # in words, for who does not see it


BUTTONS: TypeAdapter[tuple[Button, ...]] = TypeAdapter(tuple[Button, ...])
_MEDIA: TypeAdapter[tuple[MediaRef, ...]] = TypeAdapter(tuple[MediaRef, ...])


@dataclass(frozen=True, slots=True)
class OutboxPart:
    """One part of something to be said, and what is done to say it."""

    cause: Cause
    number: int  # its place among the parts of that, from 0
    revision: int  # 0: the message itself, or its placeholder; above: what edits or deletes that
    action: Action
    address: Address
    rendered: Rendered
    plain: str  # the same as text alone, for a platform that refuses the markup
    reply_to: str | None = None
    secret_ref: str | None = None
    target: str | None = None  # the message to edit; None: what revision 0 became
    reply_route_of: int | None = None  # the inbox row whose own way to answer it may use
    buttons: tuple[Button, ...] = ()
    buttons_of: str | None = None  # the user whose next words take the buttons away; None: a decision does
    buttons_until: datetime | None = None  # when they are taken away; None: they stay
    media: tuple[MediaRef, ...] = ()
    locale: str | None = None  # BCP 47: in which language whoever reads it is told what became of it

    @property
    def is_speech(self) -> bool:
        """Return True if it only speaks a text that is sent before it."""
        return any(file.kind is AttachmentKind.VOICE for file in self.media)


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A part as a lane carries it."""

    id: int
    tenant: str
    part: OutboxPart
    idem_key: str
    state: PartState
    attempts: int = 0
    maybe_duplicate: bool = False  # it may have been said before: where the platform cannot tell, it is marked
    not_before: datetime | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PartsPut:
    """News of a commit: these parts can be sent."""

    rows: tuple[OutboxRow, ...]


def idem_key(part: OutboxPart) -> str:
    """25 characters that name this part for ever: minted once, the same for every attempt."""
    digest = hashlib.sha256(f"{part.cause}/{part.number}/{part.revision}".encode()).digest()
    return base64.b32encode(digest[:15]).decode().lower() + "t"


def put(
    connection: sa.Connection, tenant: str, parts: Sequence[OutboxPart], now: datetime, *, first_claimed: bool = False
) -> list[OutboxRow]:
    """Add parts, in order; the commit's news wake their lanes. Idempotent: an existing part is left unchanged and
    returned if still undelivered.

    With `first_claimed` the first one is recorded as being sent: its attempt begins with this commit. What goes to a
    page, a terminal or a program is delivered with it.
    """
    rows: list[OutboxRow] = []
    for index, part in enumerate(parts):
        claimed = first_claimed and index == 0
        state = PartState.SENDING if claimed else PartState.READY
        row = OutboxRow(0, tenant, part, idem_key(part), state, attempts=1 if claimed else 0, created_at=now)
        if part.address.channel in OWN_VIEWS:
            row = replace(row, part=replace(part, target=shown_id(part)), state=PartState.SENT)
        id_ = connection.execute(insert_new(connection, outbox, outbox.c.id), _to_values(row)).scalar()
        rows += _find_open(connection, part) if id_ is None else [replace(row, id=id_)]
    if rows:
        tell(connection, PartsPut(tuple(rows)))
    return rows


def shown_id(part: OutboxPart) -> str:
    """Return the id by which pages and terminals know the message of a part, whatever is done with it."""
    return part.target or f"b-{idem_key(replace(part, revision=0))}"


def shown_after(
    connection: sa.Connection, after_id: int | None, known: Container[int] = ()
) -> tuple[int, list[OutboxRow]]:
    """Return the newest id, and what was stored behind `after_id` for pages, terminals and programs; None: nothing.

    Rows with `known` ids are left out.
    """
    newest = connection.execute(sa.select(sa.func.max(outbox.c.id))).scalar() or 0
    if after_id is None:
        return newest, []
    found = connection.execute(sa.select(outbox.c.id).where(outbox.c.id > after_id, IN_OWN_VIEWS)).scalars()
    if not (unknown := [id_ for id_ in found if id_ not in known]):
        return newest, []
    query = sa.select(outbox).where(outbox.c.id.in_(unknown)).order_by(outbox.c.id)
    return newest, [to_row(found) for found in connection.execute(query).all()]


def _find_open(connection: sa.Connection, part: OutboxPart) -> list[OutboxRow]:
    same = (outbox.c.cause == str(part.cause), outbox.c.part == part.number, outbox.c.op == part.revision)
    return [to_row(found) for found in connection.execute(sa.select(outbox).where(*same, IS_OPEN))]


def _to_values(row: OutboxRow) -> dict[str, object]:
    part = row.part
    return {
        "tenant_id": row.tenant,
        "kind": part.cause.kind,
        "cause": str(part.cause),
        "part": part.number,
        "op": part.revision,
        "action": part.action,
        "lane": part.address.lane,
        "channel": part.address.channel,
        "account": part.address.account,
        "chat": part.address.chat,
        "thread": part.address.thread,
        "target": part.target,
        "reply_to": part.reply_to,
        "rendered": part.rendered.text,
        "markup": part.rendered.markup,
        "plain": part.plain,
        "secret_ref": part.secret_ref,
        "answers": part.reply_route_of,
        "buttons": BUTTONS.dump_json(part.buttons).decode() if part.buttons else None,
        "buttons_of": part.buttons_of if part.buttons else None,
        "buttons_until": part.buttons_until if part.buttons else None,
        "media": _MEDIA.dump_json(part.media).decode() if part.media else None,
        "locale": tag_of(part.locale),
        "idem_key": row.idem_key,
        "state": row.state,
        "not_before": None,
        "attempts": row.attempts,
        "marked": row.maybe_duplicate,
        "created_at": row.created_at,
        "platform_id": part.target if row.state is PartState.SENT else None,
        "done_at": row.created_at if row.state is PartState.SENT else None,
    }


def to_row(found: sa.Row[tuple[object, ...]]) -> OutboxRow:
    """Return a part as its row keeps it."""
    part = OutboxPart(
        cause=read_cause(found.kind, found.cause),
        number=found.part,
        revision=found.op,
        action=Action(found.action),
        address=Address(found.channel, found.account, found.chat, found.thread),
        rendered=Rendered(found.rendered, found.markup),
        plain=found.plain,
        reply_to=found.reply_to,
        secret_ref=found.secret_ref,
        target=found.target,
        reply_route_of=found.answers,
        buttons=BUTTONS.validate_json(found.buttons) if found.buttons else (),
        buttons_of=found.buttons_of,
        buttons_until=found.buttons_until,
        media=_MEDIA.validate_json(found.media) if found.media else (),
        locale=found.locale,
    )
    return OutboxRow(
        found.id,
        found.tenant_id,
        part,
        found.idem_key,
        PartState(found.state),
        found.attempts,
        found.marked,
        found.not_before,
        found.created_at,
    )


def said_for(connection: sa.Connection, causes: Collection[Cause]) -> list[tuple[Cause, Address]]:
    """Return the messages for these causes, sent or waiting, and their addresses; without those refused or given up."""
    ours = (outbox.c.cause.in_([str(cause) for cause in causes]), outbox.c.part == 0, outbox.c.op == 0)
    given_up = outbox.c.state.in_([PartState.DEAD, PartState.DISCARDED])
    rows = connection.execute(sa.select(outbox).where(*ours, ~given_up).order_by(outbox.c.id))
    return [(read_cause(row.kind, row.cause), Address(row.channel, row.account, row.chat, row.thread)) for row in rows]


_OPEN_BEHIND = (
    sa.select(outbox)
    .where(IS_OPEN, outbox.c.id > sa.bindparam("b_after"))
    .order_by(outbox.c.id)
    .limit(sa.bindparam("b_limit"))
)
_OPEN_OF_LANE = _OPEN_BEHIND.where(outbox.c.lane == sa.bindparam("b_lane"))
_OPEN_OF_LANES = _OPEN_BEHIND.where(outbox.c.lane.in_([sa.bindparam(f"b_lane{n}") for n in range(LANES_AT_ONCE)]))


def open_parts(connection: sa.Connection, lane: str, after_id: int, limit: int) -> list[OutboxRow]:
    """Return the open parts of a lane, in order."""
    # Fetched before any is read: a statement cut short by a row that cannot be would hold the reader's snapshot.
    rows = connection.execute(_OPEN_OF_LANE, {"b_lane": lane, "b_after": after_id, "b_limit": limit}).all()
    return [to_row(found) for found in rows]


def open_parts_of(connection: sa.Connection, asked: Mapping[str, tuple[int, int]]) -> dict[str, list[OutboxRow]]:
    """Return the open parts of several lanes, each behind an id and up to a limit, in few statements if they are few.

    A lane is left out if one of its rows cannot be read.
    """
    lanes = list(asked)
    if len(lanes) > LANES_AT_ONCE:
        halves = lanes[:LANES_AT_ONCE], lanes[LANES_AT_ONCE:]
        first, rest = [open_parts_of(connection, {lane: asked[lane] for lane in half}) for half in halves]
        return first | rest
    values: dict[str, object] = {f"b_lane{n}": lanes[min(n, len(lanes) - 1)] for n in range(LANES_AT_ONCE)}
    values |= {"b_after": min(after_id for after_id, _ in asked.values()), "b_limit": MOST_AT_ONCE + 1}
    rows = connection.execute(_OPEN_OF_LANES, values).all()
    if len(rows) > MOST_AT_ONCE:
        return {lane: open_parts(connection, lane, *behind) for lane, behind in asked.items()}
    found: dict[str, list[OutboxRow]] = {lane: [] for lane in asked}
    for row in rows:
        parts, (after_id, limit) = found.get(row.lane), asked[row.lane]
        if parts is not None and row.id > after_id and len(parts) < limit:
            try:
                parts.append(to_row(row))
            except ValueError:
                del found[row.lane]
    return found


def open_count(connection: sa.Connection) -> int:
    """Return how many parts are open."""
    return int(connection.execute(sa.select(sa.func.count()).where(IS_OPEN)).scalar_one())


_counted = sa.select(outbox.c.state, sa.func.count().label("parts")).group_by(outbox.c.state)
DEPTHS = (_counted.where(IS_OPEN), _counted.where(IS_FAILED))
"""Each by an index of its own."""


def depths(connection: sa.Connection) -> dict[str, int]:
    """Return how many parts are in each state that an operator may act on, for `tenk status`."""
    found = {row.state: row.parts for query in DEPTHS for row in connection.execute(query)}
    return {state: found[state] for state in map(str, PartState) if state in found}


def open_lanes(connection: sa.Connection) -> dict[Address, tuple[int, int]]:
    """Return the lanes with open parts, without paused ones: how many parts, and the newest one's id."""
    lane = outbox.c.channel, outbox.c.account, outbox.c.chat
    query = sa.select(*lane, sa.func.count(), sa.func.max(outbox.c.id)).group_by(*lane)
    result = connection.execute(query.where(IS_OPEN, outbox.c.lane.not_in(sa.select(parked.c.lane))))
    return {Address(channel, account, chat): (parts, newest) for channel, account, chat, parts, newest in result}


def park(connection: sa.Connection, tenant: str, lane: str, reason: str, now: datetime) -> None:
    """Stop a lane until its person is heard again."""
    connection.execute(
        insert_new(connection, parked), {"tenant_id": tenant, "lane": lane, "reason": reason, "parked_at": now}
    )


def unpark(connection: sa.Connection, lane: str) -> bool:
    """Let a lane go on; False where it was not parked."""
    return connection.execute(sa.delete(parked).where(parked.c.lane == lane)).rowcount > 0


def parked_lanes(connection: sa.Connection) -> list[str]:
    """Return the paused lanes."""
    return list(connection.execute(sa.select(parked.c.lane)).scalars())


CAME = "came:"


def file_id(key: str) -> str:
    """Return the id of the file that the change of this key made."""
    return "made:" + base64.b32encode(hashlib.sha256(key.encode()).digest()[:15]).decode().lower()


def speech_id(turn_id: str) -> str:
    """Return the id of the file in which the answer of a turn is spoken."""
    return file_id(f"speech:{turn_id}")


def handed_id(handle: str) -> str:
    """By what a file is known that a person handed over on the web page: `CHAT:MESSAGE:NUMBER`."""
    return file_id(f"handed:{handle}")


def handed_with(event_ids: Iterable[str]) -> set[str]:
    """By what any file is known that went with these messages of the web page: `msg:CHAT:MESSAGE`."""
    messages = [event_id.removeprefix("msg:") for event_id in event_ids]
    return {handed_id(f"{message}:{number}") for message in messages for number in range(MOST_NUMBERS)}


def came_with(channel: str, account: str, event_id: str) -> str:
    """Return the owner mark of a picture until a turn takes it: its event's."""
    return file_id(f"{channel}:{account}:{event_id}").replace("made:", CAME)


def put_file(
    connection: sa.Connection, tenant: str, id_: str, content: bytes, now: datetime, whose: str | None = None
) -> None:
    """Keep a file under the caller's id; the same again changes nothing. `whose` is `came_with` or None."""
    row = {"id": id_, "tenant_id": tenant, "content": content, "created_at": now, "turn_id": whose}
    connection.execute(insert_new(connection, blobs), row)


def file_of(connection: sa.Connection, id_: str) -> bytes | None:
    """Return the content of a file; None if it is not kept any more."""
    return files_of(connection, [id_]).get(id_)


def files_of(connection: sa.Connection, ids: Sequence[str]) -> dict[str, bytes]:
    """Return the contents of those of these files that are still kept."""
    rows = connection.execute(sa.select(blobs.c.id, blobs.c.content).where(blobs.c.id.in_(ids)))
    return {row.id: row.content for row in rows}


_SENT = (
    sa.update(outbox)
    .where(outbox.c.id == sa.bindparam("b_id"), IS_OPEN)
    .values(state=PartState.SENT, platform_id=sa.bindparam("b_platform_id"), done_at=sa.bindparam("b_now"), error=None)
)
_MARK = (
    sa.update(outbox)
    .where(outbox.c.id == sa.bindparam("b_id"), IS_OPEN)
    .values(state=PartState.SENDING, action=sa.bindparam("b_action"), attempts=outbox.c.attempts + 1)
)


def mark_sending(connection: sa.Connection, id_: int, action: Action) -> bool:
    """Persist the attempt that is about to be made, and what it is: an edit may be repeated, a send not.

    Return False if the row is done already.
    """
    return connection.execute(_MARK, {"b_id": id_, "b_action": action}).rowcount > 0


def record_sent(connection: sa.Connection, id_: int, platform_id: str, now: datetime) -> None:
    """Record the receipt, unless the part has ended: another process sent on while this one was paused."""
    connection.execute(_SENT, {"b_id": id_, "b_platform_id": platform_id, "b_now": now})


_SAVE = (
    sa.update(outbox)
    .where(outbox.c.id == sa.bindparam("b_id"))
    .values(
        state=sa.bindparam("b_state"),
        not_before=sa.bindparam("b_not_before"),
        marked=sa.bindparam("b_marked"),
        action=sa.bindparam("b_action"),
        error=sa.bindparam("b_error"),
        rendered=sa.bindparam("b_rendered"),
        markup=sa.bindparam("b_markup"),
        done_at=sa.bindparam("b_done_at"),
    )
)


def save(connection: sa.Connection, row: OutboxRow, error: str | None, now: datetime) -> None:
    """Store a row as an attempt left it: state, marks, when to try again, what goes instead."""
    connection.execute(
        _SAVE,
        {
            "b_id": row.id,
            "b_state": row.state,
            "b_not_before": row.not_before,
            "b_marked": row.maybe_duplicate,
            "b_action": row.part.action,
            "b_error": error,
            "b_rendered": row.part.rendered.text,
            "b_markup": row.part.rendered.markup,
            "b_done_at": None if row.state in OPEN else now,
        },
    )


def dead_letter_rest(connection: sa.Connection, cause: Cause, after_id: int, reason: str, now: datetime) -> int:
    """Give up the parts of a reply behind a refused one; how many there were."""
    done = connection.execute(
        sa.update(outbox)
        .where(outbox.c.cause == str(cause), outbox.c.id > after_id, IS_OPEN)
        .values(state=PartState.DEAD, error=f"an earlier part was refused: {reason}", done_at=now)
    )
    return done.rowcount


def redrive(connection: sa.Connection, tenant: str, id_: int) -> bool:
    """Put a failed part back to be said; False where it is not failed. What may be there is marked."""
    query = sa.update(outbox).where(outbox.c.id == id_, outbox.c.tenant_id == tenant, IS_FAILED)
    row = connection.execute(
        query.values(
            state=PartState.READY,
            marked=sa.or_(outbox.c.marked, outbox.c.state == PartState.UNKNOWN),
            not_before=None,
            error=None,
            done_at=None,
        ).returning(*outbox.c)
    ).first()
    if row is not None:
        tell(connection, PartsPut((to_row(row),)))
    return row is not None


def discard(connection: sa.Connection, tenant: str, id_: int, now: datetime) -> bool:
    """Give a failed part up for good; False where it is not failed."""
    query = sa.update(outbox).where(outbox.c.id == id_, outbox.c.tenant_id == tenant, IS_FAILED)
    return connection.execute(query.values(state=PartState.DISCARDED, done_at=now)).rowcount == 1


@dataclass(frozen=True, slots=True)
class RecoveredPart:
    """A part of an unfinished answer that an earlier process has put into the chat."""

    next_revision: int  # of what is to be done with it
    platform_id: str | None  # None: it was not sent, or nobody knows
    rendered: Rendered | None  # what it was told to say for good; None: a placeholder yet


def recovered_parts(connection: sa.Connection, answer: Cause) -> list[RecoveredPart]:
    """Return the parts of a turn's answer that the live answer began, in order."""
    columns = (outbox.c.part, outbox.c.op, outbox.c.action, outbox.c.rendered, outbox.c.markup, outbox.c.platform_id)
    query = sa.select(*columns).where(outbox.c.cause == str(answer)).order_by(outbox.c.part, outbox.c.op)
    found: dict[int, RecoveredPart] = {}
    for row in connection.execute(query):
        before = found.get(row.part)
        said = None if row.action == Action.PLACEHOLDER else Rendered(row.rendered, row.markup)
        platform_id = row.platform_id or (before.platform_id if before is not None else None)
        found[row.part] = RecoveredPart(row.op + 1, platform_id, said)
    return list(found.values())


def standing_id(connection: sa.Connection, part: OutboxPart) -> str | None:
    """Return the platform's id of the message that earlier revisions left; None if none arrived."""
    return connection.execute(
        sa.select(outbox.c.platform_id)
        .where(
            outbox.c.cause == str(part.cause),
            outbox.c.part == part.number,
            outbox.c.op < part.revision,
            outbox.c.state == PartState.SENT,
            outbox.c.platform_id.is_not(None),
        )
        .order_by(outbox.c.op.desc())
        .limit(1)
    ).scalar()
