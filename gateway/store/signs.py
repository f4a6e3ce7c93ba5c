"""The sign that a person's message carries, or is owed, is kept with its row: a start after a death puts it right.

Plain functions over a connection. `gateway.sessions.signs` decides what is shown when.
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
import structlog

from channels.base import Sign
from channels.messages import INBOUND_EVENT, Address
from gateway.store.engine import Connection, Store
from gateway.store.tables.traffic import inbox

log = structlog.get_logger()

MOST = 5_000
"""Signs that are put right at a start; more people than that do not look."""


@dataclass(frozen=True, slots=True)
class SignedRow:
    """A message with the sign it had, or was to have, when the process died."""

    id: int
    address: Address
    message_id: str
    sign: Sign | None  # what it is to carry now; None: nothing any more
    waits: bool  # no turn has it, and none ended it


def keep(store: Store, job: Callable[[Connection], None], then: Callable[[], None] | None = None) -> None:
    """Queue it, and go on when it is kept: nobody waits for a sign, and where it fails only that is lost."""
    store.write(job, None if then is None else lambda _: then()).add_done_callback(_look_at_error)


def _look_at_error(written: asyncio.Future[None]) -> None:
    if not written.cancelled() and (error := written.exception()) is not None:
        log.warning("sign_not_kept", error=str(error))


def put(connection: sa.Connection, ids: Collection[int], sign: Sign | None) -> None:
    """These messages carry this sign from now on; None: none, and it was taken away."""
    connection.execute(sa.update(inbox).where(inbox.c.id.in_(ids)).values(sign=sign))


def put_on(connection: sa.Connection, address: Address, message_id: str, sign: Sign | None) -> None:
    """As `put`, for a message that is being answered, by its platform's id."""
    here = inbox.c.channel == address.channel, inbox.c.account == address.account, inbox.c.chat == address.chat
    connection.execute(sa.update(inbox).where(*here, inbox.c.message_id == message_id).values(sign=sign))


def take_over(connection: sa.Connection, since: datetime, shards: Collection[int] | None = None) -> list[SignedRow]:
    """What every message is to carry that had a sign; only the waiting ones are remembered as signed from here on.

    What waits keeps its sign, what was taken or refused since then has it again, all others lose it. With `shards` it
    is about the rows of these alone.
    """
    which: sa.ColumnElement[bool] = inbox.c.sign.is_not(None)
    if shards is not None:
        which = sa.and_(which, inbox.c.shard.in_(shards))
    first = inbox.alias("first")
    joined = sa.exists().where(first.c.turn_id == inbox.c.turn_id, first.c.id < inbox.c.id).correlate(inbox)
    found = connection.execute(
        sa.select(
            inbox.c.id, inbox.c.channel, inbox.c.account, inbox.c.chat, inbox.c.message_id, inbox.c.payload,
            inbox.c.sign, inbox.c.turn_id, inbox.c.outcome, inbox.c.done_at, joined.label("joined"),
        )
        .where(which)
        .order_by((inbox.c.id + 0).desc())  # so that SQLite takes the index of the few, not the table from its end
        .limit(MOST)
    ).all()  # fmt: skip
    rows = []
    for row in found:
        waits = row.outcome is None and row.turn_id is None
        lately = row.done_at is None or row.done_at >= since
        wanted = _to_carry(Sign(row.sign), waits=waits, joined=bool(row.joined))
        if row.message_id and (lately or wanted is None):
            rows.append(
                SignedRow(
                    row.id, _address(row.payload, row.channel, row.account, row.chat), row.message_id, wanted, waits
                )
            )
    kept = [row.id for row in rows if row.waits]
    connection.execute(sa.update(inbox).where(which, inbox.c.id.not_in(kept)).values(sign=None))
    return rows


def _to_carry(sign: Sign, *, waits: bool, joined: bool) -> Sign | None:
    if sign in {Sign.STEERED, Sign.REFUSED} or (sign is Sign.QUEUED and waits):
        return sign
    return Sign.STEERED if sign is Sign.QUEUED and joined else None


def _address(payload: str, channel: str, account: str, chat: str) -> Address:
    """Where it was said; of a refused one the thread is not known any more."""
    try:
        return INBOUND_EVENT.validate_json(payload).address
    except ValueError:
        return Address(channel, account, chat)
