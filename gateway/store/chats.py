"""Where people who are let in talk to the bot: what a channel reads back after a gap, for nothing else lists it.

Plain functions over a connection. Strangers leave nothing here.
"""

from datetime import datetime, timedelta

import sqlalchemy as sa

from channels.base import KnownChat
from channels.messages import Address
from gateway.store.dialect import upsert
from gateway.store.tables.people import grants, identities, pairing_requests, users
from gateway.store.tables.traffic import chats

NOTED_FOR = timedelta(hours=1)
"""How long a chat is not noted again, so that a message costs no statement."""


def note(connection: sa.Connection, tenant: str, where: Address, user_id: str, now: datetime, *, direct: bool) -> None:
    """Somebody who is let in was heard here."""
    connection.execute(
        upsert(connection, chats, ["user_id", "heard_at"]),
        {
            "tenant_id": tenant, "channel": where.channel, "account": where.account, "chat": where.chat,
            "thread": where.thread or "", "direct": direct, "user_id": user_id, "heard_at": now,
        },
    )  # fmt: skip


def of_account(connection: sa.Connection, channel: str, account: str) -> list[KnownChat]:
    """The chats and threads of an account, those heard last first, without those of people who are blocked.

    Somebody who was let in and has said nothing since is found where they asked to be.
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


def _let_in(channel: str, account: str) -> sa.Select[str]:
    """The chats in which people asked who are let into the account by now."""
    asked, own = pairing_requests.c, identities.c
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
        .where(asked.channel == channel, asked.account == account, users.c.role != "blocked")
        .order_by(asked.created_at.desc())
    )
