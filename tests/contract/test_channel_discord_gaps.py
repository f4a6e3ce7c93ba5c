"""The Discord adapter's backfill after a gap, and malformed events."""

import pytest

from channels.base import ChannelState
from channels.discord.consumer import FILLING
from channels.simulators.shared.faults import Fault
from tests.fakes.discord import GUILD, MENTION, ROOM, discord, texts


async def test_what_a_resumed_session_replays_waits_for_an_older_gap():
    async with discord() as rig:
        await rig.lose_session((1, "in the gap"))
        rig.simulator.faults.script(Fault(kind="delay", method="getMessages", delay_s=2))
        async with rig.running(wait=False):
            await rig.until_gap(is_open=True)
        rig.simulator.say(1, "after it")
        await rig.restarted()
        async with rig.running(wait=False):
            await rig.sink.until(lambda: {"in the gap", "after it"} <= set(texts(rig)))
            await rig.until_gap(is_open=False)
        assert ["in the gap", "after it"] == [text for text in dict.fromkeys(texts(rig)) if text != "known"]
        assert (2, 1) == (rig.sessions.identifies, rig.sessions.resumes)


async def test_during_a_backfill_messages_keep_their_order_and_commands_do_not_wait():
    async with discord() as rig:
        await rig.lose_session((1, "old"))
        rig.simulator.faults.script(Fault(kind="delay", method="getMessages", delay_s=0.3))
        async with rig.running(wait=False):
            await rig.until_gap(is_open=True)
            rig.simulator.say(1, "new")
            used = rig.simulator.command(1, "stats")
            await rig.sink.until(lambda: bool(rig.sink.events))
            assert [f"int:{used.id}"] == [event.event_id for event in rig.sink.events]
            await rig.sink.until(lambda: "new" in texts(rig))
        assert ["known", "old", "new"] == list(dict.fromkeys(texts(rig)))


async def test_a_long_gap_is_capped_and_said():
    async with discord(backfill_messages=100) as rig:
        await rig.lose_session(*((1, f"m{n}") for n in range(250)))
        async with rig.running():
            await rig.sink.until(lambda: any("more than is fetched" in told for _, told in rig.sink.states))
        assert 100 == len(texts(rig))


async def test_channels_that_are_hidden_or_broken_do_not_stop_a_backfill():
    async with discord() as rig:
        rig.simulator.add_channel(5_003, GUILD)
        rig.simulator.add_channel(5_004, GUILD)
        await rig.lose_session(*((chat, f"in {chat}") for chat in (1, ROOM, 5_003, 5_004)))
        rig.simulator.world.channels[5_003].readable = False
        rig.simulator.faults.script(Fault(kind="status", method="getMessages", chat=5_004, times=None))
        async with rig.running():
            await rig.sink.until(lambda: any("1 were not read" in told for _, told in rig.sink.states))
        assert {"known", "in 1", f"in {ROOM}"} == set(texts(rig))


@pytest.mark.parametrize(
    ("event", "data"),
    [
        ("MESSAGE_CREATE", b'{"id":7,"channel_id":[],"content":{}}'),
        ("MESSAGE_CREATE", b"null"),
        ("MESSAGE_CREATE", b'{"id":"12","channel_id":"1","content":"x","author":{"id":"not a number"}}'),
        ("INTERACTION_CREATE", b'{"id":"5","token":7}'),
        ("GUILD_CREATE", b'{"id":{},"channels":"all"}'),
        ("MESSAGE_DELETE", b"[]"),
        ("MESSAGE_UPDATE", b'{"id":"1","channel_id":"1","edited_timestamp":"soon"}'),
    ],
)
async def test_a_malformed_dispatch_is_quarantined_and_the_next_one_heard(event: str, data: bytes):
    async with discord() as rig, rig.running():
        rig.simulator.inject(event, data)
        rig.simulator.say(1, "after")
        await rig.sink.until(lambda: "after" in texts(rig))
        assert [f"dispatch:{event}:"] == [kept.event_id[: len(event) + 10] for kept in rig.sink.rejected]
        assert (1, 1) == (rig.simulator.gateway.sockets, rig.sessions.identifies)


@pytest.mark.parametrize(
    "frame", [b"not json", b"[]", b'{"op":0,"d":{},"s":null}', b'{"op":99}', b'{"op":0,"t":"WHATEVER","s":2,"d":7}']
)
async def test_a_frame_that_is_none_does_not_end_the_connection(frame: bytes):
    async with discord() as rig, rig.running():
        rig.simulator.frame(frame)
        rig.simulator.say(1, "after")
        await rig.sink.until(lambda: "after" in texts(rig))
        assert 1 == rig.simulator.gateway.sockets


async def test_a_lone_surrogate_in_a_message_is_mended():
    raw = b'{"id":"77","channel_id":"1","content":"a\\ud83d b","type":0,"author":{"id":"1","username":"p"}}'
    async with discord() as rig, rig.running():
        rig.simulator.inject("MESSAGE_CREATE", raw)
        await rig.sink.until(lambda: bool(rig.sink.events))
        assert ["a\ufffd b"] == texts(rig)


async def test_health_says_that_it_hears_while_a_gap_is_being_filled():
    """READY as soon as a session exists, with the missing part named; the same after a kill in the gap."""
    async with discord() as rig:
        await rig.lose_session((1, "in the gap"))
        for _ in range(2):
            await rig.restarted()
            rig.simulator.faults.script(Fault(kind="delay", method="getMessages", delay_s=2))
            async with rig.running(wait=False):
                await rig.until_gap(is_open=True)
                await rig.sink.until(lambda: (ChannelState.READY, FILLING) in rig.sink.states)
                assert [] == texts(rig)
        await rig.restarted()
        async with rig.running(wait=False):
            await rig.until_gap(is_open=False)
            await rig.sink.until(lambda: rig.sink.states[-1] == (ChannelState.READY, ""))
        assert "in the gap" in texts(rig)


async def test_a_conversation_of_commands_alone_is_looked_into_after_a_gap():
    async with discord() as rig:
        async with rig.running():
            rig.simulator.command(2, "stats")
            await rig.sink.until(lambda: bool(rig.sink.events))
        rig.simulator.forget_sessions()
        rig.simulator.say(2, "in the gap")
        await rig.restarted()
        async with rig.running(wait=False):
            await rig.sink.until(lambda: texts(rig) == ["in the gap"])


async def test_a_direct_chat_that_cannot_be_read_back_is_named_and_read_as_soon_as_it_can_be():
    async with discord() as rig:
        await rig.lose_session((1, "in the gap, 1"), (2, "in the gap, 2"), known=(1, 2))
        rig.simulator.world.channels[2].readable = False
        for _ in range(2):
            await rig.restarted()
            async with rig.running(wait=False):
                await rig.sink.until(lambda: "in the gap, 1" in texts(rig))
                await rig.sink.until(lambda: "1 were not read: direct chat 2 (403)" in rig.sink.missing)
                await rig.sink.until(lambda: '"behind":0' not in (rig.sink.committed or ""))
                rig.simulator.say(1, "live")
                await rig.sink.until(lambda: "live" in texts(rig))
        rig.simulator.world.channels[2].readable = True
        await rig.restarted()
        async with rig.running(wait=False):
            await rig.sink.until(lambda: "in the gap, 2" in texts(rig))
            await rig.sink.until(lambda: '"behind":0' in (rig.sink.committed or ""))
        assert "" == rig.sink.missing


async def test_what_fails_for_a_while_is_read_later_beside_what_is_said_now():
    async with discord() as rig:
        await rig.lose_session((1, "in the gap"))
        rig.simulator.faults.script(Fault(kind="status", method="getMessages", chat=1, times=None))
        async with rig.running(wait=False):
            await rig.sink.until(lambda: "direct chat 1 (HTTP 500)" in rig.sink.missing)
            rig.simulator.say(3, "live")
            await rig.sink.until(lambda: texts(rig) == ["live"])
            rig.simulator.faults.clear()
            await rig.sink.until(lambda: texts(rig) == ["live", "known", "in the gap"])
            await rig.sink.until(lambda: '"behind":0' in (rig.sink.committed or ""))
        assert "" == rig.sink.missing


@pytest.mark.parametrize("method", ["getGuilds", "getChannels", "getThreads"])
async def test_a_server_that_does_not_list_its_channels_holds_up_no_direct_chat(method: str):
    async with discord() as rig:
        await rig.lose_session((1, "direct"), (ROOM, f"{MENTION} room"))
        rig.simulator.faults.script(Fault(kind="status", method=method, status=403, times=2))
        async with rig.running(wait=False):
            await rig.sink.until(lambda: "direct" in texts(rig))
            await rig.sink.until(lambda: "1 lists of channels were not read" in rig.sink.missing)
            await rig.sink.until(lambda: "room" in texts(rig))
            await rig.sink.until(lambda: rig.sink.missing == "")


async def test_what_a_gap_holds_comes_in_the_order_it_was_said_however_the_pages_are_sorted():
    """An emulator, or another version of Discord, may list messages in any order."""
    async with discord() as rig:
        said = [f"m{n}" for n in range(230)]
        await rig.lose_session(*(((1, 1, ROOM)[number % 3], text) for number, text in enumerate(said)))
        rig.simulator.world.pages_sorted = False
        async with rig.running(wait=False):
            await rig.sink.until(lambda: len(texts(rig)) == 231)
        assert ["known", *said] == texts(rig)


async def test_a_thread_that_fell_asleep_in_the_gap_is_read():
    async with discord() as rig:
        rig.simulator.add_thread(6_001, ROOM)
        rig.simulator.add_thread(6_002, ROOM).archived = True
        await rig.lose_session((6_001, f"{MENTION} in the gap"))
        rig.simulator.world.channels[6_001].archived = True
        async with rig.running(wait=False):
            await rig.sink.until(lambda: "in the gap" in texts(rig))
        assert ("5001", "6001") == (rig.sink.events[-1].address.chat, rig.sink.events[-1].address.thread)
