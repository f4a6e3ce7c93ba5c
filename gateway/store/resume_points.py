"""Resume points: how far each connection of each channel account has read, as its adapter writes it.

Plain functions over a connection. The first connection's row has the account's name, as that of an account with one.
"""

from datetime import datetime

import sqlalchemy as sa

from channels.base import LayOut
from gateway.store.dialect import HotStatement
from gateway.store.tables.traffic import channel_accounts

_WHERE = (
    channel_accounts.c.channel == sa.bindparam("b_channel"),
    channel_accounts.c.account == sa.bindparam("b_account"),
)
_move = HotStatement(
    sa.update(channel_accounts)
    .where(*_WHERE)
    .values(cursor=sa.bindparam("b_cursor"), last_heard_at=sa.bindparam("b_now"))
)


def _row_name(account: str, number: int) -> str:
    """No account's name has a slash."""
    return f"{account}/{number}" if number else account


def cursor_of(connection: sa.Connection, channel: str, account: str, number: int = 0) -> str | None:
    """The committed resume point of one connection of an account."""
    where = {"b_channel": channel, "b_account": _row_name(account, number)}
    return connection.execute(sa.select(channel_accounts.c.cursor).where(*_WHERE), where).scalar()


def cursors_of(connection: sa.Connection, channel: str, account: str) -> dict[int, str]:
    """Those of all connections of an account, by their numbers."""
    others = channel_accounts.c.account.startswith(f"{account}/", autoescape=True)
    query = sa.select(channel_accounts.c.account, channel_accounts.c.cursor).where(
        channel_accounts.c.channel == channel,
        sa.or_(channel_accounts.c.account == account, others),
        channel_accounts.c.cursor.is_not(None),
    )
    return {int(row.account.partition("/")[2] or 0): row.cursor for row in connection.execute(query)}


def move_cursor(
    connection: sa.Connection, tenant: str, channel: str, account: str, cursor: str | None, now: datetime,
    number: int = 0,
) -> None:  # fmt: skip
    """Commit how far a connection of an account has read; None: it is forgotten."""
    name = _row_name(account, number)
    where = {"b_channel": channel, "b_account": name}
    if _move.count(connection, {**where, "b_cursor": cursor, "b_now": now}) == 0:
        row = {"tenant_id": tenant, "channel": channel, "account": name, "cursor": cursor, "last_heard_at": now}
        connection.execute(sa.insert(channel_accounts), row)


def lay_out(connection: sa.Connection, tenant: str, channel: str, account: str, plan: LayOut, now: datetime) -> None:
    """Make the resume points of an account's connections what `plan` makes of them."""
    for number, cursor in plan(cursors_of(connection, channel, account)).items():
        move_cursor(connection, tenant, channel, account, cursor, now, number)
