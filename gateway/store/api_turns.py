"""Questions asked over the API, and their turns and answers, read from the store.

Plain functions over a connection; nothing changes here. The chat of a row holds the id of the key that asked.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from agent.transcript import JournalEvent
from channels.messages import INBOUND_EVENT, Address, InboundMessage
from gateway.store import approvals
from gateway.store.approvals import WORD_FOR, Approval
from gateway.store.children import asking_turns
from gateway.store.journal import events_of_turn
from gateway.store.outbox import Action
from gateway.store.tables.traffic import REDACTED, chats, inbox, outbox
from gateway.store.tables.turns import turns, usage


@dataclass(frozen=True, slots=True)
class TokenSums:
    """Tokens of one turn; None if they were not counted."""

    input_tokens: int | None
    output_tokens: int | None
    cost_microusd: int | None = None  # None: of a call nobody knows it


@dataclass(frozen=True, slots=True)
class AskedRow:
    """One thing a program said, as it stands now."""

    id: int
    message_id: str
    outcome: str | None
    detail: str | None
    turn_id: str | None  # that answers it; of a typed word for a question the one that goes on with it
    admitted_at: datetime
    done_at: datetime | None
    text: str | None  # None: not kept any more
    for_question: bool  # it is a typed word for a question


@dataclass(frozen=True, slots=True)
class AskedTurn:
    """It with what came of it."""

    row: AskedRow
    end_reason: str | None = None  # of its turn; None: it runs, or there is none
    question: Approval | None = None  # it waits for its person's word
    events: tuple[JournalEvent, ...] = ()
    said: tuple[str, ...] = ()  # as plain text, in order, placeholders left out
    tokens: TokenSums = TokenSums(None, None)


_columns = (
    inbox.c.id,
    inbox.c.message_id,
    inbox.c.outcome,
    inbox.c.detail,
    inbox.c.turn_id,
    inbox.c.admitted_at,
    inbox.c.done_at,
    inbox.c.payload,
)


def _of(address: Address) -> sa.ColumnElement[bool]:
    return sa.and_(inbox.c.channel == address.channel, inbox.c.account == address.account, inbox.c.chat == address.chat)


def event_id_of(address: Address, message_id: str) -> str:
    """Return the id of the event that brings a message: the same also if the message is taken for a press."""
    return f"msg:{address.chat}/{message_id}"


def find_asked(connection: sa.Connection, address: Address, message_id: str) -> tuple[AskedRow | None, int]:
    """Return the newest row of this message, and how many there are: a question over a limit may be asked again."""
    is_it = sa.or_(inbox.c.message_id == message_id, inbox.c.event_id == event_id_of(address, message_id))
    query = sa.select(*_columns).where(_of(address), is_it)
    rows = connection.execute(query.order_by(inbox.c.id.desc()).limit(100)).all()
    return (_to_asked_row(rows[0]) if rows else None), len(rows)


def load_turn(connection: sa.Connection, address: Address, message_id: str, *, brief: bool = False) -> AskedTurn | None:
    """Return a question with its turn and answer; None if it was not asked. `brief` omits what is not finished."""
    row, _ = find_asked(connection, address, message_id)
    return None if row is None else _with_turn(connection, row, brief=brief)


def load_turns(connection: sa.Connection, address: Address, prefix: str, limit: int) -> list[AskedTurn]:
    """Return the questions whose message ids begin with this prefix, newest first."""
    query = sa.select(*_columns).where(_of(address), inbox.c.message_id.startswith(prefix, autoescape=True))
    rows = connection.execute(query.order_by(inbox.c.id.desc()).limit(limit)).all()
    return [_with_turn(connection, _to_asked_row(row)) for row in rows]


def last_texts(connection: sa.Connection, address: Address, limit: int) -> list[str]:
    """Return what a person said last, in all their sessions, newest first."""
    rows = connection.execute(sa.select(*_columns).where(_of(address)).order_by(inbox.c.id.desc()).limit(limit))
    return [text for row in rows if (text := _to_asked_row(row).text)]


def _to_asked_row(row: Any) -> AskedRow:
    text = None
    if row.payload and row.payload != REDACTED:
        event = INBOUND_EVENT.validate_json(row.payload)
        text = event.text if isinstance(event, InboundMessage) else None
    detail = row.detail or ""
    for_question = detail.startswith(WORD_FOR)
    return AskedRow(
        row.id,
        row.message_id or "",
        row.outcome,
        row.detail,
        detail.removeprefix(WORD_FOR) if for_question else row.turn_id,
        row.admitted_at,
        row.done_at,
        text,
        for_question,
    )


def _with_turn(connection: sa.Connection, row: AskedRow, *, brief: bool = False) -> AskedTurn:
    if row.turn_id is None:
        if brief and row.outcome is None:
            return AskedTurn(row)
        return AskedTurn(row, said=_texts_of(connection, outbox.c.cause == f"inbox:{row.id}"))
    turn = connection.execute(sa.select(turns).where(turns.c.id == row.turn_id)).first()
    if brief and turn is not None and turn.end_reason is None and turn.parked_at is None:
        return AskedTurn(row)
    is_parked = turn is not None and turn.parked_at is not None
    asking = asking_turns(connection, row.turn_id) if is_parked else []
    causes = sa.or_(
        outbox.c.cause.in_([row.turn_id, *asking]),
        outbox.c.cause.startswith(f"{row.turn_id}."),
        outbox.c.cause == f"inbox:{row.id}",
    )
    all_priced = sa.func.count() == sa.func.count(usage.c.cost_microusd)
    counted = sa.select(
        sa.func.sum(usage.c.input_tokens),
        sa.func.sum(usage.c.output_tokens),
        sa.case((all_priced, sa.func.sum(usage.c.cost_microusd))),
    )
    tokens = connection.execute(counted.where(usage.c.turn_id == row.turn_id)).one()
    return AskedTurn(
        row,
        None if turn is None else turn.end_reason,
        approvals.pending(connection, asking[0]) if asking else None,
        events_of_turn(connection, row.turn_id),
        _texts_of(connection, causes),
        TokenSums(*(None if count is None else int(count) for count in tokens)),
    )


def _texts_of(connection: sa.Connection, which: sa.ColumnElement[bool]) -> tuple[str, ...]:
    query = sa.select(outbox.c.plain).where(which, outbox.c.action != Action.PLACEHOLDER, outbox.c.secret_ref.is_(None))
    return tuple(connection.execute(query.order_by(outbox.c.id)).scalars())


@dataclass(frozen=True, slots=True)
class HeardSession:
    """A conversation of one person over the API."""

    session: str
    heard_at: datetime  # within an hour


def own_sessions(connection: sa.Connection, address: Address, limit: int) -> list[HeardSession]:
    """Return the conversations of one of a key's people, the last active first."""
    query = sa.select(chats.c.thread, chats.c.heard_at).where(
        chats.c.channel == address.channel, chats.c.account == address.account, chats.c.chat == address.chat
    )
    found = connection.execute(query.order_by(chats.c.heard_at.desc(), chats.c.thread).limit(limit))
    return [HeardSession(row.thread, row.heard_at) for row in found if row.thread]
