"""Everything that is kept of one person, as JSON: what somebody is given who asks for it. Nothing is changed."""

import json
from collections.abc import Iterator, Sequence
from datetime import date, datetime

import sqlalchemy as sa
from pydantic import JsonValue

from gateway.store.people import ids_of
from gateway.store.tables.base import metadata
from gateway.store.tables.people import audit, credentials, users
from gateway.store.tables.traffic import chats, inbox, outbox
from gateway.store.tables.turns import events, turns
from gateway.store.tenancy import named_tenant

SECRET = {credentials.c.sealed.key: "(a secret, which is not given out)"}


def of_person(connection: sa.Connection, user_id: str, own_tables: Sequence[sa.Table] = ()) -> dict[str, JsonValue]:
    """Rows by table, in the order in which they came: the harness's tables, then the agent's own.

    Raises:
        RuntimeError: the query runs in no tenant's name.
    """
    named_tenant()
    ids = list(connection.execute(ids_of(user_id)).scalars())
    found: dict[str, JsonValue] = {"users": [*_rows(connection, sa.select(users).where(users.c.id.in_(ids)))]}
    there = sa.inspect(connection)
    for table in (*metadata.sorted_tables, *own_tables):
        if "user_id" in table.c and there.has_table(table.name):
            rows = sa.select(table).where(table.c.user_id.in_(ids)).order_by(*table.primary_key.columns)
            found[table.name] = [*_rows(connection, rows)]
    mine = sa.select(turns.c.id).where(turns.c.user_id.in_(ids))
    said = sa.select(events).where(events.c.turn_id.in_(mine)).order_by(*events.primary_key.columns)
    found["events"] = [*_rows(connection, said)]
    direct = connection.execute(sa.select(chats).where(chats.c.user_id.in_(ids), chats.c.direct)).all()
    lanes = [f"{row.channel}:{row.account}:{row.chat}" for row in direct]
    sent = sa.or_(outbox.c.lane.in_(lanes), outbox.c.cause.in_(mine))
    found["outbox"] = [*_rows(connection, sa.select(outbox).where(sent).order_by(outbox.c.id))]
    by_or_about = sa.or_(audit.c.actor.in_(ids), audit.c.subject.in_(ids))
    found["audit"] = [*_rows(connection, sa.select(audit).where(by_or_about).order_by(audit.c.id))]
    return found


def newest_row(connection: sa.Connection) -> int:
    """The number of what came in last; 0 where nothing did."""
    return connection.execute(sa.select(sa.func.max(inbox.c.id))).scalar() or 0


def _rows(connection: sa.Connection, query: sa.Select[tuple[object, ...]]) -> Iterator[JsonValue]:
    for row in connection.execute(query).mappings():
        yield {
            str(name): _value(value)
            for name, value in ({**row} | {k: v for k, v in SECRET.items() if k in row}).items()
        }


def _value(value: object) -> JsonValue:
    """As JSON; what is JSON in a text already is read."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            read: JsonValue = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return read
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
