"""Chats that go on under another id (a Telegram group became a supergroup): what is kept about them moves along.

Plain functions over a connection. Moving twice changes nothing more.
"""

from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa

from channels.messages import Address
from gateway.store.dialect import insert_new
from gateway.store.outbox import IS_OPEN
from gateway.store.tables.traffic import moved_chats, outbox, parked_lanes
from gateway.store.tables.turns import sessions


def move_chat(connection: sa.Connection, tenant: str, old: Address, new_chat: str, now: datetime) -> None:
    """Send to the new chat what still waits for the old one, and go on with its conversations there."""
    new = replace(old, chat=new_chat)
    row = {
        "tenant_id": tenant,
        "channel": old.channel,
        "account": old.account,
        "old_chat": old.chat,
        "new_chat": new_chat,
        "moved_at": now,
    }
    connection.execute(insert_new(connection, moved_chats), row)
    waiting = sa.update(outbox).where(outbox.c.lane == old.lane, IS_OPEN)
    connection.execute(waiting.values(lane=new.lane, chat=new_chat))
    connection.execute(sa.delete(parked_lanes).where(parked_lanes.c.lane == old.lane))


def move_sessions(connection: sa.Connection, tenant: str, old_key: str, new_key: str) -> None:
    """Rename a chat's conversations, its threads' too; where the new name has one already, both stay."""
    of_chat = sa.or_(sessions.c.key == old_key, sessions.c.key.startswith(f"{old_key}:thread:", autoescape=True))
    for id_, key, generation in connection.execute(
        sa.select(sessions.c.id, sessions.c.key, sessions.c.generation).where(sessions.c.tenant_id == tenant, of_chat)
    ).all():
        renamed = new_key + key[len(old_key) :]
        taken = sa.select(sessions.c.id).where(
            sessions.c.tenant_id == tenant, sessions.c.key == renamed, sessions.c.generation == generation
        )
        if connection.execute(taken).first() is None:
            connection.execute(sa.update(sessions).where(sessions.c.id == id_).values(key=renamed))


def load_moves(connection: sa.Connection) -> list[tuple[str, str, str]]:
    """(channel, old chat, new chat) of every move, oldest first. A system query."""
    columns = (moved_chats.c.channel, moved_chats.c.old_chat, moved_chats.c.new_chat)
    return [tuple(row) for row in connection.execute(sa.select(*columns).order_by(moved_chats.c.moved_at))]
