"""Messages found by their platform's id, for an edit, a deletion or a reply.

The router decides what an edit may do. Messages that were deleted are not found. A deletion ends the turn that answers
nothing else.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa
from pydantic import ValidationError

from agent.consent import Consent
from agent.transcript import JournalEvent
from channels.messages import INBOUND_EVENT, InboundMessage, MessageDeleted, Quoted, QuoteKind, to_quoted
from gateway.store import approvals, journal
from gateway.store.inbox import InboxRow, Outcome, settle
from gateway.store.tables.traffic import inbox


def replied_to(connection: sa.Connection, reply: InboundMessage) -> Quoted | None:
    """Return the message that this one replies to, as it reads since its last edit; None if it is unknown, empty or
    gone.
    """
    address = reply.address
    payload = connection.execute(
        sa.select(inbox.c.payload)
        .where(
            inbox.c.tenant_id == reply.tenant,
            inbox.c.channel == address.channel,
            inbox.c.account == address.account,
            inbox.c.chat == address.chat,
            inbox.c.message_id == reply.reply_to,
            inbox.c.kind.in_(("message", "delete")),
        )
        .order_by(inbox.c.id.desc())
        .limit(1)
    ).scalar()
    try:
        event = INBOUND_EVENT.validate_json(payload or "")
    except ValidationError:  # none, or one whose words were blanked
        return None
    if not isinstance(event, InboundMessage):
        return None
    author = event.forwarded_from if event.forwarded else event.sender.display_name
    return next(iter(to_quoted(QuoteKind.REPLY, event.text, author)), None)


@dataclass(frozen=True, slots=True)
class Original:
    """The row of the message that an edit is about."""

    id: int
    turn_id: str | None
    outcome: str | None
    done_at: datetime | None


def original_of(connection: sa.Connection, row: InboxRow) -> Original | None:
    """Return the row that stands for a message in the same chat, from the same sender.

    A waiting row comes first, then one that is being answered, then the message itself. An edit that came too late for
    its message is a row of its own, and may wait.
    """
    found = connection.execute(
        sa.select(inbox.c.id, inbox.c.turn_id, inbox.c.outcome, inbox.c.done_at)
        .where(*_its_rows(row))
        .order_by(inbox.c.outcome.is_not(None), inbox.c.turn_id.is_not(None), inbox.c.id)
        .limit(1)
    ).first()
    return None if found is None else Original(*found)


def is_changed(connection: sa.Connection, row: InboxRow) -> bool:
    """Return True if an edit has other words than its message has since its last edit, or they are not kept."""
    query = sa.select(inbox.c.payload).where(*_its_rows(row)).order_by(inbox.c.id.desc()).limit(1)
    try:
        said = INBOUND_EVENT.validate_json(connection.execute(query).scalar() or "")
    except ValidationError:
        return True
    return not (isinstance(said, InboundMessage) and getattr(row.event, "text", "") == said.text)


def session_of(connection: sa.Connection, event: InboundMessage) -> str | None:
    """Return the session of the message that this edit is about; None: it was never admitted to one."""
    address = event.address
    query = sa.select(inbox.c.session_key).where(
        inbox.c.channel == address.channel,
        inbox.c.account == address.account,
        inbox.c.chat == address.chat,
        inbox.c.sender == event.sender_key,
        inbox.c.message_id == event.message_id,
        inbox.c.session_key.is_not(None),
    )
    found: str | None = connection.execute(query.order_by(inbox.c.id.desc()).limit(1)).scalar()
    return found


def replace(connection: sa.Connection, original_id: int, edit: InboxRow, now: datetime) -> bool:
    """Replace a message that no turn has claimed by its edit; return False if a turn has it."""
    if not isinstance(edit.event, InboundMessage):
        raise TypeError("only an edited message replaces another")
    changed = connection.execute(
        sa.update(inbox)
        .where(inbox.c.id == original_id, inbox.c.outcome.is_(None), inbox.c.turn_id.is_(None))
        .values(payload=INBOUND_EVENT.dump_json(edit.event).decode())
    )
    if changed.rowcount == 0:
        return False
    settle(connection, edit.id, Outcome.REPLACED, now)
    return True


@dataclass(slots=True)
class TakenBack:
    """The rows and turns that a deletion has ended, to be announced after its commit."""

    waiting: list[tuple[str, int]] = field(default_factory=list)  # rows that wait no more, each with its session's key
    stopped: list[tuple[str, int]] = field(default_factory=list)  # the first row of each turn that is to end
    unparked: list[str] = field(default_factory=list)  # turns that wait for no word any more


HasChanged = Callable[[Iterable[JournalEvent]], bool]
"""Returns True if a turn with this journal may have changed anything."""


def take_back(connection: sa.Connection, row: InboxRow, now: datetime, has_changed: HasChanged) -> TakenBack:
    """End a message that its sender has deleted, unless it is answered already.

    Its turn ends if it answers nothing else, unless it has changed something: then its person is to read that.
    """
    taken, gone = TakenBack(), _its_rows(row)
    query = sa.select(inbox.c.id, inbox.c.session_key, inbox.c.turn_id).where(*gone, inbox.c.outcome.is_(None))
    found = connection.execute(query.order_by(inbox.c.id)).all()
    for id_, key, turn_id in found:
        if turn_id is None:
            settle(connection, id_, Outcome.CLEARED, now, DELETED)
            taken.waiting.append((key, id_))
    for turn_id in {each.turn_id for each in found} - {None}:
        _end_turn(connection, row, turn_id, now, has_changed, taken)
    settle(connection, row.id, Outcome.CONTEXT, now, "a deletion")
    return taken


DELETED = "deleted by its sender"


def _end_turn(
    connection: sa.Connection, row: InboxRow, turn_id: str, now: datetime, has_changed: HasChanged, taken: TakenBack
) -> None:
    of_turn = sa.select(inbox.c.id, inbox.c.session_key, inbox.c.message_id, inbox.c.outcome)
    rows = connection.execute(of_turn.where(inbox.c.turn_id == turn_id).order_by(inbox.c.id)).all()
    said = {each.message_id for each in rows}
    deleted = sa.select(inbox.c.message_id).where(*_there(row), inbox.c.message_id.in_(said), inbox.c.kind == "delete")
    still = said - set(connection.execute(deleted.where(inbox.c.id <= row.id)).scalars())
    if still or has_changed(journal.events_of_turn(connection, turn_id)):
        return
    for each in rows:
        settle(connection, each.id, Outcome.CLEARED, now, DELETED)  # a crash must not let it go on
    waits = approvals.pending(connection, turn_id)
    if waits is not None and approvals.settle(connection, waits, Consent.WITHDRAWN, now):
        taken.unparked.append(turn_id)
    taken.stopped.append((rows[0].session_key, rows[0].id))


def _there(row: InboxRow) -> tuple[sa.ColumnElement[bool], ...]:
    """Rows of the same sender in the same chat."""
    address = row.event.address
    return (
        inbox.c.channel == address.channel,
        inbox.c.account == address.account,
        inbox.c.chat == address.chat,
        inbox.c.sender == row.event.sender_key,
    )


def _its_rows(row: InboxRow) -> tuple[sa.ColumnElement[bool], ...]:
    """Those of the message that an edit or a deletion is about: as it was said first, and as it was edited since."""
    event = row.event
    if not isinstance(event, InboundMessage | MessageDeleted):
        raise TypeError("only an edit or a deletion is about an earlier message")
    return (*_there(row), inbox.c.message_id == event.message_id, inbox.c.id < row.id)
