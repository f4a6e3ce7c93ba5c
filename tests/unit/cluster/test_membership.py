"""One process's lease requests and its reports; the store behind it is a script."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
import structlog

from channels.api.adapter import ApiChannel
from channels.clocks import SteadyClock, steady_now
from gateway.cluster.membership import LATELY, LEASE_S, ClusterMembership
from gateway.cluster.process import ClusterProcess, member_id
from gateway.cluster.wakeups import Wakeups
from gateway.config.settings import Settings
from gateway.errors import GatewayError, StoreUnavailable
from gateway.inbound.connections import ChannelAccount
from gateway.ownership import CHORES, LEASES
from gateway.store import leases
from gateway.store.engine import Store, engine_for
from gateway.store.leases import Member, MemberStanding, Round
from gateway.store.postgres import PostgresLink
from gateway.supervision import Faults, Supervised
from tests.fakes.set_clock import SetClock

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
ALL = {"telegram:main": {}, "slack:hook": {"everywhere": True}, "web:web": {"everywhere": True}}


def member(name: str = "me", version: str = "1", key: str = "key") -> Member:
    return Member(f"{name}:1", name, version, key)


class ScriptedLink:
    def __init__(
        self, *rounds: Round | StoreUnavailable, others: Sequence[Member] = (), now: Callable[[], datetime] = steady_now
    ) -> None:
        self.rounds = list(rounds)
        self._now = now
        self.looks: list[dict[str, Any]] = []
        self.done: list[str] = []
        self.notices: list[str] = []
        self._others = others

    async def transact(self, job: Callable[..., Any], within_s: float) -> Any:
        if job is leases.server_now:
            return self._now()
        if isinstance(job, partial) and job.func is leases.look_round:
            self.looks.append(job.keywords)
            found = self.rounds.pop(0) if self.rounds else Round({}, {})
            if isinstance(found, StoreUnavailable):
                raise found
            return found
        self.done.append(job.func.__name__ if isinstance(job, partial) else job.__name__)
        return [MemberStanding(other, NOW, True, False, 0) for other in self._others]

    async def notify(self, words: str, within_s: float) -> None:
        self.notices.append(words)


def membership(link: ScriptedLink, me: Member, told: "Told | None" = None) -> ClusterMembership:
    return ClusterMembership(me, cast(PostgresLink, link), Wakeups(me.id), told or Told())


def accounts() -> list[ChannelAccount]:
    return [ChannelAccount(*name.split(":"), make=ApiChannel, **how) for name, how in ALL.items()]


async def test_a_process_sends_for_the_accounts_that_it_reads_for() -> None:
    link = ScriptedLink(Round({}, {"in telegram:main": 1}))
    one = membership(link, member())
    await one.begin(accounts, NOW)
    await one.look()
    ask = link.looks[1]["ask"]
    assert {"chores", "out telegram:main"} == set(ask.wanted)
    assert {"in telegram:main", "in slack:hook"} == set(ask.shared)


async def test_a_process_that_joins_gets_accounts_once_nothing_is_on_its_way_out_by_them() -> None:
    names = {f"{way} telegram:{name}": 1 for way in ("in", "out") for name in ("one", "two")}
    held = [ChannelAccount("telegram", name, ApiChannel) for name in ("one", "two")]
    link, told = ScriptedLink(Round({}, names), *[Round({}, names, living=2)] * 3), Told()
    one = membership(link, member(), told)
    await one.begin(lambda: held, NOW)
    await one.look()
    (account,) = {name.partition(" ")[2] for name in names if one.ownership.lease(name) is None}
    told.sending = account
    await one.look()
    assert {f"in {account}"} == set(link.looks[-1]["ask"].given_names)
    told.sending = ""
    await one.look()
    assert {f"in {account}", f"out {account}"} == set(link.looks[-1]["ask"].given_names)


async def test_a_process_that_joins_gets_its_share_of_the_shards_at_work() -> None:
    all_ = dict.fromkeys(range(256), 1)
    link, told = ScriptedLink(Round(all_, {}), *[Round(all_, {}, living=2)] * 2), Told()
    told.idle = list(range(100, 256))
    one = membership(link, member(), told)
    await one.begin(list, NOW)
    await one.look()
    assert (128, 50) == (len(told.parting), len([shard for shard in told.parting if shard < 100]))
    await one.look()
    assert {shard for shard in told.parting if shard >= 100} == set(link.looks[-1]["ask"].given)


class Told:
    def __init__(self) -> None:
        self.said: list[object] = []
        self.idle = [7]
        self.parting: Collection[int] = ()
        self.sending = ""

    def gain_shards(self, shards: Mapping[int, int]) -> None:
        self.said.append(dict(shards))

    def lose_shards(self, shards: Collection[int]) -> None:
        self.said.append(list(shards))

    def note_leases(self) -> None:
        self.said.append("named")

    def list_idle(self) -> list[int]:
        return self.idle

    def part_with(self, shards: Collection[int]) -> None:
        self.parting = shards

    def is_sending(self, account: str) -> bool:
        return account == self.sending


async def test_what_is_gained_and_lost_is_told_and_no_more() -> None:
    link = ScriptedLink(Round({1: 1}, {}), Round({1: 1}, {}), Round({1: 3, 2: 1}, {CHORES: 1}))
    told = Told()
    one = membership(link, member(), told)
    assert 0 == await one.begin(accounts, NOW)
    assert [{1: 1}] == told.said
    told.said.clear()
    await one.look()
    assert [] == told.said
    await one.look()
    assert [[1], "named", {1: 3, 2: 1}] == told.said


async def test_one_with_other_keys_does_not_join() -> None:
    link = ScriptedLink(others=[member("other", key="another")])
    with pytest.raises(GatewayError, match=r"other keys than the gateway on other .* copy pairing.key"):
        await membership(link, member()).begin(accounts, NOW)
    assert ["join", "leave"] == link.done


async def test_another_version_is_told_at_the_start() -> None:
    link = ScriptedLink(others=[member("old", version="0.9"), member("me")])
    with structlog.testing.capture_logs() as logged:
        assert 1 == await membership(link, member()).begin(accounts, NOW)
    (said,) = [line for line in logged if line["event"] == "versions_differ"]
    assert ("1", ["0.9"]) == (said["ours"], said["others"])


async def test_a_machine_whose_clock_is_off_goes_by_the_servers() -> None:
    machine = SetClock()
    clock, late = SteadyClock(machine.wall, machine.passed_s), machine.wall() + timedelta(seconds=30)
    link = cast(PostgresLink, ScriptedLink(Round({}, {}, at=late), Round({}, {}, at=late), now=lambda: late))
    one = ClusterMembership(member(), link, Wakeups("me:1"), Told(), follow=clock.follow)
    with structlog.testing.capture_logs() as logged:
        await one.begin(accounts, NOW)
        await one.look()
    assert abs(clock() - late) < timedelta(seconds=1)
    assert [-30] == [round(line["seconds"]) for line in logged if line["event"] == "clock_differs"]


async def test_a_server_that_is_away_is_asked_again_and_what_was_owned_runs_out() -> None:
    link = ScriptedLink(Round({1: 1}, {}), StoreUnavailable("gone"), Round({1: 1}, {}))
    one = membership(link, member())
    await one.begin(accounts, NOW)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(one.run())
        while len(link.looks) < 3:
            one.wakeups.hear(f"wake other\n{LEASES} ")
            await asyncio.sleep(0)
        running.cancel()
    assert {1: 1} == one.ownership.shards


async def test_one_that_heard_nothing_for_longer_than_a_lease_lets_others_come_back_first() -> None:
    link, times_s = ScriptedLink(), iter([0.0, 0.0, LEASE_S, LEASE_S * 2 + 0.5, LEASE_S * 2 + 1, LEASE_S * 2 + 1.5])
    one = ClusterMembership(member(), cast(PostgresLink, link), Wakeups("me:1"), Told(), lambda: next(times_s))
    await one.begin(accounts, NOW)
    for _ in range(4):
        await one.look()
    nothing = timedelta(0)
    assert [nothing, nothing, LATELY, LATELY, nothing] == [look["takes"] for look in link.looks]


def test_no_two_processes_have_one_name_though_their_homes_are_copies_and_their_numbers_alike(tmp_path: Path) -> None:
    """In containers each is process 1; under one name both would hold the same shards by the same epochs."""
    first, second = member_id(tmp_path), member_id(tmp_path)
    assert first != second
    assert first.partition(".")[0] == second.partition(".")[0]


async def test_one_that_leaves_takes_nothing_and_tells_the_others() -> None:
    link = ScriptedLink(Round({1: 1}, {"in telegram:main": 1, "out telegram:main": 2, CHORES: 1}))
    one = membership(link, member())
    await one.begin(accounts, NOW)
    await one.begin_leaving()
    await one.look()
    assert ([], None) == (list(link.looks[-1]["ask"].wanted), link.looks[-1]["takes"])
    await one.leave()
    assert ["wake me:1\nleases "] == link.notices


async def test_chores_are_done_where_their_lease_is() -> None:
    url = "postgresql://nobody@127.0.0.1:1/none"
    settings = Settings.model_validate({"gateway": {"database_url": url}})
    presence = ClusterProcess(settings, Store(engine_for(url)), member(), Wakeups("me:1"))
    owns = presence._membership.ownership  # noqa: SLF001  what a look at the database would change
    at_work: list[str] = []

    async def chore() -> None:
        at_work.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            at_work.append("ended")

    async def held(*names: str, epoch: int = 1) -> None:
        before = len(at_work)
        owns.update(Round({}, dict.fromkeys(names, epoch)), float("inf"))
        async with asyncio.timeout(30):
            while len(at_work) == before:
                await asyncio.sleep(0)

    with suppress(StoreUnavailable):
        async with Supervised(Faults()) as tasks:
            doing = tasks.create_task(presence.alone(chore, tasks)())
            await held(CHORES)
            assert presence.does_chores
            await held()
            assert not presence.does_chores
            assert ["begun", "ended"] == at_work
            await held(CHORES, epoch=3)
            assert ["begun", "ended", "begun"] == at_work
            doing.cancel()
    await presence._link.aclose()  # noqa: SLF001  it never connected
    assert ["begun", "ended"] * 2 == at_work
