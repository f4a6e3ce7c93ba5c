"""Several sockets of one Slack app: events are spread over them, and the loss of one does not show."""

import asyncio

import pytest

from channels.base import ChannelState, Connections
from channels.simulators.shared.faults import Fault
from tests.fakes.sink import RecordingSink
from tests.fakes.slack import Rig, slack

SOCKETS = 3


async def _stand(rig: Rig, count: int = SOCKETS, made: int = SOCKETS) -> None:
    hub = rig.simulator.sockets
    await rig.simulator.until(lambda: (hub.connected, hub.connections) == (count, made), timeout_s=30)


async def test_events_come_by_every_socket_and_each_is_acknowledged_on_its_own():
    async with slack(simulated={"redeliver_after_s": 20.0}, sockets=SOCKETS) as rig, rig.running():
        await _stand(rig)
        rig.sink.open.clear()
        said = {rig.simulator.say(f"D{number % 5}", f"m{number}") for number in range(60)}
        await rig.sink.arriving.wait()
        assert 60 == len(rig.simulator.sockets.open)
        rig.sink.open.set()
        await rig.simulator.until(lambda: not rig.simulator.sockets.open, timeout_s=30)
        assert (said, 60) == ({event.message_id for event in rig.sink.events}, len(rig.sink.events))
        assert [] == rig.simulator.sockets.strayed
        assert Connections("sockets", SOCKETS, SOCKETS) == rig.channel.count_connections()
    assert rig.channel.count_connections() is None


@pytest.mark.parametrize("sockets", [1, SOCKETS, 10])
async def test_a_refresh_of_all_loses_nothing_and_doubles_nothing(sockets: int):
    async with slack(simulated={"redeliver_after_s": 20.0}, sockets=sockets) as rig, rig.running(wait=False):
        await _stand(rig, sockets, sockets)
        rig.simulator.sockets.refresh("warning")
        said = [rig.simulator.say(f"D{number % 4}", f"m{number}") for number in range(40)]
        await _stand(rig, sockets, 2 * sockets)
        said += [rig.simulator.say("D1", "after")]
        await rig.sink.until(lambda: len(rig.sink.events) == 41)
        await rig.simulator.until(lambda: not rig.simulator.sockets.open, timeout_s=30)
        assert sorted(said) == sorted(event.message_id for event in rig.sink.events)
        assert min(sockets + 1, 10) == rig.simulator.sockets.most_at_once
        assert ([], []) == (rig.simulator.sockets.strayed, rig.sink.details(ChannelState.DEGRADED))


async def test_a_cut_socket_loses_no_event():
    async with slack(simulated={"redeliver_after_s": 0.3}, sockets=SOCKETS) as rig, rig.running():
        await _stand(rig)
        rig.simulator.say("D1", "before")
        await rig.sink.until(lambda: len(rig.sink.events) == 1)
        for round_ in range(3):
            rig.simulator.sockets.abort_all(slice(1))
            said = {rig.simulator.say("D1", f"{round_}/{number}") for number in range(6)}
            await rig.sink.until(lambda said=said: said <= {event.message_id for event in rig.sink.events})
            await _stand(rig, made=SOCKETS + 1 + round_)
        assert [] == rig.sink.details(ChannelState.DEGRADED)


async def test_a_process_that_dies_with_several_sockets_is_followed_by_one_that_reads_the_gap():
    async with slack(simulated={"redeliver_after_s": 0.3}, sockets=SOCKETS) as rig:
        async with rig.running():
            await _stand(rig)
            rig.simulator.say("D1", "first")
            await rig.sink.until(lambda: len(rig.sink.events) == 1)
            rig.sink.refusals = 1_000_000
            held = {rig.simulator.say("D1", f"held {number}") for number in range(6)}
            await rig.sink.arriving.wait()
        missed = rig.simulator.say("D1", "missed", deliver=False)
        rig.sink = RecordingSink(rig.sink.committed)
        async with rig.running(wait=False):
            await rig.sink.until(lambda: {*held, missed} <= {event.message_id for event in rig.sink.events})
            await rig.simulator.until(lambda: not rig.simulator.sockets.open, timeout_s=30)


async def test_an_app_that_has_all_its_sockets_elsewhere_is_told_so():
    async with slack(sockets=10) as rig, rig.running(wait=False):
        await _stand(rig, 10, 10)
        other = type(rig.channel)(rig.channel._config, sleep=rig.pauses)  # noqa: SLF001  the same app in a second process
        crowded = RecordingSink()
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(other.run(crowded))
            await crowded.until(lambda: any("sockets of this app already" in words for _, words in crowded.states))
            running.cancel()
        await other.aclose()


async def test_slack_that_opens_no_further_socket_leaves_those_that_stand():
    async with slack(simulated={"redeliver_after_s": 0.3}, sockets=SOCKETS) as rig, rig.running():
        await _stand(rig)
        rig.simulator.faults.script(Fault(kind="status", method="apps.connections.open", times=4))
        rig.simulator.sockets.abort_all(slice(1))
        said = {rig.simulator.say("D1", f"m{number}") for number in range(6)}
        await rig.sink.until(lambda: said <= {event.message_id for event in rig.sink.events})
        await _stand(rig, made=SOCKETS + 1)
