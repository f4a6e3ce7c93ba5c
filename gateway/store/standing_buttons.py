"""Buttons in chats: how long they stand, what takes them away, and which a channel has yet to remove.

A commit that overtakes buttons marks them as over; `gateway.delivery.button_closer` removes them from the message and
records that. What a killed process left marked is removed by the next one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from channels.messages import Address, Button
from gateway.store.causes import DueReply, Notice, QuestionOf, ReplyTo
from gateway.store.outbox import BUTTONS, PartState
from gateway.store.people import ids_of
from gateway.store.tables.traffic import inbox, outbox
from gateway.store.writer import tell

MOST_AT_ONCE = 200

GIVEN_UP_AFTER = timedelta(days=1)
"""Age of an end after which the buttons are left alone."""

OF_COMMANDS = (ReplyTo.kind, DueReply.kind, Notice.kind)

STANDS = outbox.c.buttons_until.is_not(None)


@dataclass(frozen=True, slots=True)
class OverButtons:
    """A message whose buttons are over and still shown."""

    id: int  # of its outbox row
    address: Address
    platform_id: str
    over_at: datetime


@dataclass(frozen=True, slots=True)
class StandingButtons:
    """The buttons under the last message of a chat."""

    id: int  # of its outbox row
    platform_id: str  # "": its receipt is not stored yet
    buttons: tuple[Button, ...]


@dataclass(frozen=True, slots=True)
class ButtonsOver:
    """News of a commit: these messages lose their buttons."""

    messages: tuple[OverButtons, ...]


def overtake(
    connection: sa.Connection, address: Address, user_id: str, now: datetime, *, replies_alone: bool = False
) -> None:
    """End what a person was offered in a chat or thread, because they have said something since there.

    With `replies_alone` only what replies of commands offered.
    """
    mine = [outbox.c.lane == address.lane, outbox.c.buttons_of.in_(ids_of(user_id))]
    mine.append(outbox.c.thread.is_(None) if address.thread is None else outbox.c.thread == address.thread)
    if replies_alone:
        mine.append(outbox.c.kind.in_((ReplyTo.kind, DueReply.kind)))
    _end(connection, sa.and_(*mine), now)


def end_question(connection: sa.Connection, turn_id: str, now: datetime) -> None:
    """End the question that a turn asked: it is settled."""
    _end(connection, sa.and_(outbox.c.kind == QuestionOf.kind, _is_of_turn(turn_id)), now)


def take(connection: sa.Connection, address: Address, data: str, now: datetime) -> bool:
    """End the message whose button was pressed; return False if it was over."""
    return _end(connection, sa.and_(outbox.c.lane == address.lane, _has(data)), now)


def find_standing(connection: sa.Connection, address: Address, data: str, now: datetime) -> Button | None:
    """Return the pressed button as it was kept with its message, or None if that is over."""
    mine = (STANDS, outbox.c.buttons_until > now, outbox.c.lane == address.lane, _has(data))
    rows = connection.execute(sa.select(outbox.c.buttons).where(*mine)).scalars()
    buttons = [button for row in rows for button in BUTTONS.validate_json(row)]
    return next((button for button in buttons if button.data.startswith(_subject(data))), None)


def last_said(connection: sa.Connection, address: Address, now: datetime) -> StandingButtons | None:
    """Return the buttons of the chat's last message, if they stand, are no turn's, and nothing was said since."""
    in_lane = outbox.c.lane == address.lane
    stands = (STANDS, outbox.c.buttons_until > now, in_lane)
    last = connection.execute(sa.select(outbox).where(*stands).order_by(outbox.c.id.desc()).limit(1)).first()
    if last is None or last.kind not in OF_COMMANDS or last.thread != address.thread:
        return None
    later = sa.select(outbox.c.id).where(in_lane, outbox.c.id > last.id, outbox.c.op == 0)
    there = (inbox.c.channel == address.channel, inbox.c.account == address.account, inbox.c.chat == address.chat)
    heard = sa.select(inbox.c.id).where(*there, inbox.c.admitted_at > last.created_at)
    if any(connection.execute(query.limit(1)).first() is not None for query in (later, heard)):
        return None
    return StandingButtons(last.id, last.platform_id or "", BUTTONS.validate_json(last.buttons))


def is_over(connection: sa.Connection, turn_id: str, now: datetime) -> bool:
    """Return True if the buttons under a turn's answer are over; False if it has none."""
    mine = (outbox.c.buttons.is_not(None), _is_of_turn(turn_id))
    ends = list(connection.execute(sa.select(outbox.c.buttons_until).where(*mine)).scalars())
    return bool(ends) and all(end is None or end <= now for end in ends)


def list_over(connection: sa.Connection, now: datetime) -> Sequence[OverButtons]:
    """Return messages that still show buttons although these are over, the longest first."""
    over = (STANDS, outbox.c.buttons_until <= now, outbox.c.state == PartState.SENT)
    query = sa.select(outbox).where(*over).order_by(outbox.c.buttons_until).limit(MOST_AT_ONCE)
    return [_to_message(row) for row in connection.execute(query)]


def note_removed(connection: sa.Connection, ids: Sequence[int]) -> None:
    """Record that these messages show no buttons any more."""
    connection.execute(sa.update(outbox).where(outbox.c.id.in_(ids)).values(buttons_until=None))


def _end(connection: sa.Connection, which: sa.ColumnElement[bool], now: datetime) -> bool:
    """Mark standing buttons as over, and tell who removes them; return False if there are none."""
    query = sa.update(outbox).where(STANDS, outbox.c.buttons_until > now, which).values(buttons_until=now)
    rows = connection.execute(query.returning(*outbox.c)).all()
    if sent := tuple(_to_message(row) for row in rows if row.state == PartState.SENT and row.platform_id):
        tell(connection, ButtonsOver(sent))
    return bool(rows)


def _is_of_turn(turn_id: str) -> sa.ColumnElement[bool]:
    return sa.and_(outbox.c.cause >= turn_id, outbox.c.cause < f"{turn_id}/")  # also "turn.2", behind a wait


def _has(data: str) -> sa.ColumnElement[bool]:
    return outbox.c.buttons.contains(f'"{_subject(data)}', autoescape=True)


def _subject(data: str) -> str:
    """Return what a button is about, "word:subject:", without its end and its seal."""
    return "".join(f"{part}:" for part in data.split(":")[:2])


def _to_message(row: sa.Row[Any]) -> OverButtons:
    address = Address(row.channel, row.account, row.chat, row.thread)
    return OverButtons(row.id, address, row.platform_id or "", row.buttons_until)
