"""Sends of the Discord adapter: no pings, nothing doubled, earlier attempts found."""

import pytest

from channels.errors import Retryable
from channels.simulators.shared.faults import Fault
from tests.fakes.discord import GUILD, MENTION, ROOM, discord, invoked, part, texts


async def test_nothing_said_pings_or_unfurls():
    """Cover A62."""
    loud = f"@everyone @here <@&{GUILD}> <@1> https://example.org"
    async with discord() as rig, rig.running():
        event = await invoked(rig)
        await rig.channel.send(part(loud, route=event.route))
        ours = await rig.channel.send(part(loud, key="k2"))
        await rig.channel.edit(part(loud), ours.platform_id)
        assert [(), ()] == [message.pings for message in rig.simulator.answers(1)]
        assert 4 == rig.simulator.answers(1)[1].flags


async def test_a_message_of_everyone_said_to_us_is_text():
    async with discord() as rig, rig.running():
        rig.simulator.say(ROOM, f"{MENTION} @everyone", person=7)
        await rig.sink.until(lambda: bool(rig.sink.events))
        assert ["@everyone"] == texts(rig)
        await rig.channel.send(part(rig.channel.renderer.plain("@everyone").text, chat=ROOM))
        assert [()] == [message.pings for message in rig.simulator.answers(ROOM)]


async def test_earlier_attempts_are_found():
    long = "word " * 40
    async with discord() as rig:
        async with rig.running():
            asked = rig.simulator.say(1, "?")
            echoed = await rig.channel.send(part("ok", key="echo"))
            await rig.sink.until(lambda: bool(rig.sink.events))
            rig.simulator.say(1, "!")
            await rig.sink.until(lambda: len(rig.sink.events) == 2)
            assert echoed == await rig.channel.find_sent(part("ok", key="echo"))
        answered = await rig.channel.send(part("yes", key="a", reply_to=asked))
        told = await rig.channel.send(part(long, key="b"))
        await rig.restarted()
        assert answered == await rig.channel.find_sent(part("yes", key="a", reply_to=asked))
        assert told == await rig.channel.find_sent(part(long, key="b"))
        assert await rig.channel.find_sent(part("ok", key="echo")) is None
        assert await rig.channel.find_sent(part("no", key="c", reply_to=asked)) is None
        rig.simulator.faults.script(Fault(kind="cut", method="getMessages", times=2))
        with pytest.raises(Retryable):
            await rig.channel.find_sent(part("no", key="c"))


async def test_a_limit_of_the_channel_is_kept_by_the_library():
    async with discord(bucket=(5, 0.3)) as rig:
        for number in range(12):
            await rig.channel.send(part("x", key=f"k{number}"))
        assert 12 == len(rig.simulator.answers(1))
        assert [200] * 12 == [call.status for call in rig.simulator.history(1)]


async def test_a_call_given_up_in_the_global_limit_holds_up_no_other():
    everywhere = Fault(kind="status", status=429, retry_after_s=1.2, everywhere=True, method="createMessage")
    async with discord(call_timeout_s=1.0) as rig:
        await rig.channel.send(part("before"))
        rig.simulator.faults.script(everywhere)
        with pytest.raises(Retryable):
            await rig.channel.send(part("given up", key="k1"))
        await rig.channel.send(part("after", key="k2"))
        assert "after" == rig.simulator.answers(1)[-1].text
