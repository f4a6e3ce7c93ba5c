"""The channel `system`: a job hands an event to a session, in its own commit.

The event is an inbox row like any other: its turn answers in the chat of its address, joins the turn that runs there,
and is claimed once. The commit's news tell the sessions of this process; another process finds the row by itself.
"""

from dataclasses import dataclass, replace
from datetime import datetime

import sqlalchemy as sa

from channels.messages import Sender, SystemEvent
from gateway.store import chats
from gateway.store.inbox import InboxRow, NewRow, admit
from gateway.store.people import now_of
from gateway.store.writer import tell

SYSTEM = Sender("system", "system", is_bot=True)
"""The sender of the gateway's own events."""


@dataclass(frozen=True, slots=True)
class TurnsReleased:
    """News: these turns wait no more."""

    turn_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionStopped:
    """News: the turn that answers a row before this one was stopped."""

    tenant: str
    key: str
    before_id: int


def hand_over(
    connection: sa.Connection,
    event: SystemEvent,
    user_id: str,
    session_key: str,
    now: datetime,
    from_turn: str | None = None,
) -> InboxRow | None:
    """Admit an event to a session of a person; return None if an event of this id was admitted before.

    `from_turn` is the turn that sends it, in whose trace it is shown.

    It goes where the chat is now, if the chat has moved since its address was kept.
    """
    user_id = now_of(connection, user_id)
    address, session_key = chats.in_living_chat(connection, event.tenant, event.address, session_key)
    event = event if address == event.address else replace(event, address=address)
    id_ = admit(connection, NewRow(event, user_id, session_key, from_turn=from_turn), now)
    if id_ is None:
        return None
    row = InboxRow(id_, event.tenant, session_key, user_id, event, now)
    tell(connection, row)
    return row
