"""What an inbox row says about its answer: where it goes, what it replies to, whether it comes too late. Pure."""

from datetime import datetime, timedelta

from channels.messages import ChatKind, InboundMessage
from gateway.sessions.config import SessionsConfig
from gateway.store import inbox
from gateway.store.inbox import InboxRow
from gateway.store.journal import TurnRow
from gateway.store.tables.base import new_id


def missed(at: datetime, now: datetime, config: SessionsConfig) -> bool:
    """Whether what came in at `at` waited too long to be answered."""
    return now - at > timedelta(seconds=config.missed_after_s)


def missed_text(waited: timedelta) -> str:
    """What a person reads whose message waited too long."""
    hours = waited.total_seconds() / 3600
    return f"I was away for {hours:.0f} hours and missed what you wrote; please send it again."


def answering(row: InboxRow) -> int | None:
    """The row itself where it has its own way to be answered; None where the answer goes to the chat."""
    return row.id if inbox.route_of(row.event) is not None else None


def joins(row: InboxRow, turn: TurnRow) -> bool:
    """Whether a message may join a running turn: of its person, from where it answers, with no answer of its own."""
    return row.user_id == turn.user_id and row.event.address == turn.address and answering(row) is None


def message_id_of(row: InboxRow) -> str | None:
    """The platform's id of the message behind a row; None where it is none."""
    return row.event.message_id if isinstance(row.event, InboundMessage) else None


def new_turn(row: InboxRow, session_id: str, kind: str, now: datetime) -> TurnRow:
    """A turn that answers the row; in a group the answer is shown as a reply to it."""
    in_group = isinstance(row.event, InboundMessage) and row.event.kind is ChatKind.GROUP
    return TurnRow(
        id=new_id(),
        tenant=row.tenant,
        session_id=session_id,
        user_id=row.user_id,
        kind=kind,
        address=row.event.address,
        reply_to=message_id_of(row) if in_group else None,
        started_at=now,
    )
