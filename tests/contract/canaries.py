"""Calls of the store for several tenants in turn, each with a canary in its texts, which no other tenant may read.

`python -m tests.contract.canaries TABLE...` prints those tables whose missing filter the calls do not find; UNFILTERED
names a table whose filter the store leaves out if a planted bug does so.
"""

import inspect
import os
import random
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from agent.delegation.board import TaskState
from channels.messages import INBOUND_EVENT, Address, ChatKind, InboundMessage, Sender
from gateway.coach import practice_rows, reminder_rows
from gateway.store import (
    api_keys,
    api_turns,
    approvals,
    boards,
    chats,
    children,
    conversations,
    credentials,
    earlier,
    erasure,
    groups,
    inbox,
    journal,
    outbox,
    people,
    reply_routes,
    reports,
    retention,
    tickets,
    timeline,
    trusted,
    usage,
)
from gateway.store.dialect import insert_new
from gateway.store.rows import Rows
from gateway.store.tables.base import Instant, Json, Words
from gateway.store.tenancy import run_as
from tests.contract.statements import ISOLATED, TABLES
from tests.fakes.people import NOON, database

ROOMS = (
    api_keys,
    api_turns,
    approvals,
    boards,
    chats,
    children,
    conversations,
    credentials,
    earlier,
    erasure,
    groups,
    inbox,
    journal,
    outbox,
    people,
    practice_rows,
    reminder_rows,
    reply_routes,
    reports,
    retention,
    tickets,
    timeline,
    trusted,
    usage,
)
TENANTS = ("acme", "bell", "cole")
ROWS = 4
BLOCK = 100
UNFILTERED = "UNFILTERED"
OF_TENANTS = [table for table in TABLES if table.name in ISOLATED]
OWN = frozenset({"tenant"})
"""Arguments that a caller never takes from another tenant."""

STATES = ("pending", "ready", "sending", "sent", "dead", "unknown", "offered", "linked", "approved", "asked")
BY_STATE: Mapping[str, type[StrEnum]] = {"children": children.ChildState, "tasks": TaskState}
HANDED_ON = frozenset({"insert_new", "insert_into", "upsert"})


def canary(tenant: str) -> str:
    """Return the text that stands in every row of this tenant and nowhere else; other tenants cannot know it."""
    return f"canary-of-{tenant}"


def value_of(column: sa.Column[Any], tenant: str, number: int, draw: random.Random) -> object:
    """Return a value for the column, with the canary if it holds text."""
    if column.name == "tenant_id":
        return tenant
    if column.nullable and draw.random() < 0.4:
        return None
    match column.type:
        case Instant():
            return NOON + timedelta(minutes=draw.randrange(-600, 600))
        case sa.Double():
            return draw.random()
        case sa.Boolean():
            return draw.random() < 0.5
        case sa.Date():
            return NOON.date()
        case Words():
            return frozenset({canary(tenant)})
        case Json() as kind:
            schema = kind.adapter.json_schema()
            if schema["type"] == "array":
                return (canary(tenant),)
            is_address = "properties" in schema
            return Address("sim", "main", canary(tenant)) if is_address else {"sim:main": canary(tenant)}
        case sa.LargeBinary():
            return canary(tenant).encode()
        case sa.Integer() | sa.BigInteger() | sa.SmallInteger():
            return id_of(tenant, number) if column.primary_key else draw.randrange(1, 60)
    if column.table.name == "tickets" and column.name in {"kind", "state"}:
        return draw.choice(list(tickets.TicketKind if column.name == "kind" else tickets.TicketState))
    if column.table.name == "trusted" and column.name in {"kind", "digest"}:
        return draw.choice(list(trusted.TrustKind)) if column.name == "kind" else canary(tenant)
    if column.table.name in BY_STATE and column.name == "state":
        return draw.choice(list(BY_STATE[column.table.name]))
    if column.name in {"state", "outcome"}:
        return draw.choice(STATES)
    if column.name == "payload" and column.table.name == "inbox":
        return INBOUND_EVENT.dump_json(said(tenant, number, canary(tenant))).decode()
    if column.name == "channel":
        return "sim"
    if column.name == "account":
        return "main"
    if isinstance(column.type, sa.Text):
        return canary(tenant)
    return name_of(tenant, number)[: column.type.length]


def name_of(tenant: str, number: int) -> str:
    """Return the name of one of a tenant's rows, which other tenants may know."""
    return f"{tenant}-{number}"


def id_of(tenant: str, number: int) -> int:
    """Return the id of a tenant's row, beyond those that a database gives by itself."""
    return 10_000 + TENANTS.index(tenant) * 100 + number


def said(tenant: str, number: int, text: str) -> InboundMessage:
    """Return a message of this tenant."""
    name = name_of(tenant, number)
    return InboundMessage(
        event_id=name,
        address=Address("sim", "main", name),
        sender=Sender(name, text),
        received_at=NOON,
        message_id=name,
        kind=ChatKind.DIRECT,
        text=text,
        tenant=tenant,
    )


def fill(connection: sa.Connection, draw: random.Random) -> None:
    """Add rows of each tenant to every table, with names and numbers of the same form."""
    for table in OF_TENANTS:
        table.create(connection, checkfirst=True)
        for tenant in TENANTS:
            for number in range(ROWS):
                values = {column.name: value_of(column, tenant, number, draw) for column in table.c}
                connection.execute(insert_new(connection, table), values)
    connection.commit()


def others_rows(connection: sa.Connection, tenant: str) -> list[object]:
    """Return every row of the other tenants."""
    return [
        tuple(row)
        for table in OF_TENANTS
        for row in connection.execute(sa.select(table).where(table.c.tenant_id != tenant))
    ]


def drawn(name: str, wanted: Any, acting: str, draw: random.Random) -> object:
    """Return an argument of this name and type, mostly another tenant's; raise LookupError if nothing fits."""
    if name in OWN:
        return acting
    whose, number = draw.choice(TENANTS), draw.randrange(ROWS)
    kinds = typing.get_args(wanted) if isinstance(wanted, types.UnionType) else (wanted,)
    text = name_of(whose, number)
    for kind in kinds:
        origin = typing.get_origin(kind) or kind
        if origin is str:
            return text
        if origin is bool:
            return draw.random() < 0.5
        if origin is int:
            return 20 if name in {"limit", "most"} else id_of(whose, number)
        if origin is datetime:
            return NOON + timedelta(minutes=draw.randrange(-600, 600))
        if origin is Address:
            return Address("sim", "main", text, draw.choice([None, text]))
        if origin is InboundMessage or "InboundEvent" in str(kind):
            return replace(said(whose, number, "words"), tenant=acting)
        if inspect.isclass(origin) and issubclass(origin, typing.Iterable) and typing.get_args(kind):
            return [drawn(name, typing.get_args(kind)[0], acting, draw)]
    raise LookupError(name)


def callables() -> Iterator[tuple[Callable[..., Any], dict[str, Any]]]:
    """Return each store function that takes a connection first, with the types of its other arguments."""
    for room in ROOMS:
        for rows in (value for value in vars(room).values() if isinstance(value, Rows)):
            for column in rows.c:
                for method in (rows.get, rows.find, rows.count, rows.delete):
                    yield _by_column(method, column.name), {"value": str}
        for name, function in vars(room).items():
            if name.startswith("_") or name in HANDED_ON or not inspect.isfunction(function):
                continue
            if function.__module__ != room.__name__:
                continue
            hints = typing.get_type_hints(function)
            names = list(inspect.signature(function).parameters)
            if names and names[0] == "connection":
                yield function, {each: hints[each] for each in names[1:]}


def _by_column(method: Callable[..., Any], column: str) -> Callable[..., Any]:

    def call(connection: sa.Connection, value: str) -> object:
        return method(connection, **{column: value})

    call.__qualname__ = f"{method.__qualname__}({column})"
    return call


def plain_calls(table: sa.Table) -> Iterator[Callable[[sa.Connection], object]]:
    """Yield calls that list, search, change and erase a table's rows without naming a tenant."""
    found, other = table.c.tenant_id, table.alias("other").c.tenant_id
    statements = {
        "list": sa.select(found),
        "search": sa.select(other).where(other.like("%e%"), sa.exists().where(found != "")),
        "change": sa.update(table).values(tenant_id=found).returning(found),
        "erase": sa.delete(table).returning(found),
    }
    for name, statement in statements.items():

        def call(connection: sa.Connection, statement: Any = statement) -> object:
            return [canary(tenant) for tenant in connection.execute(statement).scalars()]

        call.__qualname__ = f"{name} {table.name}"
        yield call


PLAIN = [call for table in OF_TENANTS for call in plain_calls(table)]


class Play:
    """Three tenants who call the functions of one store in turn."""

    def __init__(self, connection: sa.Connection, seed: int, *, filtered: bool = True) -> None:
        self._connection = connection
        self._draw = random.Random(seed)
        self._filtered = filtered
        self._seed = seed
        fill(connection, self._draw)

    def call_plainly(self) -> None:
        """List, search, change and erase each table for each tenant.

        Raises:
            AssertionError: a tenant read or changed a row of another.
        """
        for acting in TENANTS:
            before = others_rows(self._connection, acting)
            for call in PLAIN:
                self._check(acting, call, self._call(acting, call))
            assert before == others_rows(self._connection, acting), f"{acting} changed rows of others"
            fill(self._connection, self._draw)

    def call_at_random(self, operations: int) -> None:
        """Call functions of the store's rooms with names and numbers of any tenant.

        Raises:
            AssertionError: a tenant read or changed a row of another; the message names the call.
        """
        known = [each for each in callables() if fits(each[1], self._draw)]
        methods = [each for each in known if "Rows." in each[0].__qualname__]
        functions = [each for each in known if each not in methods]
        assert len(functions) > 120
        done = 0
        for block in range(operations // BLOCK):
            acting = TENANTS[block % len(TENANTS)]
            before = others_rows(self._connection, acting)
            for _ in range(BLOCK):
                function, wanted = self._draw.choice(self._draw.choice((methods, functions)))
                arguments = {name: drawn(name, kind, acting, self._draw) for name, kind in wanted.items()}
                answer = self._call(acting, function, **arguments)
                self._check(acting, function, answer)
                done += not isinstance(answer, Exception)
            assert before == others_rows(self._connection, acting), f"seed {self._seed}, block {block}"
            self._connection.commit()
            if block % 10 == 9:  # what was taken away by its own is there again
                fill(self._connection, self._draw)
        assert done > operations // 3

    def _call(self, acting: str, function: Callable[..., Any], **arguments: object) -> object:
        """Return the answer or the error; on an error the call changed nothing."""

        def ask(connection: sa.Connection) -> object:
            found = function(connection, **arguments)
            return list(found) if inspect.isgenerator(found) else found

        try:
            with self._connection.begin_nested():
                return run_as(acting if self._filtered else None, ask, self._connection)
        except Exception as error:  # noqa: BLE001  an error may tell another's canary as well
            return error

    @staticmethod
    def _check(acting: str, function: Callable[..., Any], answer: object) -> None:
        words = (
            f"{type(answer).__name__}: {getattr(answer, 'orig', answer)}"
            if isinstance(answer, Exception)
            else repr(answer)
        )
        for other in TENANTS:
            assert other == acting or canary(other) not in words, f"{function.__qualname__}: {words}"


def fits(wanted: dict[str, Any], draw: random.Random) -> bool:
    """Return True if arguments for the whole signature can be drawn."""
    try:
        for name, kind in wanted.items():
            drawn(name, kind, TENANTS[0], draw)
    except LookupError:
        return False
    return True


def unnoticed(tables: list[str]) -> Iterator[str]:
    """Yield each of these tables without whose filter the calls find nothing wrong."""
    for table in tables:
        os.environ[UNFILTERED] = table
        with database() as connection:
            try:
                Play(connection, seed=7).call_plainly()
            except AssertionError:
                continue
        yield table


if __name__ == "__main__":
    sys.stdout.write("\n".join(unnoticed(sys.argv[1:])))
