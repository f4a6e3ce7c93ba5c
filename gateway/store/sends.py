"""Attempts change outbox rows: sending, sent, put back, given up; what an unfinished answer left in its chat.

Plain functions over a connection. Which state follows which attempt is decided in `gateway.delivery`.
"""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from channels.messages import Address, Rendered
from gateway.store.dialect import HotStatement
from gateway.store.outbox import IS_FAILED, IS_OPEN, OPEN, Action, OutboxPart, OutboxRow, PartState
from gateway.store.tables.traffic import outbox

_sent = HotStatement(
    sa.update(outbox)
    .where(outbox.c.id == sa.bindparam("b_id"))
    .values(state=PartState.SENT, platform_id=sa.bindparam("b_platform_id"), done_at=sa.bindparam("b_now"), error=None)
)
_mark = HotStatement(
    sa.update(outbox)
    .where(outbox.c.id == sa.bindparam("b_id"), IS_OPEN)
    .values(state=PartState.SENDING, action=sa.bindparam("b_action"), attempts=outbox.c.attempts + 1)
)


def mark_sending(connection: sa.Connection, id_: int, action: Action) -> bool:
    """Persist the attempt that is about to be made, and what it is: an edit may be repeated, a send not.

    Return False if the row is done already.
    """
    return _mark.count(connection, {"b_id": id_, "b_action": action}) > 0


def record_sent(connection: sa.Connection, id_: int, platform_id: str, now: datetime) -> None:
    """Record the receipt."""
    _sent.count(connection, {"b_id": id_, "b_platform_id": platform_id, "b_now": now})


_put_back = HotStatement(
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
    _put_back.count(
        connection,
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


def dead_letter_rest(connection: sa.Connection, source_id: str, after_id: int, reason: str, now: datetime) -> int:
    """Give up the parts of a reply behind a refused one; how many there were."""
    done = connection.execute(
        sa.update(outbox)
        .where(outbox.c.cause == source_id, outbox.c.id > after_id, IS_OPEN)
        .values(state=PartState.DEAD, error=f"an earlier part was refused: {reason}", done_at=now)
    )
    return done.rowcount


def redrive(connection: sa.Connection, tenant: str, id_: int) -> Address | None:
    """Put a failed part back to be said; where it goes, None where it is not failed. What may be there is marked."""
    query = sa.update(outbox).where(outbox.c.id == id_, outbox.c.tenant_id == tenant, IS_FAILED)
    row = connection.execute(
        query.values(
            state=PartState.READY,
            marked=sa.or_(outbox.c.marked, outbox.c.state == PartState.UNKNOWN),
            not_before=None,
            error=None,
            done_at=None,
        ).returning(outbox.c.channel, outbox.c.account, outbox.c.chat, outbox.c.thread)
    ).first()
    return None if row is None else Address(*row)


def discard(connection: sa.Connection, tenant: str, id_: int, now: datetime) -> bool:
    """Give a failed part up for good; False where it is not failed."""
    query = sa.update(outbox).where(outbox.c.id == id_, outbox.c.tenant_id == tenant, IS_FAILED)
    return connection.execute(query.values(state=PartState.DISCARDED, done_at=now)).rowcount == 1


@dataclass(frozen=True, slots=True)
class RecoveredPart:
    """What an unfinished answer has in its chat for one part, from an earlier life of the process."""

    next_revision: int  # of what is to be done with it
    platform_id: str | None  # None: it was not sent, or nobody knows
    rendered: Rendered | None  # what it was told to say for good; None: a placeholder yet


def recovered_parts(connection: sa.Connection, turn_id: str) -> list[RecoveredPart]:
    """The parts of a turn's answer that the live answer began, in order."""
    columns = (outbox.c.part, outbox.c.op, outbox.c.action, outbox.c.rendered, outbox.c.markup, outbox.c.platform_id)
    query = sa.select(*columns).where(outbox.c.cause == turn_id).order_by(outbox.c.part, outbox.c.op)
    found: dict[int, RecoveredPart] = {}
    for row in connection.execute(query):
        before = found.get(row.part)
        said = None if row.action == Action.PLACEHOLDER else Rendered(row.rendered, row.markup)
        platform_id = row.platform_id or (before.platform_id if before is not None else None)
        found[row.part] = RecoveredPart(row.op + 1, platform_id, said)
    return list(found.values())


def standing_id(connection: sa.Connection, part: OutboxPart) -> str | None:
    """The platform's id of the message that the revisions before this one left standing; None where none arrived."""
    return connection.execute(
        sa.select(outbox.c.platform_id)
        .where(
            outbox.c.cause == part.source_id, outbox.c.part == part.number, outbox.c.op < part.revision,
            outbox.c.state == PartState.SENT, outbox.c.platform_id.is_not(None),
        )
        .order_by(outbox.c.op.desc())
        .limit(1)
    ).scalar()  # fmt: skip
