"""The durable outbox: what is to be said, where it stands, and what the platform answered.

Plain functions over a connection. Which state follows which attempt is decided in `gateway.delivery`.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from pydantic import TypeAdapter

from channels.messages import Address, AttachmentKind, Button, Rendered
from gateway.store.dialect import insert_new
from gateway.store.tables.traffic import outbox


class State(StrEnum):
    """Where a part stands."""

    READY = "ready"
    SENDING = "sending"  # an attempt was made, its result is not recorded yet
    SENT = "sent"
    UNKNOWN = "unknown"  # it may have arrived; nobody will try again by itself
    DEAD = "dead"  # refused for good; an operator may re-drive it
    DISCARDED = "discarded"  # an operator gave it up


OPEN = (State.READY, State.SENDING)

IS_OPEN = outbox.c.state.in_([sa.literal_column(f"'{state}'") for state in OPEN])
"""Written out, because the index of open parts serves no query that binds the states."""

FAILED = (State.UNKNOWN, State.DEAD)

IS_FAILED = outbox.c.state.in_([sa.literal_column(f"'{state}'") for state in FAILED])
"""As `IS_OPEN`, for the parts that an operator may look into."""


class Action(StrEnum):
    """What the platform is asked to do."""

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
    blob: str  # id in `gateway.store.blobs`


_BUTTONS: TypeAdapter[tuple[Button, ...]] = TypeAdapter(tuple[Button, ...])
_MEDIA: TypeAdapter[tuple[MediaRef, ...]] = TypeAdapter(tuple[MediaRef, ...])


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One part to be said, as a lane carries it."""

    id: int
    tenant: str
    cause: str
    part: int
    op: int
    action: Action
    address: Address
    rendered: Rendered
    plain: str
    idem_key: str
    state: State
    attempts: int = 0
    marked: bool = False
    target: str | None = None
    reply_to: str | None = None
    secret_ref: str | None = None
    answers: int | None = None  # the inbox row whose own way to answer it may use
    buttons: tuple[Button, ...] = ()
    media: tuple[MediaRef, ...] = ()
    not_before: datetime | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewPart:
    """A part about to be put into the outbox."""

    cause: str
    part: int
    op: int
    action: Action
    address: Address
    rendered: Rendered
    plain: str
    reply_to: str | None = None
    secret_ref: str | None = None
    target: str | None = None
    answers: int | None = None
    buttons: tuple[Button, ...] = ()
    media: tuple[MediaRef, ...] = ()


def idem_key(cause: str, part: int, op: int) -> str:
    """25 characters that name this part for ever: minted once, the same for every attempt."""
    digest = hashlib.sha256(f"{cause}/{part}/{op}".encode()).digest()
    return base64.b32encode(digest[:15]).decode().lower() + "t"


def put(
    connection: sa.Connection, tenant: str, parts: Sequence[NewPart], now: datetime, *, first_claimed: bool = False
) -> list[OutboxRow]:
    """Add parts, in order. One that is there already stays as it is, and is given back while it is open.

    With `first_claimed` the first one is recorded as being sent: its attempt begins with this commit.
    """
    added = []
    for index, part in enumerate(parts):
        claimed = first_claimed and index == 0
        row = OutboxRow(
            id=0,
            tenant=tenant,
            cause=part.cause,
            part=part.part,
            op=part.op,
            action=part.action,
            address=part.address,
            rendered=part.rendered,
            plain=part.plain,
            idem_key=idem_key(part.cause, part.part, part.op),
            state=State.SENDING if claimed else State.READY,
            attempts=1 if claimed else 0,
            target=part.target,
            reply_to=part.reply_to,
            secret_ref=part.secret_ref,
            answers=part.answers,
            buttons=part.buttons,
            media=part.media,
            created_at=now,
        )
        id_ = connection.execute(insert_new(connection, outbox).returning(outbox.c.id), _values(row)).scalar()
        added += _still_open(connection, part) if id_ is None else [_with_id(row, id_)]
    return added


def _still_open(connection: sa.Connection, part: NewPart) -> list[OutboxRow]:
    same = (outbox.c.cause == part.cause, outbox.c.part == part.part, outbox.c.op == part.op)
    return _read(connection.execute(sa.select(outbox).where(*same, IS_OPEN)))


def _values(row: OutboxRow) -> dict[str, object]:
    return {
        "tenant_id": row.tenant,
        "cause": row.cause,
        "part": row.part,
        "op": row.op,
        "action": row.action,
        "lane": row.address.lane,
        "channel": row.address.channel,
        "account": row.address.account,
        "chat": row.address.chat,
        "thread": row.address.thread,
        "target": row.target,
        "reply_to": row.reply_to,
        "rendered": row.rendered.text,
        "markup": row.rendered.markup,
        "plain": row.plain,
        "secret_ref": row.secret_ref,
        "answers": row.answers,
        "buttons": _BUTTONS.dump_json(row.buttons).decode() if row.buttons else None,
        "media": _MEDIA.dump_json(row.media).decode() if row.media else None,
        "idem_key": row.idem_key,
        "state": row.state,
        "not_before": None,
        "attempts": row.attempts,
        "marked": row.marked,
        "created_at": row.created_at,
    }


def _with_id(row: OutboxRow, id_: int) -> OutboxRow:
    return OutboxRow(id_, *(getattr(row, name) for name in OutboxRow.__slots__[1:]))


def _read(result: Iterable[sa.Row[tuple[object, ...]]]) -> list[OutboxRow]:
    return [
        OutboxRow(
            id=row.id,
            tenant=row.tenant_id,
            cause=row.cause,
            part=row.part,
            op=row.op,
            action=Action(row.action),
            address=Address(row.channel, row.account, row.chat, row.thread),
            rendered=Rendered(row.rendered, row.markup),
            plain=row.plain,
            idem_key=row.idem_key,
            state=State(row.state),
            attempts=row.attempts,
            marked=row.marked,
            target=row.target,
            reply_to=row.reply_to,
            secret_ref=row.secret_ref,
            answers=row.answers,
            buttons=_BUTTONS.validate_json(row.buttons) if row.buttons else (),
            media=_MEDIA.validate_json(row.media) if row.media else (),
            not_before=row.not_before,
            created_at=row.created_at,
        )
        for row in result
    ]


def open_parts(connection: sa.Connection, lane: str, after_id: int, limit: int) -> list[OutboxRow]:
    """What a lane still has to say, in order."""
    return _read(
        connection.execute(
            sa.select(outbox)
            .where(outbox.c.lane == lane, IS_OPEN, outbox.c.id > after_id)
            .order_by(outbox.c.id)
            .limit(limit)
        )
    )


def open_count(connection: sa.Connection) -> int:
    """How many parts have no end yet."""
    return int(connection.execute(sa.select(sa.func.count()).where(IS_OPEN)).scalar_one())


def depths(connection: sa.Connection) -> dict[str, int]:
    """How many parts stand in each state that somebody may have to do with, for `tenk status`; those are never many."""
    counted = sa.select(outbox.c.state, sa.func.count().label("parts")).group_by(outbox.c.state)
    found = {row.state: row.parts for where in (IS_OPEN, IS_FAILED) for row in connection.execute(counted.where(where))}
    return {state: found[state] for state in map(str, State) if state in found}
