"""A process's view of its leases: valid until told otherwise, and never longer than they last."""

import asyncio

import pytest

from agent.errors import Fenced
from channels.messages import Address
from gateway.ownership import Ownership, SharedOwnership, out_name
from gateway.store.journal import Fence, shard_of
from gateway.store.leases import Lease, Round

KEY = "agent:coach:telegram:main:direct:1"
HERE = Address("telegram", "main", "1")
OUT = out_name("telegram:main")


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


async def test_one_process_alone_owns_everything() -> None:
    alone = Ownership(7)
    assert Fence(shard_of(KEY), 7) == alone.fence_of(KEY)
    assert alone.stands(alone.fence_of(KEY))
    lease = alone.sends(HERE)
    assert lease is not None
    await alone.confirm(lease)
    assert lease == await alone.until_held("chores")


async def test_what_is_gained_and_lost_is_told_by_its_epoch() -> None:
    owns = SharedOwnership(Clock(), lambda *_: None)
    assert ({1: 1, 2: 1}, []) == owns.update(Round({1: 1, 2: 1}, {}), 103.0)
    assert ({2: 3}, [1, 2]) == owns.update(Round({2: 3}, {}), 103.0)


async def test_what_is_not_renewed_runs_out_by_itself() -> None:
    clock = Clock()
    owns = SharedOwnership(clock, lambda *_: None)
    owns.update(Round({shard_of(KEY): 4}, {OUT: 2}), 103.0)
    fence = owns.fence_of(KEY)
    assert (True, Lease(OUT, 2)) == (owns.stands(fence), owns.sends(HERE))
    assert frozenset([Lease(OUT, 2)]) == owns.last_leases_to_send()
    clock.now_s = 103.0
    assert (False, None) == (owns.stands(fence), owns.sends(HERE))
    assert Lease(OUT, 2) == owns.last_lease_to_send(HERE)


async def test_a_lease_that_ran_out_is_waited_for_until_it_is_renewed_or_lost() -> None:
    clock = Clock()
    owns = SharedOwnership(clock, lambda *_: None)
    owns.update(Round({}, {OUT: 2}), 103.0)
    await owns.confirm(Lease(OUT, 2))
    clock.now_s = 103.0
    waiting = asyncio.ensure_future(owns.confirm(Lease(OUT, 2)))  # noqa: TID251  awaited below
    await asyncio.sleep(0)
    assert not waiting.done()
    owns.update(Round({}, {OUT: 2}), 106.0)
    await waiting
    with pytest.raises(Fenced):
        await owns.confirm(Lease(OUT, 1))


async def test_a_lease_of_another_epoch_is_lost() -> None:
    owns = SharedOwnership(Clock(), lambda *_: None)
    owns.update(Round({}, {OUT: 2}), 103.0)
    lease = await owns.until_held(OUT)
    waiting = asyncio.ensure_future(owns.until_lost(lease))  # noqa: TID251  awaited below
    await asyncio.sleep(0)
    owns.update(Round({}, {OUT: 3}), 103.0)
    await waiting
    assert not owns.stands(owns.fence_of(KEY))
