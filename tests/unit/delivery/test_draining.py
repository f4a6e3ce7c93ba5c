"""A graceful stop: it waits for what can still be sent, and for nothing else."""

from datetime import timedelta

import pytest

from channels.errors import Retryable
from channels.messages import Address
from gateway.cluster.process import wait_until_idle
from tests.fakes.chat import Hang
from tests.fakes.spine import Spine
from tests.unit.delivery.test_lanes import tell, words

LIMIT = timedelta(seconds=20)


async def drain_s(spine: Spine) -> float:
    begun = spine.now

    async def pause(seconds: float) -> None:
        spine.later(seconds=seconds)
        await spine.store.read(lambda _: None)

    await wait_until_idle(spine.delivery.works_before, lambda: spine.now, LIMIT, pause)
    return (spine.now - begun).total_seconds()


@pytest.mark.parametrize(
    ("retry_after_s", "waited_s"), [pytest.param(600.0, 0, id="beyond the limit"), pytest.param(15.0, 20, id="within")]
)
async def test_a_lane_that_was_told_to_wait_is_waited_for_only_within_the_limit(
    spine: Spine, retry_after_s: float, waited_s: float
) -> None:
    spine.channel.fates.append(Retryable("too many", retry_after_s=retry_after_s))
    await tell(spine, words("a", 1))
    await spine.quiet()
    assert waited_s == pytest.approx(await drain_s(spine), abs=0.1)


async def test_a_call_in_flight_is_waited_for_beside_a_lane_that_sleeps(spine: Spine) -> None:
    spine.channel.fates.extend([Retryable("too many", retry_after_s=600.0), in_flight := Hang()])
    await tell(spine, words("a", 1))
    await spine.quiet()
    await tell(spine, words("b", 1), "t2", address=Address("sim", "main", "c2"))
    await spine.quiet()
    ends = spine.now + LIMIT
    assert spine.delivery.works_before(ends)
    in_flight.release.set()
    await spine.quiet()
    assert not spine.delivery.works_before(ends)
    assert 1 == len(spine.channel.shown("c2"))


async def test_a_lane_whose_channel_does_not_load_is_not_waited_for(spine: Spine) -> None:
    spine.channels.never_loads("other")
    await tell(spine, words("a", 1), address=Address("other", "main", "c1"))
    await spine.quiet()
    assert 0 == await drain_s(spine)
