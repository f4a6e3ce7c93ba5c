"""Operators' actions on failed parts: once each, recorded, and none on other parts."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from channels.messages import Address, Rendered
from gateway.operators.messages import NoSuchPart, PartNotFailed
from gateway.operators.process import DetachedProcess
from gateway.operators.service import Operators
from gateway.store import outbox, reports
from gateway.store.causes import ReplyTo
from gateway.store.engine import Connection, reading
from gateway.store.outbox import Action, OutboxPart, PartsPut
from tests.fakes.fresh_database import QuickStore
from tests.fakes.spine import NOON, quick_store

CHAT = Address("sim", "main", "1")
STATES = ("dead", "unknown", "sent", "discarded", "ready", "sending", "ready")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[QuickStore]:
    store = await quick_store(tmp_path / "tenk.db")

    def fill(connection: Connection) -> None:
        for number, state in enumerate(STATES):
            where = Address("sim", "main", "2") if number == 6 else CHAT
            part = OutboxPart(ReplyTo(number), 0, 0, Action.SEND, where, Rendered("hello"), "hello")
            outbox.put(connection, "default", [part], NOON)
            connection.exec_driver_sql("UPDATE outbox SET state = ? WHERE id = ?", (state, number + 1))
        outbox.park(connection, "default", "sim:main:2", "they blocked the bot", NOON)

    await store.commit(fill)
    yield store
    await store.aclose()


async def test_what_failed_is_said_again_or_given_up_and_recorded(store: QuickStore) -> None:
    woken: list[PartsPut] = []
    store.listen(PartsPut, woken.append)
    operators = Operators(store, b"", lambda: NOON, DetachedProcess())
    for id_ in (1, 2):
        assert "ready" == (await operators.retry_part("cli", id_)).state
    lines = {line.id: line for line in await store.read(lambda c: reports.outbox_lines(c, "default", 10))}
    assert [("ready", False), ("ready", True)] == [(lines[id_].state, lines[id_].maybe_doubled) for id_ in (1, 2)]
    assert [CHAT, CHAT] == [row.part.address for put in woken for row in put.rows]
    audit = await store.read(reports.audit_log)
    assert [("outbox_retried", "outbox:2"), ("outbox_retried", "outbox:1")] == [
        (row.action, row.subject) for row in audit
    ]


@pytest.mark.parametrize(
    ("id_", "why"),
    [
        (3, "was delivered"),
        (4, "was discarded"),
        (5, "is under way"),
        (6, "is under way"),
        (7, "waits until its person is heard again (they blocked the bot)"),
    ],
)
async def test_what_did_not_fail_stays_as_it_is(store: QuickStore, id_: int, why: str) -> None:
    operators = Operators(store, b"", lambda: NOON, DetachedProcess())
    for change in (operators.retry_part, operators.discard_part):
        with pytest.raises(PartNotFailed, match=r"part") as refused:
            await change("cli", id_)
        assert why in str(refused.value)
    assert [] == await store.read(reports.audit_log)


@pytest.mark.parametrize(("tenant", "id_"), [("default", 99), ("default", 2**70), ("another", 1)])
async def test_no_part_is_another_tenants(store: QuickStore, tenant: str, id_: int) -> None:
    with pytest.raises(NoSuchPart):
        await Operators(store.of(tenant), b"", lambda: NOON, DetachedProcess()).discard_part("cli", id_)


async def test_a_look_beside_a_gateway_sees_what_is_committed_and_changes_nothing(
    store: QuickStore, tmp_path: Path
) -> None:
    async with reading(f"sqlite:///{tmp_path / 'tenk.db'}") as look:
        lines = await look.read(lambda c: reports.outbox_lines(c, "default", 10, ["ready"]))
        assert [("they blocked the bot", 7), (None, 5)] == [(line.parked, line.id) for line in lines]
        with pytest.raises(Exception, match="readonly"):
            await look.read(lambda c: c.exec_driver_sql("DELETE FROM outbox"))
