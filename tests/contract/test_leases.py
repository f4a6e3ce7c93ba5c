"""Leases in a PostgreSQL that several processes share: shares, ends, epochs, and notices of changes."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from agent.errors import Fenced
from channels.clocks import wall_now
from channels.messages import Address, Rendered
from gateway.ops.home_check import check_database_clock
from gateway.store import inbox, journal, leases, outbox, people
from gateway.store.causes import AnswerOf
from gateway.store.engine import Connection, Store, link_to
from gateway.store.inbox import NewRow
from gateway.store.journal import Fence, shard_of
from gateway.store.leases import Lease, LeaseRequest, Member, Round
from gateway.store.outbox import Action, OutboxPart
from gateway.store.people import Newcomer
from gateway.store.tables.base import Instant
from gateway.store.tables.turns import members
from tests.fakes.people import message
from tests.fakes.postgres import PostgresServer

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
A, B, C = (Member(f"{name * 4}:1", name, "1", "key") for name in "abc")
OUT = "out telegram:main"


class Cluster:
    def __init__(self, store: Store, url: str) -> None:
        self.store = store
        self.url = url

    async def join(self, *joining: Member) -> None:
        for member in joining:
            await self.store.commit(leases.join, me=member, now=NOW, lease_s=60.0)

    async def look(
        self,
        member: Member,
        *wanted: str,
        given: Iterable[int] = (),
        takes: timedelta | None = timedelta(0),
        **more: Any,
    ) -> Round:
        ask = LeaseRequest(wanted, given=[*given], **more)
        return await self.store.commit(leases.look_round, me=member, ask=ask, lease_s=60.0, takes=takes)

    async def run_out(self, *dead: Member) -> None:
        ids = [member.id for member in dead]
        await self.store.commit(
            lambda connection: (
                connection.execute(sa.update(members).where(members.c.id.in_(ids)).values(until=NOW)) and None
            )
        )


@pytest.fixture
async def cluster(postgres: PostgresServer) -> AsyncIterator[Cluster]:
    url = await postgres.create_migrated()
    store = await Store.open(url)
    yield Cluster(store, url)
    await store.aclose()
    await postgres.give_back(url)


async def test_members_share_fairly_and_hand_back_what_is_idle(cluster: Cluster) -> None:
    await cluster.join(A)
    assert 256 == len((await cluster.look(A)).shards)
    await cluster.join(B, C)
    assert {} == (await cluster.look(B)).shards
    assert (200, 3) == (len((done := await cluster.look(A, given=range(200, 256))).shards), done.living)
    assert 56 == len((await cluster.look(B)).shards)
    assert 86 == len((await cluster.look(A, given=range(86, 200))).shards)
    assert [86, 84] == [len((await cluster.look(each)).shards) for each in (B, C)]
    owners, names = await cluster.store.read(leases.owners)
    assert ({A.id: 86, B.id: 86, C.id: 84}, {}) == (Counter(owners.values()), names)


async def test_what_ran_out_is_taken_with_a_higher_epoch_and_its_old_owner_fenced(cluster: Cluster) -> None:
    await cluster.join(A)
    before = (await cluster.look(A, OUT)).shards
    await cluster.join(B)
    assert OUT in (await cluster.look(A, OUT)).names
    assert {} == (await cluster.look(B, OUT)).names
    await cluster.run_out(A)
    taken = await cluster.look(B, OUT)
    both = before.keys() & taken.shards.keys()
    assert both
    assert all(taken.shards[shard] > before[shard] for shard in both)
    shard = min(both)
    for fence in (Fence(shard, before[shard]), Fence(shard, before[shard] + 100)):
        with pytest.raises(Fenced):
            await cluster.store.commit(journal.check_fence, fence=fence)
    await cluster.store.commit(journal.check_fence, fence=Fence(shard, taken.shards[shard]))
    with pytest.raises(Fenced):
        await cluster.store.commit(leases.hold, lease=Lease(OUT, taken.names[OUT] - 1))
    await cluster.store.commit(leases.leave, me=B)
    assert shard in (await cluster.look(A)).shards
    with pytest.raises(Fenced):
        await cluster.store.commit(journal.check_fence, fence=Fence(shard, taken.shards[shard]))


async def test_behind_an_outage_everybody_has_their_own_back_and_a_dead_ones_is_taken_later(cluster: Cluster) -> None:
    await cluster.join(A, B)
    before = await cluster.look(A, OUT), await cluster.look(B)
    lately = sa.select(leases.STORE_NOW).scalar_subquery()

    def end(connection: Connection) -> None:
        connection.execute(sa.update(members).values(until=lately))

    await cluster.store.commit(end)
    patient = timedelta(days=10_000)
    back = await cluster.look(A, OUT, takes=patient), await cluster.look(B, OUT, takes=patient)
    assert [(one.shards, one.names) for one in before] == [(one.shards, one.names) for one in back]
    await cluster.store.commit(end)
    assert 256 == len((await cluster.look(A, OUT)).shards)


async def test_rows_of_a_running_commit_are_not_taken(cluster: Cluster) -> None:
    await cluster.join(A)
    owned = (await cluster.look(A)).shards
    await cluster.join(B)
    shard, epoch = next(iter(owned.items()))
    other = await Store.open(cluster.url)
    try:
        await cluster.run_out(A)
        await cluster.store.commit(leases.begin_leaving, me=A, given_names=())  # so that the other's share is all

        def hold_and_let_take(connection: Connection) -> Round:
            journal.check_fence(connection, Fence(shard, epoch))
            connection.execute(sa.select(1))  # whatever was put off is done now
            looking = asyncio.run_coroutine_threadsafe(_look(other), loop)
            return looking.result(30)

        loop = asyncio.get_running_loop()
        taken = await cluster.store.commit(hold_and_let_take)
        assert (shard in taken.shards, len(taken.shards)) == (False, 255)
    finally:
        await other.aclose()


async def _look(store: Store) -> Round:
    return await store.commit(leases.look_round, me=B, ask=LeaseRequest(), lease_s=60.0)


async def test_a_home_that_starts_again_has_its_own_back_at_once(cluster: Cluster) -> None:
    await cluster.join(A)
    await cluster.look(A, OUT)
    again = Member("aaaa:2", "a", "1", "key")
    await cluster.join(again)
    back = await cluster.look(again, OUT)
    assert (256, [OUT]) == (len(back.shards), list(back.names))
    await cluster.store.commit(leases.begin_leaving, me=again, given_names=[OUT])
    assert {} == (await cluster.look(again, given=range(256), takes=None)).shards
    await cluster.join(B)
    assert 256 == len((await cluster.look(B)).shards)


async def test_one_that_was_forgotten_is_a_member_again(cluster: Cluster) -> None:
    twin = replace(A, id="aaaa:1.twin", host="other")
    await cluster.join(A, B)
    await cluster.look(A)
    await cluster.join(twin)
    assert (await cluster.look(A)).rejoined
    assert {A, B, twin} == {each.member for each in await cluster.store.read(leases.standing) if each.lives}
    assert not (await cluster.look(A)).rejoined
    owned = [await cluster.look(each) for each in (A, twin, B)]
    assert [86, 86, 84] == sorted((len(each.shards) for each in owned), reverse=True)
    await cluster.store.commit(leases.leave, me=A)
    assert not (await cluster.look(A, takes=None)).rejoined


async def test_accounts_are_spread_and_none_is_left_without_an_owner(cluster: Cluster) -> None:
    names = [f"in telegram:{name}" for name in ("one", "two", "three", "four")]
    await cluster.join(A, B)
    first = await cluster.look(A, shared=names)
    assert (2, True) == (len(first.names), first.ownerless)
    second = await cluster.look(B, shared=names)
    assert (set(names) - set(first.names), False) == (set(second.names), second.ownerless)
    await cluster.run_out(B)
    assert set(names) == set((await cluster.look(A, shared=names)).names)


def _later(off: timedelta) -> datetime:
    return wall_now() + off


async def test_the_doctor_names_a_clock_that_is_two_seconds_off(cluster: Cluster) -> None:
    found = []
    for off_s in (0.0, 30.0, -30.0, 3.0):
        off = timedelta(seconds=off_s)
        found.append(await check_database_clock(cluster.url, partial(_later, off)))
    said = [(each.words.replace("29", "30"), bool(each.to_do)) for each in found if each is not None]
    assert ("within 2 s of this machine's", False) == said[0]
    assert [("30 s behind this machine's", True), ("30 s ahead of this machine's", True)] == said[1:3]
    assert said[3][1]
    assert await check_database_clock("sqlite:////tmp/none.db") is None


async def test_what_waits_is_counted_by_shard_by_account_and_by_age(cluster: Cluster) -> None:
    keys = [f"agent:coach:telegram:main:direct:{number}" for number in range(3)]

    def admit(connection: Connection) -> None:
        now = connection.execute(sa.select(sa.type_coerce(leases.STORE_NOW, Instant))).scalar_one()
        for number, (key, ago_s) in enumerate(zip([*keys, keys[0]], (2_000, 5_000, 7_000, 30), strict=True)):
            event = replace(message(), event_id=f"msg:{number}", message_id=str(number))
            id_ = inbox.admit(connection, NewRow(event, "u1", key), now - timedelta(seconds=ago_s))
            assert id_ is not None
            if key == keys[2]:
                inbox.claim(connection, [id_], "t1")
        here = Address("telegram", "main", "42")
        causes = [AnswerOf(f"x{number}") for number in range(2)]
        parts = [OutboxPart(cause, 0, 0, Action.SEND, here, Rendered("x"), "x") for cause in causes]
        outbox.put(connection, "default", parts, now - timedelta(seconds=400))
        connection.execute(sa.update(table).where(table.c.cause == "x1").values(not_before=now + timedelta(days=1)))

    table = outbox.outbox
    await cluster.store.commit(admit)
    look = await cluster.store.read(leases.look_at_all)
    waiting = {shard: (backlog.rows, backlog.behind_s // 1_000) for shard, backlog in look.waiting.items()}
    assert {shard_of(keys[0]): (2, 2), shard_of(keys[1]): (1, 5)} == waiting
    assert {"under 60 s": 1, "under 3,600 s": 1, "over 3,600 s": 1} == dict(look.ages)
    (unsent,) = look.unsent.items()
    assert (("telegram", "main"), 1, 4) == (unsent[0], unsent[1].rows, unsent[1].behind_s // 100)


async def test_who_changed_is_told_with_the_commit(cluster: Cluster) -> None:
    heard: list[str] = []
    news = asyncio.Event()

    def hear(words: str) -> None:
        heard.append(words)
        news.set()

    link = link_to(cluster.url, hear, lambda: None)
    try:
        await link.transact(_nothing, 30.0)
        newcomer = Newcomer("default", "telegram:1", "telegram:main", "Ana", "member", "cli")
        person = await cluster.store.commit(people.enrol, newcomer=newcomer, now=NOW)
        await cluster.store.commit(people.set_role, person=person, role="blocked", by="cli", now=NOW)
        await link.notify("wake me\nin 3", 30.0)
        async with asyncio.timeout(30):
            while "wake me\nin 3" not in heard:
                await news.wait()
                news.clear()
    finally:
        await link.aclose()
    assert {f"{table} {person.user_id}" for table in ("users", "identities", "grants")} < set(heard)
    assert 2 == heard.count(f"users {person.user_id}")


def _nothing(_connection: Connection) -> None:
    """Connect."""
