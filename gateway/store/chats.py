"""Keeps how far an account was read, and where people who are let in talk: a channel reads that back after a gap.

A chat may go on under another id (a Telegram group became a supergroup): what is kept about it moves along.

Plain functions over a connection. Strangers leave nothing here.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import sqlalchemy as sa

from channels.base import KnownChat
from channels.messages import Address
from gateway.store.dialect import insert_new, upsert
from gateway.store.journal import shard_of
from gateway.store.outbox import IS_OPEN
from gateway.store.people import REVOKED, ids_of
from gateway.store.tables.people import grants, identities, tickets, users
from gateway.store.tables.traffic import channel_accounts, chats, inbox, moved_chats, outbox, parked_lanes
from gateway.store.tables.turns import sessions

MOST_MOVES = 5
"""Maximum moves of one chat that are followed."""

NOTED_FOR = timedelta(hours=1)
"""The time in which a chat is not noted again, so that most messages cost no statement."""


def _connection_name(account: str, number: int) -> str:
    """Under which name a resume point is kept: an account's first connection has the account's, which has no slash."""
    return f"{account}/{number}" if number else account


def cursor_of(connection: sa.Connection, channel: str, account: str, number: int = 0) -> str | None:
    """Return the committed resume point of one connection of a channel account."""
    return cursors_of(connection, channel, account).get(number)


def cursors_of(connection: sa.Connection, channel: str, account: str) -> dict[int, str]:
    """Return the committed resume points of all connections of an account, by their numbers."""
    row = channel_accounts.c
    own = row.account == account, row.account.startswith(f"{account}/", autoescape=True)
    query = sa.select(row.account, row.cursor).where(row.channel == channel, sa.or_(*own), row.cursor.is_not(None))
    return {int(name.partition("/")[2] or 0): cursor for name, cursor in connection.execute(query)}


def move_cursor(
    connection: sa.Connection,
    tenant: str,
    channel: str,
    account: str,
    cursor: str | None,
    now: datetime,
    number: int = 0,
) -> None:
    """Commit how far a channel account has read, by one of its connections; None: there is no such one any more."""
    name = _connection_name(account, number)
    moved = {"tenant_id": tenant, "channel": channel, "account": name, "cursor": cursor, "last_heard_at": now}
    connection.execute(upsert(connection, channel_accounts, ("cursor", "last_heard_at")), moved)


def set_cursors(
    connection: sa.Connection,
    tenant: str,
    channel: str,
    account: str,
    cursors: Mapping[int, str | None],
    now: datetime,
) -> None:
    """Set resume points of an account's connections; None forgets one."""
    for number, cursor in cursors.items():
        move_cursor(connection, tenant, channel, account, cursor, now, number)


def note(connection: sa.Connection, tenant: str, where: Address, user_id: str, now: datetime, *, direct: bool) -> None:
    """Note that a person with access wrote in this chat."""
    connection.execute(
        upsert(connection, chats, ["user_id", "heard_at"]),
        {
            "tenant_id": tenant,
            "channel": where.channel,
            "account": where.account,
            "chat": where.chat,
            "thread": where.thread or "",
            "direct": direct,
            "user_id": user_id,
            "heard_at": now,
        },
    )


def of_account(connection: sa.Connection, channel: str, account: str) -> list[KnownChat]:
    """Return the chats and threads of an account, the last active first, without those of blocked people.

    A person who was let in and has said nothing since is found where they asked for access.
    """
    heard = connection.execute(
        sa.select(chats.c.chat, chats.c.thread, chats.c.direct, chats.c.heard_at)
        .join(users, users.c.id == chats.c.user_id)
        .where(chats.c.channel == channel, chats.c.account == account, users.c.role != "blocked")
        .order_by(chats.c.heard_at.desc(), chats.c.chat, chats.c.thread)
    )
    found = [KnownChat(chat, thread or None, direct, heard_at) for chat, thread, direct, heard_at in heard]
    there = {chat.chat for chat in found if chat.direct}
    asked = connection.execute(_let_in(channel, account)).scalars()
    return found + [KnownChat(chat, None, direct=True) for chat in dict.fromkeys(asked) if chat not in there]


def own_chats(connection: sa.Connection, tenant: str, user_id: str) -> list[Address]:
    """Return the direct chats in which a person was heard, the last active first; no threads, and no sessions of
    programs.
    """
    where = (chats.c.tenant_id == tenant, chats.c.user_id.in_(ids_of(user_id)), chats.c.direct, chats.c.thread == "")
    rows = connection.execute(sa.select(chats).where(*where).order_by(chats.c.heard_at.desc()).limit(20))
    return [Address(row.channel, row.account, row.chat, None) for row in rows]


def _let_in(channel: str, account: str) -> sa.Select[str]:
    """Return the chats in which people asked for access who have it by now."""
    asked, own = tickets.c, identities.c
    scoped = sa.case((own.scope == "", own.channel), else_=own.channel + ":" + own.scope)
    return (
        sa.select(asked.chat)
        .join(
            identities,
            sa.and_(
                own.tenant_id == asked.tenant_id,
                own.channel == asked.channel,
                asked.sender == scoped + ":" + own.sender,
            ),
        )
        .join(users, users.c.id == own.user_id)
        .join(
            grants,
            sa.and_(
                grants.c.user_id == users.c.id, grants.c.channel == asked.channel, grants.c.account == asked.account
            ),
        )
        .where(
            asked.kind == "pairing",
            asked.channel == channel,
            asked.account == account,
            users.c.role != "blocked",
            grants.c.granted_by != REVOKED,
        )
        .order_by(asked.created_at.desc())
    )


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
    """Rename a chat's conversations, its threads' too, and what waits for them; where the new name has one already,
    both stay.
    """
    of_chat = sa.or_(sessions.c.key == old_key, sessions.c.key.startswith(f"{old_key}:thread:", autoescape=True))
    waiting = sa.select(inbox.c.id, inbox.c.session_key).where(
        inbox.c.tenant_id == tenant,
        sa.or_(inbox.c.session_key == old_key, inbox.c.session_key.startswith(f"{old_key}:thread:", autoescape=True)),
        inbox.c.outcome.is_(None),
    )
    for id_, key in connection.execute(waiting).all():
        renamed = new_key + key[len(old_key) :]
        moved = sa.update(inbox).where(inbox.c.id == id_)
        connection.execute(moved.values(session_key=renamed, shard=shard_of(renamed)))
    for id_, key, generation in connection.execute(
        sa.select(sessions.c.id, sessions.c.key, sessions.c.generation).where(sessions.c.tenant_id == tenant, of_chat)
    ).all():
        renamed = new_key + key[len(old_key) :]
        taken = sa.select(sessions.c.id).where(
            sessions.c.tenant_id == tenant, sessions.c.key == renamed, sessions.c.generation == generation
        )
        if connection.execute(taken).first() is None:
            connection.execute(sa.update(sessions).where(sessions.c.id == id_).values(key=renamed))


def in_living_chat(connection: sa.Connection, tenant: str, where: Address, key: str) -> tuple[Address, str]:
    """Return the address and the session key under the id that the chat has now.

    A session key is an alias of another only if its chat has moved; this is where it is resolved.
    """
    parts = key.split(":")
    if parts[4:5] != ["group"]:
        return where, key
    chat = where.chat
    for _ in range(MOST_MOVES):
        moved = sa.select(moved_chats.c.new_chat).where(
            moved_chats.c.tenant_id == tenant,
            moved_chats.c.channel == where.channel,
            moved_chats.c.account == where.account,
            moved_chats.c.old_chat == chat,
        )
        if (found := connection.execute(moved).scalar()) is None:
            break
        chat = found
    if chat == where.chat:
        return where, key
    return replace(where, chat=chat), ":".join([*parts[:5], chat.replace("%", "%25").replace(":", "%3A"), *parts[6:]])


def load_moves(connection: sa.Connection) -> list[tuple[str, str, str]]:
    """(channel, old chat, new chat) of every move, oldest first. A system query."""
    columns = (moved_chats.c.channel, moved_chats.c.old_chat, moved_chats.c.new_chat)
    return [tuple(row) for row in connection.execute(sa.select(*columns).order_by(moved_chats.c.moved_at))]
