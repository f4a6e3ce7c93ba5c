"""The tenant filter of a store: no statement meets another tenant's rows (S3)."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from gateway.access.pairing import POLICY, approve_code
from gateway.access.tickets import locked_until
from gateway.store import inbox as rows
from gateway.store.engine import Store
from gateway.store.erasure import of_person
from gateway.store.tables.people import audit, users
from gateway.store.tables.traffic import inbox, parked_lanes
from gateway.store.tickets import TicketKind
from tests.contract.statements import TABLES, unfiltered
from tests.fakes.fresh_database import copy_fresh
from tests.fakes.people import NOON
from tests.fakes.postgres import PostgresServer

WITHOUT_TENANT = {
    "shards": "the machines': who works on what",
    "leases": "the machines': who has which account",
    "members": "the machines themselves",
    "model_rests": "the models', which are the installation's; by a mark of the key",
    "final_dump": "whether the database is in use at all",
}
"""Tables without a tenant, each with its reason."""

OUR_OWN_IDS = frozenset(
    {"id", "user_id", "session_id", "turn_id", "link_id", "inbox_id", "call_key", "cause", "work", "effect_key"}
    | {"state_hash", "code_mac", "memory_id"}
)
"""Prefixes of keys that the gateway makes itself and never twice: such a key can belong to one tenant only."""


def add(tenant: str, subject: str, connection: sa.Connection) -> None:
    values = {"tenant_id": tenant, "at": NOON, "actor": "cli", "action": "noted", "subject": subject, "detail": ""}
    connection.execute(audit.insert(), values)


def subjects(connection: sa.Connection) -> Sequence[str]:
    return connection.execute(sa.select(audit.c.subject).order_by(audit.c.id)).scalars().all()


@pytest.fixture(params=["sqlite", "postgresql"])
async def shared(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    url = f"sqlite:///{tmp_path / 'tenk.db'}"
    if request.param == "sqlite":
        await copy_fresh(tmp_path / "tenk.db")
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        url = await server.create_owned()
    store = await Store.open(url)
    for tenant in ("acme", "bell"):
        await store.of(tenant).commit(lambda connection, tenant=tenant: add(tenant, tenant, connection))
    yield store
    await store.aclose()


async def test_what_is_asked_without_a_filter_is_answered_with_ones_own(shared: Store) -> None:
    acme, bell = shared.of("acme"), shared.of("bell")
    assert (["acme"], ["bell"], ["acme", "bell"]) == tuple([await part.read(subjects) for part in (acme, bell, shared)])
    assert 1 == await acme.commit(lambda c: c.execute(sa.update(audit).values(detail="seen")).rowcount)
    assert 1 == await bell.commit(lambda c: c.execute(sa.delete(audit)).rowcount)
    assert ["acme"] == await shared.read(subjects)


async def test_a_persons_data_is_opened_in_the_name_of_one_tenant_alone(shared: Store) -> None:
    with pytest.raises(RuntimeError, match="one tenant"):
        await shared.of(None).read(lambda connection: of_person(connection, "ana"))
    assert [] == (await shared.of("b").read(lambda connection: of_person(connection, "ana")))["users"]


async def test_wrong_codes_of_one_tenant_lock_no_other_tenant(shared: Store) -> None:

    def guess(connection: sa.Connection) -> datetime | None:
        for number in range(POLICY.guesses_overall or 0):
            approve_code(connection, b"k" * 32, "wrong", f"somebody {number}", NOON)
        return locked_until(connection, TicketKind.PAIRING, "another", NOON)

    assert await shared.of("a").commit(guess) is not None
    assert (
        await shared.of("b").read(lambda connection: locked_until(connection, TicketKind.PAIRING, "another", NOON))
        is None
    )
    assert (
        await shared.of(None).read(lambda connection: locked_until(connection, TicketKind.PAIRING, "cli", NOON))
        is not None
    )


async def test_joins_subqueries_and_unions_have_it_too(shared: Store) -> None:
    other = audit.alias("other")
    left = sa.select(audit.c.subject, other.c.subject).outerjoin_from(audit, other, other.c.id != audit.c.id)
    inside = sa.select(users.c.id).where(sa.exists().where(audit.c.subject == "bell"))
    both = sa.union_all(sa.select(audit.c.subject), sa.select(other.c.subject))
    counted = sa.select(sa.select(sa.func.count()).select_from(audit).scalar_subquery())

    def ask(connection: sa.Connection) -> list[object]:
        first = [tuple(row) for row in connection.execute(left)]
        return [first, *(connection.execute(query).scalars().all() for query in (inside, both, counted))]

    first, *others = await shared.of("acme").read(ask)
    assert "bell" not in str(first)
    assert [[], ["acme", "acme"], [1]] == others
    of_lanes = sa.select(audit.c.subject).outerjoin(parked_lanes, parked_lanes.c.lane == audit.c.subject)
    assert ["acme"] == await shared.of("acme").read(lambda c: c.execute(of_lanes).scalars().all())


async def test_jobs_of_one_commit_see_each_their_own(shared: Store) -> None:
    parts = (shared.of("acme"), shared, shared.of("bell"), shared.of("bell"), shared.of("acme"))
    begun = [part.queue(subjects) for part in parts]
    assert [["acme"], ["acme", "bell"], ["bell"], ["bell"], ["acme"]] == [await answer for answer in begun]


async def test_another_tenants_row_is_not_moved_by_its_number(shared: Store) -> None:

    def admit(connection: sa.Connection) -> int:
        values = {
            "tenant_id": "bell",
            "channel": "sim",
            "account": "bell",
            "event_id": "1",
            "kind": "message",
            "chat": "c",
            "sender": "sim:1",
            "payload": "secret of bell",
            "received_at": NOON,
            "admitted_at": NOON,
            "attempts": 0,
        }
        return int(connection.execute(inbox.insert().returning(inbox.c.id), values).scalar_one())

    id_ = await shared.of("bell").commit(admit)
    settle = lambda connection: rows.settle(connection, id_, rows.Outcome.CLEARED, NOON)  # noqa: E731  asked twice
    assert not await shared.of("acme").commit(settle)
    assert await shared.of("bell").commit(settle)


def test_every_table_is_a_tenants_or_says_why_not() -> None:
    assert set(WITHOUT_TENANT) == {table.name for table in TABLES if "tenant_id" not in table.c}
    assert [] == [table.name for table in TABLES if "tenant_id" in table.c and table.c.tenant_id.nullable]


def test_what_is_unique_is_so_within_a_tenant() -> None:
    keys = [
        (table.name, [column.name for column in key.columns])
        for table in TABLES
        if "tenant_id" in table.c
        for key in table.constraints
        if isinstance(key, sa.PrimaryKeyConstraint | sa.UniqueConstraint)
    ]
    assert [] == [key for key in keys if "tenant_id" not in key[1] and key[1][0] not in OUR_OWN_IDS]
    assert [] == [index for table in TABLES for index in table.indexes if index.unique]


def test_a_statement_without_it_would_be_seen() -> None:
    assert ["audit"] == unfiltered(sa.text("SELECT 1 FROM audit"), sqlite.dialect())
    assert [] == unfiltered(sa.select(audit), sqlite.dialect())
