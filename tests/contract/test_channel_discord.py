"""The Discord adapter against the simulator: sessions are kept, nothing is acknowledged early, trouble is reported."""

import asyncio
import traceback

import pytest

from channels.base import (
    ChannelState,
)
from channels.discord.ingest import MOST_WAITING
from channels.errors import ConfigRefused, Retryable, Unknown
from channels.simulators.shared.faults import Fault
from tests.fakes.discord import MENTION, ROOM, TOKEN, Rig, discord, invoked, part, texts
from tests.fakes.sink import RecordingSink


async def test_a_store_that_stands_still_stops_the_reading_and_loses_nothing():
    async with discord() as rig, rig.running():
        rig.sink.open.clear()
        said = [f"msg:{rig.simulator.say(1, f'm{n}')}" for n in range(MOST_WAITING + 1_500)]
        await rig.sink.arriving.wait()
        rig.sink.open.set()
        await rig.sink.until(lambda: len(rig.sink.events) >= len(said))
        assert said == [event.event_id for event in rig.sink.events]
        assert (1, 1) == (rig.sessions.identifies, rig.simulator.gateway.sockets)


async def test_a_graceful_end_keeps_the_session():
    """The socket closes with a 4xxx code, because 1000 and 1001 would end the session."""
    async with discord() as rig:
        async with rig.running():
            pass
        await rig.simulator.until(lambda: bool(rig.sessions.closes))
        assert [4900] == rig.sessions.closes


async def test_a_gateway_that_says_nothing_is_given_up():
    async with discord(connect_timeout_s=0.1) as rig:
        rig.simulator.gateway.silent = True
        async with rig.running(wait=False):
            await rig.simulator.until(lambda: rig.simulator.gateway.sockets >= 2)
            rig.simulator.gateway.silent = False
            await rig.connected()
        assert any("TimeoutError" in told for told in rig.sink.details(ChannelState.DEGRADED))


async def test_a_dead_token_ends_the_channel_and_says_where_to_mend_it():
    async with discord("wrong.token.here") as rig:
        with pytest.raises(ConfigRefused, match=r"discord\.com/developers/applications.*page Bot"):
            await rig.sink.run(rig.channel)
        assert ChannelState.FAILED == rig.sink.states[-1][0]
        with pytest.raises(Retryable):
            await rig.channel.send(part("x"))


async def _refused(rig: Rig) -> str:
    with pytest.raises(ConfigRefused) as caught:
        await rig.sink.run(rig.channel)
    return str(caught.value)


async def test_a_token_revoked_while_running_ends_the_channel():
    async with discord() as rig:
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(_refused(rig))
            await rig.connected()
            rig.simulator.world.bot().revoked = True
            rig.simulator.close_sockets(4004)
        assert "Reset Token" in running.result()


async def test_a_missing_intent_ends_the_channel_and_says_where_to_switch_it_on():
    async with discord() as rig:
        rig.simulator.world.bot().message_content = False
        with pytest.raises(
            ConfigRefused, match=r"Message Content Intent at https://discord\.com.*message_content = false"
        ):
            await rig.sink.run(rig.channel)


async def test_without_asking_for_the_intent_the_bot_runs():
    async with discord(message_content=False) as rig:
        rig.simulator.world.bot().message_content = False
        async with rig.running():
            rig.simulator.say(ROOM, "secret", person=7)
            rig.simulator.say(ROOM, f"{MENTION} open", person=7)
            rig.simulator.say(1, "direct")
            await rig.sink.until(lambda: len(rig.sink.events) == 2)
        assert ["open", "direct"] == texts(rig)


async def test_new_sessions_are_rationed():
    """More than 20 IDENTIFY an hour could cost the token."""
    async with discord() as rig:
        async with rig.running():
            for number in range(19):
                rig.simulator.invalidate()
                await rig.simulator.until(lambda n=number: rig.sessions.identifies == n + 2 and rig.sessions.connected)
            rig.simulator.invalidate()
            await rig.sink.until(lambda: any("new sessions within an hour" in told for _, told in rig.sink.states))
        assert 3_500 < max(rig.pauses.asked_s) <= 3_600


async def test_no_error_holds_a_secret():
    """Cover A92."""
    async with discord() as rig, rig.running():
        event = await invoked(rig)
        await rig.simulator.until(lambda: bool(rig.simulator.messages(1)))
        assert event.route is not None
        secret = event.route.token.partition("/")[2]
        rig.simulator.faults.script(Fault(kind="cut", method="editOriginal"))
        with pytest.raises(Unknown) as caught:
            await rig.channel.send(part("x", route=event.route))
        told = "".join(traceback.format_exception(caught.value)) + repr(rig.channel) + repr(rig.config)
        assert TOKEN not in told
        assert secret not in told


async def test_a_second_sink_over_the_same_cursor_is_another_process():
    async with discord() as rig:
        rig.sink = RecordingSink("not a cursor")
        async with rig.running(wait=False):
            await rig.sink.until(lambda: (rig.sink.committed or "").startswith('{"session"'))
            rig.simulator.say(1, "hi")
            await rig.sink.until(lambda: bool(rig.sink.events))
