"""A group that goes on under another id is one conversation under either key, on every engine."""

from dataclasses import replace
from functools import partial

import sqlalchemy as sa

from channels.messages import Address, SystemEvent
from gateway.store import chats, inbox
from gateway.store.engine import Connection, Store
from gateway.store.handover import SYSTEM, hand_over
from gateway.store.inbox import InboxRow
from gateway.store.journal import open_session, shard_of
from gateway.store.tables.traffic import inbox as inbox_table
from gateway.store.tables.turns import sessions
from tests.fakes.people import NOON

GROUP = Address("telegram", "main", "-5", None)
OLD, NEW, NEWEST = (f"agent:coach:telegram:main:group:{chat}" for chat in ("-5", "-100", "-200"))


def a_task_ended(event_id: str, address: Address = GROUP) -> SystemEvent:
    return SystemEvent(
        event_id=event_id,
        address=address,
        sender=SYSTEM,
        received_at=NOON,
        tenant="default",
        name="task_ended",
        arguments="",
        turn="chat",
    )


def move(connection: Connection, chat: str, old: str, new_chat: str, new: str) -> None:
    chats.move_chat(connection, "default", replace(GROUP, chat=chat), new_chat, NOON)
    chats.move_sessions(connection, "default", old, new)


async def hand(store: Store, event_id: str, key: str, address: Address = GROUP) -> InboxRow:
    row = await store.commit(hand_over, a_task_ended(event_id, address), "u1", key, NOON)
    assert row is not None
    return row


async def test_an_event_for_an_earlier_id_of_a_group_goes_where_the_group_is_now(store: Store) -> None:
    await store.commit(open_session, "default", OLD, "steer", 1, NOON)
    before = await hand(store, "before", f"{OLD}:thread:7")
    await store.commit(move, "-5", OLD, "-100", NEW)
    await store.commit(move, "-100", NEW, "-200", NEWEST)
    waiting = await store.read(lambda c: c.execute(sa.select(inbox_table.c.session_key, inbox_table.c.shard)).all())
    moved_key = f"{NEWEST}:thread:7"
    assert [(moved_key, shard_of(moved_key))] == [tuple(row) for row in waiting]
    after = await hand(store, "after", f"{OLD}:subagent:look")
    assert (f"{NEWEST}:subagent:look", "-200") == (after.session_key, after.event.address.chat)
    kept = await store.read(partial(inbox.waiting, after_id=before.id, limit=5))
    assert [(after.session_key, after.event)] == [(row.session_key, row.event) for row in kept]
    assert [NEWEST] == list(await store.read(lambda c: c.execute(sa.select(sessions.c.key)).scalars().all()))


async def test_a_direct_chat_never_moves(store: Store) -> None:
    await store.commit(move, "-5", OLD, "-100", NEW)
    direct = "agent:coach:telegram:main:direct:-5"
    row = await hand(store, "direct", direct)
    assert (direct, GROUP) == (row.session_key, row.event.address)
