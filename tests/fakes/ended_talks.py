"""Direct conversations whose turns have ended, as rows."""

from collections.abc import Sequence
from datetime import datetime

from agent.transcript import EndReason, Steered, TurnEnded, TurnStarted, UserItem
from channels.messages import Address
from gateway.store import journal
from gateway.store.engine import Connection, Store
from gateway.store.journal import TurnRow
from gateway.store.people import Newcomer, enrol
from gateway.store.tables.base import new_id
from tests.fakes.people import NOON

KEY = "agent:coach:telegram:main:direct:1"
CHAT = Address("telegram", "main", "1")


async def enrolled(store: Store, sender: str = "telegram:1") -> str:
    person = await store.commit(enrol, Newcomer("default", sender, "", sender, "member", "cli"), NOON)
    return person.user_id


def talk(
    connection: Connection,
    user_id: str,
    items: Sequence[UserItem | str],
    at: datetime = NOON,
    *,
    key: str = KEY,
    generation: int = 1,
    ended: bool = True,
) -> str:
    """Add a turn that began with these items; return its conversation's id."""
    session = journal.open_session(connection, "default", key, "steer", generation, at)
    turn = TurnRow(new_id(), "default", session.id, user_id, "chat", CHAT, None, at)
    journal.begin_turn(connection, turn)
    said = tuple(UserItem(each, None, at.isoformat()) if isinstance(each, str) else each for each in items)
    added = [TurnStarted(said[:1]), *([Steered(0, said[1:])] if said[1:] else [])]
    over = [TurnEnded(EndReason.COMPLETED, "Fine.")] if ended else []
    journal.append(connection, turn, journal.next_seq(connection, session.id), [*added, *over], at)
    if ended:
        journal.end_turn(connection, turn.id, EndReason.COMPLETED, at)
    return session.id
