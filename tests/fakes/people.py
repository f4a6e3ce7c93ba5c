"""Strangers who write, and a database in memory for functions over a connection."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import sqlalchemy as sa

from channels.messages import Address, ChatKind, InboundMessage, Sender
from gateway.store import schema
from gateway.store.tables.people import tickets

T = TypeVar("T")

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
KEY = bytes(range(32))


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def message(
    sender: str = "42",
    *,
    text: str = "hello",
    name: str = "Ana",
    account: str = "main",
    kind: ChatKind = ChatKind.DIRECT,
    chat: str | None = None,
    is_bot: bool = False,
    edited: bool = False,
    channel: str = "telegram",
    tenant: str = "default",
    locale: str | None = None,
) -> InboundMessage:
    """Return a message; in a direct chat the chat's id is the sender's, as on Telegram."""
    return InboundMessage(
        event_id=f"msg:{sender}:1",
        address=Address(channel, account, sender if chat is None else chat),
        sender=Sender(sender, name, is_bot),
        received_at=NOON,
        tenant=tenant,
        message_id="1",
        kind=kind,
        text=text,
        edited=edited,
        locale=locale,
    )


def crowd(connection: sa.Connection, count: int, at: datetime, channel: str = "telegram") -> None:
    """Return so many strangers who write to the account main for the first time."""
    connection.execute(
        sa.insert(tickets),
        [
            {
                "id": f"crowd-{number:08}",
                "tenant_id": "default",
                "kind": "pairing",
                "state": "pending",
                "channel": channel,
                "account": "main",
                "chat": f"crowd{number}",
                "display_name": "Puppet",
                "sender": f"{channel}:crowd{number}",
                "created_at": at,
                "expires_at": at + minutes(60),
                "again": False,
            }
            for number in range(count)
        ],
    )


_made: dict[Callable[[sa.Connection], None], bytes] = {}


@contextmanager
def database(make: Callable[[sa.Connection], None] = schema.create) -> Iterator[sa.Connection]:
    """Return a connection to a fresh database with every table: made once a process, then copied."""
    engine = sa.create_engine("sqlite://", poolclass=sa.NullPool)  # closed with the connection, whatever ends it
    with engine.connect() as connection:
        plain = connection.connection.dbapi_connection
        if make in _made:
            plain.deserialize(_made[make])
        else:
            make(connection)
            connection.commit()
            _made[make] = plain.serialize()
        yield connection


class OnConnection:
    """A reader over an open connection."""

    tenant: str | None = None  # it sees everybody's rows

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    async def read(self, query: Callable[[sa.Connection], T]) -> T:
        return query(self._connection)
