"""The Discord adapter against the simulator: nothing lost, nothing acknowledged early, every trouble told."""

import asyncio
import gc
import traceback
from datetime import UTC, datetime, timedelta

import pytest

from channels.base import (
    ChannelState,
    DeletesMessages,
    EditsMessages,
    FetchesMedia,
    FindsSent,
    HasButtons,
    HasCommands,
    Reacts,
    SendsMedia,
    ShowsTyping,
    Sign,
)
from channels.discord.adapter import REACTIONS
from channels.discord.simulator.faults import Fault
from channels.discord.simulator.simulated import Special
from channels.errors import ConfigRefused, Permanent, Retryable, Unknown
from channels.messages import (
    Address,
    Attachment,
    AttachmentKind,
    Button,
    ButtonPressed,
    ButtonStyle,
    CommandInvoked,
    InboundMessage,
    Membership,
    MembershipChanged,
    MessageDeleted,
)
from tests.fakes.discord import BOT_ID, FORUM, GUILD, ROOM, TOKEN, Rig, discord, part
from tests.fakes.sink import RecordingSink

HOME = Address("discord", "main", "1")
MENTION = f"<@{BOT_ID}>"


def texts(rig: Rig) -> list[str]:
    """What was said, in the order it was handed in."""
    return [event.text for event in rig.sink.events if isinstance(event, InboundMessage)]


# ---------------------------------------------------------------- in: commit, order, sessions


async def test_sequence_is_committed_with_the_message():
    """The cursor that goes with an event names the session and the sequence number of that event."""
    async with discord() as rig, rig.running():
        rig.simulator.say(1, "hello")
        await rig.sink.until(lambda: bool(rig.sink.events))
        (session,) = rig.sessions.live()
        assert f'"id":"{session.id}"' in (rig.sink.committed or "")
        assert f'"seq":{session.seq}' in (rig.sink.committed or "")
        assert '"direct":["1"]' in (rig.sink.committed or "")


async def test_killed_before_the_commit_gets_the_message_again():
    """Four runs that end inside `receive` commit nothing; the fifth is given the same message (redelivery x 4)."""
    async with discord() as rig:
        async with rig.running():
            pass
        rig.sink.open.clear()
        said = rig.simulator.say(1, "keep me")
        for _ in range(4):
            await rig.restarted(rig.sink)
            rig.sink.arriving.clear()
            async with rig.running(wait=False):
                await rig.sink.arriving.wait()
        rig.sink.open.set()
        await rig.restarted(rig.sink)
        async with rig.running(wait=False):
            await rig.sink.until(lambda: bool(rig.sink.events))
        assert [f"msg:{said}"] * 5 == [batch[0] for batch in rig.sink.batches if batch]
        assert ["keep me"] == texts(rig)
        assert (1, 5) == (rig.sessions.identifies, rig.sessions.resumes)


async def test_batch_the_store_refuses_is_offered_again():
    """NotPersisted three times: the same message comes four times, with backoff, and the cursor does not move."""
    async with discord() as rig, rig.running():
        before = rig.sink.committed
        rig.sink.refusals = 3
        said = rig.simulator.say(1, "one")
        await rig.sink.until(lambda: rig.sink.refusals < 3)
        assert before == rig.sink.committed
        await rig.sink.until(lambda: bool(rig.sink.events))
        assert [[f"msg:{said}"]] * 4 == rig.sink.batches[-4:]
        assert [0.05, 0.1, 0.2] == rig.pauses.asked_s
        assert any("store" in told for told in rig.sink.details(ChannelState.DEGRADED))


async def test_order_in_is_order_kept_in_a_burst():
    """500 messages in four channels, one a thread nobody told of, arrive once each in the order they were said."""
    async with discord() as rig:
        thread = rig.simulator.add_thread(6_001, ROOM)
        async with rig.running():
            chats = [1, ROOM, thread.id, ROOM]
            said = [f"msg:{rig.simulator.say(chats[n % 4], f'm{n}', person=1 + n % 3)}" for n in range(500)]
            await rig.sink.until(lambda: len(rig.sink.events) >= 500)
        assert said == [event.event_id for event in rig.sink.events]


async def test_restart_resumes_and_nothing_comes_twice():
    """What was committed is not replayed; what was said meanwhile is, without a new session (P2)."""
    async with discord() as rig:
        async with rig.running():
            rig.simulator.say(1, "one")
            await rig.sink.until(lambda: len(rig.sink.events) == 1)
        rig.simulator.say(1, "two")
        rig.simulator.command(1, "stats")
        await rig.restarted()
        async with rig.running(wait=False):
            await rig.sink.until(lambda: len(rig.sink.events) == 2)
        assert ["two"] == texts(rig)
        assert isinstance(rig.sink.events[1], CommandInvoked)
        assert (1, 1) == (rig.sessions.identifies, rig.sessions.resumes)


async def test_a_graceful_end_keeps_the_session():
    """The socket is closed with a 4xxx code: 1000 and 1001 would end the session (FAULTS 0.1)."""
    async with discord() as rig:
        async with rig.running():
            pass
        await rig.simulator.until(lambda: bool(rig.sessions.closes))
        assert [4900] == rig.sessions.closes


@pytest.mark.parametrize("trouble", ["op 7", "cut", "4009", "1000 by Discord", "op 9, resumable"])
async def test_what_is_said_while_the_connection_is_away_is_replayed(trouble: str):
    """Op 7, a cut and closes that allow it: the session is taken up again, nothing is lost or doubled (P5)."""
    async with discord() as rig, rig.running():
        rig.simulator.say(1, "before")
        await rig.sink.until(lambda: len(rig.sink.events) == 1)
        match trouble:
            case "op 7":
                rig.simulator.ask_reconnect()
            case "cut":
                rig.simulator.close_sockets(None)
            case "4009":
                rig.simulator.close_sockets(4009)
            case "1000 by Discord":
                rig.simulator.close_sockets(1000)
            case _:
                rig.simulator.invalidate(resumable=True)
        rig.simulator.say(1, "meanwhile")
        await rig.sink.until(lambda: len(rig.sink.events) >= 2)
        await rig.simulator.until(lambda: rig.sessions.connected)
        rig.simulator.say(1, "after")
        await rig.sink.until(lambda: len(rig.sink.events) >= 3)
        assert ["before", "meanwhile", "after"] == texts(rig)
        assert (1, 1) == (rig.sessions.identifies, rig.sessions.resumes)


async def test_a_connection_closed_before_hello_is_tried_again():
    """The library's own client would end silently here (WIRE, Discord)."""
    async with discord() as rig:
        rig.simulator.gateway.greeting_closes = [None, 1001]
        async with rig.running():
            rig.simulator.say(1, "hello")
            await rig.sink.until(lambda: bool(rig.sink.events))
        assert 3 == rig.simulator.gateway.sockets
        assert [1.0, 2.0][:1] == rig.pauses.asked_s[:1]


async def test_a_gateway_that_says_nothing_is_given_up():
    """No HELLO within the time for connecting: another connection."""
    async with discord(connect_timeout_s=0.1) as rig:
        rig.simulator.gateway.silent = True
        async with rig.running(wait=False):
            await rig.simulator.until(lambda: rig.simulator.gateway.sockets >= 2)
            rig.simulator.gateway.silent = False
            await rig.connected()
        assert any("TimeoutError" in told for told in rig.sink.details(ChannelState.DEGRADED))


# ---------------------------------------------------------------- in: gaps


async def test_after_a_lost_session_the_gap_is_filled_from_history():
    """A new session replays nothing: channel, thread, forum post and direct conversation are read (A gap of F-P5)."""
    async with discord() as rig:
        rig.simulator.add_channel(FORUM, GUILD, forum=True)
        rig.simulator.add_thread(6_001, ROOM)
        rig.simulator.add_thread(6_002, FORUM)
        async with rig.running():
            rig.simulator.say(1, "known")
            await rig.sink.until(lambda: len(rig.sink.events) == 1)
        rig.simulator.forget_sessions()
        places = [1, ROOM, 6_001, 6_002]
        said = {chat: [f"{chat}/{n}" for n in range(120)] for chat in places}
        for n in range(120):
            for chat in places:
                rig.simulator.say(chat, said[chat][n], person=7)
        await rig.restarted()
        async with rig.running():
            await rig.sink.until(lambda: len(texts(rig)) >= 481)  # "known" lies in the overlap, dedupe takes it
            rig.simulator.say(1, "live")
            await rig.sink.until(lambda: texts(rig)[-1] == "live")
        for chat in places:
            assert said[chat] == [text for text in texts(rig) if text.startswith(f"{chat}/")]
        addresses = {(event.address.chat, event.address.thread) for event in rig.sink.events}
        assert {("1", None), (str(ROOM), None), (str(ROOM), "6001"), (str(FORUM), "6002")} == addresses
        assert '"gap":false' in (rig.sink.committed or "")


async def test_a_gap_that_was_not_filled_before_a_kill_is_filled_after_it():
    """The cursor says that a gap is open; a resumed session does not hide it."""
    async with discord() as rig:
        async with rig.running():
            rig.simulator.say(1, "known")
            await rig.sink.until(lambda: bool(rig.sink.events))
        rig.simulator.forget_sessions()
        rig.simulator.say(1, "in the gap")
        await rig.restarted()
        rig.simulator.faults.script(Fault(kind="delay", method="getMessages", delay_s=5))
        async with rig.running(wait=False):
            await rig.sink.until(lambda: '"gap":true' in (rig.sink.committed or ""))
        assert [] == texts(rig)
        await rig.restarted()
        async with rig.running(wait=False):
            await rig.sink.until(lambda: "in the gap" in texts(rig))
            await rig.sink.until(lambda: '"gap":false' in (rig.sink.committed or ""))
        assert (2, 1) == (rig.sessions.identifies, rig.sessions.resumes)


async def test_during_a_backfill_messages_keep_their_order_and_commands_do_not_wait():
    """Live messages wait for the history of before; interactions, which have 3 s, pass."""
    async with discord() as rig:
        async with rig.running():
            rig.simulator.say(1, "known")
            await rig.sink.until(lambda: bool(rig.sink.events))
        rig.simulator.forget_sessions()
        rig.simulator.say(1, "old")
        await rig.restarted()
        rig.simulator.faults.script(Fault(kind="delay", method="getMessages", delay_s=0.3))
        async with rig.running(wait=False):
            await rig.sink.until(lambda: '"gap":true' in (rig.sink.committed or ""))
            rig.simulator.say(1, "new")
            used = rig.simulator.command(1, "stats")
            await rig.sink.until(lambda: bool(rig.sink.events))
            assert [f"int:{used.id}"] == [event.event_id for event in rig.sink.events]
            await rig.sink.until(lambda: "new" in texts(rig))
        assert ["known", "old", "new"] == list(dict.fromkeys(texts(rig)))


async def test_first_contact_starts_at_the_newest():
    """A bot that never ran here replays nothing of what was said before."""
    async with discord() as rig:
        rig.simulator.say(1, "long ago")
        rig.simulator.say(ROOM, f"{MENTION} long ago", person=7)
        async with rig.running():
            rig.simulator.say(1, "now")
            await rig.sink.until(lambda: bool(rig.sink.events))
        assert ["now"] == texts(rig)


async def test_a_long_gap_is_capped_and_said():
    """More than `backfill_messages` of one channel are not fetched; health and the log say so."""
    async with discord(backfill_messages=100) as rig:
        async with rig.running():
            rig.simulator.say(1, "known")
            await rig.sink.until(lambda: bool(rig.sink.events))
        rig.simulator.forget_sessions()
        for n in range(250):
            rig.simulator.say(1, f"m{n}")
        await rig.restarted()
        async with rig.running():
            await rig.sink.until(lambda: any("more than is fetched" in told for _, told in rig.sink.states))
        assert 100 == len(texts(rig))


async def test_channels_that_are_hidden_or_broken_do_not_stop_a_backfill():
    """403 is passed over; a channel that answers 500 for ever is given up and named; the others are read."""
    async with discord() as rig:
        rig.simulator.add_channel(5_003, GUILD)
        rig.simulator.add_channel(5_004, GUILD)
        async with rig.running():
            rig.simulator.say(1, "known")
            await rig.sink.until(lambda: bool(rig.sink.events))
        rig.simulator.forget_sessions()
        for chat in (1, ROOM, 5_003, 5_004):
            rig.simulator.say(chat, f"in {chat}", person=7)
        rig.simulator.world.channels[5_003].readable = False
        rig.simulator.faults.script(Fault(kind="status", method="getMessages", chat=5_004, times=None))
        await rig.restarted()
        async with rig.running():
            await rig.sink.until(lambda: '"gap":false' in (rig.sink.committed or ""))
        assert {"known", "in 1", f"in {ROOM}"} == set(texts(rig))
        assert any("1 were not read" in told for _, told in rig.sink.states)


# ---------------------------------------------------------------- in: bad input


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
    """The library's own client ends at these; here they are kept and the connection stays (WIRE, Discord)."""
    async with discord() as rig, rig.running():
        rig.simulator.inject(event, data)
        rig.simulator.say(1, "after")
        await rig.sink.until(lambda: "after" in texts(rig))
        assert [f"dispatch:{event}:"] == [one.event_id[: len(event) + 10] for one in rig.sink.rejected]
        assert (1, 1) == (rig.simulator.gateway.sockets, rig.sessions.identifies)


@pytest.mark.parametrize(
    "frame", [b"not json", b"[]", b'{"op":0,"d":{},"s":null}', b'{"op":99}', b'{"op":0,"t":"WHATEVER","s":2,"d":7}']
)
async def test_a_frame_that_is_none_does_not_end_the_connection(frame: bytes):
    """What cannot be read is kept or passed over."""
    async with discord() as rig, rig.running():
        rig.simulator.frame(frame)
        rig.simulator.say(1, "after")
        await rig.sink.until(lambda: "after" in texts(rig))
        assert 1 == rig.simulator.gateway.sockets


async def test_a_lone_surrogate_in_a_message_is_mended():
    """Half an emoji, as some clients send it, is no reason to lose the message."""
    raw = b'{"id":"77","channel_id":"1","content":"a\\ud83d b","type":0,"author":{"id":"1","username":"p"}}'
    async with discord() as rig, rig.running():
        rig.simulator.inject("MESSAGE_CREATE", raw)
        await rig.sink.until(lambda: bool(rig.sink.events))
        assert ["a\ufffd b"] == texts(rig)


# ---------------------------------------------------------------- in: what people do


async def test_in_a_server_a_mention_or_a_reply_is_meant_for_the_bot():
    """The rest is context; the mention itself is taken out of the text."""
    async with discord() as rig, rig.running():
        ours = int((await rig.channel.send(part("I am here", chat=ROOM))).platform_id)
        rig.simulator.say(ROOM, "among us", person=7)
        rig.simulator.say(ROOM, f"{MENTION} /stats", person=7)
        rig.simulator.say(ROOM, "and this?", person=7, reply_to=ours)
        rig.simulator.add_person(8, "Ana")
        rig.simulator.say(ROOM, f"ask <@8>, {MENTION}", person=7)
        await rig.sink.until(lambda: len(rig.sink.events) == 4)
        heard = [(event.text, event.mentions_bot) for event in rig.sink.events if isinstance(event, InboundMessage)]
        assert [("among us", False), ("/stats", True), ("and this?", True), ("ask @Ana,", True)] == heard


async def test_channels_are_woken_as_configured():
    """always: everything is meant for the bot, in its threads too; off: nothing is read."""
    async with discord(always_in=[str(ROOM)], off_in=["5003"]) as rig:
        rig.simulator.add_channel(5_003, GUILD)
        rig.simulator.add_thread(6_001, ROOM)
        async with rig.running():
            rig.simulator.say(5_003, f"{MENTION} unheard", person=7)
            rig.simulator.say(ROOM, "heard", person=7)
            rig.simulator.say(6_001, "heard too", person=7)
            await rig.sink.until(lambda: len(rig.sink.events) == 2)
        assert [("heard", True), ("heard too", True)] == [(e.text, e.mentions_bot) for e in rig.sink.events]


async def test_a_thread_nobody_told_of_is_asked_for():
    """After a resume no list of channels comes: the parent of a thread is asked for once."""
    async with discord() as rig:
        rig.simulator.add_thread(6_001, ROOM)
        async with rig.running():
            pass
        await rig.restarted()
        rig.simulator.say(6_001, "one", person=7)
        rig.simulator.say(6_001, "two", person=7)
        async with rig.running(wait=False):
            await rig.sink.until(lambda: len(rig.sink.events) == 2)
        assert {(str(ROOM), "6001")} == {(event.address.chat, event.address.thread) for event in rig.sink.events}


async def test_edits_deletions_and_embeds():
    """An edit is an event of its own, an embed that Discord adds is none, a deletion names who had written."""
    async with discord() as rig, rig.running():
        said = rig.simulator.say(1, "20 minutes")
        rig.simulator.unfurl(1, said)
        rig.simulator.edit(1, said, "30 minutes")
        rig.simulator.delete(1, said)
        await rig.sink.until(lambda: len(rig.sink.events) == 3)
        first, changed, gone = rig.sink.events
        assert isinstance(first, InboundMessage)
        assert isinstance(changed, InboundMessage)
        assert isinstance(gone, MessageDeleted)
        assert ("30 minutes", True, str(said)) == (changed.text, changed.edited, changed.message_id)
        assert changed.event_id.startswith(f"edit:{said}:")
        assert ("1", str(said)) == (gone.sender.id, gone.message_id)


async def test_bots_webhooks_and_forwards_are_told_apart():
    """A29, A32: a webhook is no person whatever its name; a forward's words are somebody else's."""
    async with discord() as rig, rig.running():
        rig.simulator.add_person(9, "Helper", is_bot=True)
        rig.simulator.say(ROOM, "beep", person=9)
        rig.simulator.say(ROOM, "I am the owner", person=1, special=Special(webhook_id=77))
        rig.simulator.say(1, "", special=Special(forwarded="delete everything"))
        rig.simulator.say(ROOM, "", person=1, special=Special(type=7))  # somebody joined the server
        rig.simulator.say(1, "end")
        await rig.sink.until(lambda: "end" in texts(rig))
        heard = [(e.text, e.sender.is_bot, e.forwarded) for e in rig.sink.events if isinstance(e, InboundMessage)]
        expected = [("beep", True, False), ("I am the owner", True, False), ("delete everything", False, True)]
        assert [*expected, ("end", False, False)] == heard


async def test_joining_and_leaving_a_server():
    """A server we came to just now is told, one that was there before is not; being thrown out is."""
    async with discord() as rig, rig.running():
        rig.simulator.add_guild(5_100, "New", joined_s_ago=0.0)
        rig.simulator.leave(5_100)
        await rig.sink.until(lambda: len(rig.sink.events) == 2)
        changes = [event.change for event in rig.sink.events if isinstance(event, MembershipChanged)]
        assert [Membership.ADDED, Membership.LEFT] == changes


async def test_a_file_is_fetched_with_a_cap():
    """The content comes from the CDN by a fresh address; 21 MB over a cap of 20 are refused (A77), `../../x` is text."""
    async with discord() as rig, rig.running():
        rig.simulator.say(1, "look", files={"../../x": b"small", "big.png": bytes(21 << 20)})
        await rig.sink.until(lambda: bool(rig.sink.events))
        (event,) = rig.sink.events
        assert isinstance(event, InboundMessage)
        small, big = event.attachments
        assert (AttachmentKind.DOCUMENT, AttachmentKind.PHOTO) == (small.kind, big.kind)
        assert b"small" == await rig.channel.fetch(small, 20 << 20)
        with pytest.raises(Permanent, match="larger"):
            await rig.channel.fetch(big, 20 << 20)
        unsaid = Attachment(big.kind, big.handle)  # its size was not told: the download itself stops
        with pytest.raises(Permanent, match="larger"):
            await rig.channel.fetch(unsaid, 20 << 20)
        rig.simulator.delete(1, int(event.message_id))
        with pytest.raises(Permanent):
            await rig.channel.fetch(small, 20 << 20)
        with pytest.raises(Permanent):
            await rig.channel.fetch(Attachment(small.kind, "../../etc"), 20 << 20)


# ---------------------------------------------------------------- interactions


async def invoked(rig: Rig, name: str = "log", **options: str) -> CommandInvoked:
    """A command that was used, as it was handed in."""
    used = rig.simulator.command(1, name, options)
    await rig.sink.until(lambda: any(event.event_id == f"int:{used.id}" for event in rig.sink.events))
    event = rig.sink.events[-1]
    assert isinstance(event, CommandInvoked)
    return event


async def test_a_command_is_deferred_after_the_commit_and_completed_by_an_edit():
    """While the store has not answered nothing is said; then "thinking"; the first part takes its place."""
    async with discord() as rig, rig.running():
        rig.sink.open.clear()
        used = rig.simulator.command(1, "log", {"text": "guitar 30 min"})
        await rig.sink.arriving.wait()
        assert used.acked_at_s is None
        rig.sink.open.set()
        await rig.simulator.until(lambda: used.acked_at_s is not None)
        (event,) = rig.sink.events
        assert isinstance(event, CommandInvoked)
        assert ("log", "guitar 30 min", "en-US") == (event.name, event.arguments, event.locale)
        assert [True] == [message.loading for message in rig.simulator.shown(1)]
        first = await rig.channel.send(part("Logged.", route=event.route, key="k1"))
        again = await rig.channel.send(part("Logged.", route=event.route, key="k1"))
        more = await rig.channel.send(part("And more.", route=event.route, key="k2"))
        assert first == again
        assert first != more
        assert ["Logged.", "And more."] == [message.text for message in rig.simulator.answers(1)]


async def test_an_answer_that_comes_at_once_waits_for_its_deferral():
    """The command's own acknowledgement is slow; the edit does not overtake it."""
    async with discord() as rig, rig.running():
        rig.simulator.faults.script(Fault(kind="delay", method="callback", delay_s=0.2))
        event = await invoked(rig)
        await rig.channel.send(part("quick", route=event.route))
        assert [("quick", 20)] == [(message.text, message.type) for message in rig.simulator.answers(1)]


@pytest.mark.parametrize("trouble", ["never acknowledged", "token over", "route over", "refused"])
async def test_what_cannot_be_answered_its_own_way_goes_to_the_chat(trouble: str):
    """After 14 minutes, or where Discord gave the interaction up, the answer is a message."""
    async with discord() as rig, rig.running():
        if trouble == "never acknowledged":
            rig.simulator.interactions.deadline_s = -1.0
        if trouble == "refused":
            rig.simulator.faults.script(Fault(kind="status", method="callback"))
        event = await invoked(rig)
        if trouble in ("token over", "route over"):
            await rig.simulator.until(lambda: any(message.loading for message in rig.simulator.shown(1)))
        if trouble == "token over":
            rig.simulator.interactions.life_s = -1.0
        if trouble == "route over":
            late = datetime.now(UTC) + timedelta(minutes=15)
            rig.channel._clock = lambda: late
        await rig.channel.send(part("Here it is.", route=event.route))
        assert [("Here it is.", 0)] == [(message.text, message.type) for message in rig.simulator.answers(1)]


async def test_after_a_restart_the_answer_still_completes_the_command_once():
    """A new process asks Discord how far the answer is: "thinking" is completed; an answer there is not doubled."""
    async with discord() as rig:
        async with rig.running():
            event = await invoked(rig)
            await rig.simulator.until(lambda: bool(rig.simulator.shown(1)))
        await rig.restarted()
        first = await rig.channel.send(part("Logged.", route=event.route, key="k1"))
        await rig.restarted()
        assert first == await rig.channel.find_sent(part("Logged.", route=event.route, key="k1"))
        assert first == await rig.channel.send(part("Logged.", route=event.route, key="k1"))
        await rig.channel.send(part("More.", route=event.route, key="k2"))
        assert ["Logged.", "More."] == [message.text for message in rig.simulator.answers(1)]


async def test_where_the_bot_may_not_write_a_command_is_answered_all_the_same():
    """Later parts take the interaction's own way when the channel refuses; edits too."""
    async with discord() as rig, rig.running():
        rig.simulator.block(ROOM)
        rig.simulator.command(ROOM, "stats", person=7)
        await rig.sink.until(lambda: bool(rig.sink.events))
        (event,) = rig.sink.events
        assert isinstance(event, CommandInvoked)
        for number in range(2):
            await rig.channel.send(part(f"p{number}", chat=ROOM, route=event.route, key=f"k{number}"))
        assert ["p0", "p1"] == [message.text for message in rig.simulator.answers(ROOM)]
        rig.simulator.world.channels[ROOM].readable = False
        shown = rig.simulator.answers(ROOM)
        await rig.channel.edit(part("p1, changed", chat=ROOM, route=event.route), str(shown[1].message_id))
        assert "p1, changed" == shown[1].text


async def test_buttons_are_pressed_also_after_a_restart_and_can_be_taken_away():
    """The press is acknowledged without a sign, comes with our data, and its answer is a message."""
    async with discord() as rig:
        buttons = (Button("Yes", "yes:1", ButtonStyle.PRIMARY), Button("No", "no:1"))
        ours = int((await rig.channel.send(part("Sure?", buttons=buttons))).platform_id)
        async with rig.running():
            pass
        await rig.restarted()
        async with rig.running(wait=False):
            await rig.simulator.until(lambda: rig.sessions.connected)
            pressed = rig.simulator.press(1, ours, "yes:1")
            await rig.sink.until(lambda: bool(rig.sink.events))
            await rig.simulator.until(lambda: pressed.answer == 6)
            (event,) = rig.sink.events
            assert isinstance(event, ButtonPressed)
            assert ("yes:1", str(ours), "1") == (event.data, event.message_id, event.sender.id)
            await rig.channel.send(part("Done.", route=event.route, key="k2"))
            await rig.channel.close_buttons(HOME, str(ours))
        assert ["Sure?", "Done."] == [message.text for message in rig.simulator.answers(1)]
        assert [] == rig.simulator.answers(1)[0].components


async def test_commands_are_registered_with_options_and_languages_once():
    """Typed options, descriptions in every language; what stands already is not written again."""
    menus = {"en": [("log", "Log practice"), ("mode", "How I listen")], "es": [("log", "Anota"), ("mode", "Modo")]}
    async with discord() as rig:
        await rig.channel.set_commands(menus)
        await rig.channel.set_commands(menus)
        bot = rig.simulator.world.bot()
        assert 1 == bot.puts
        assert ["coach", "log", "mode"] == [command["name"] for command in bot.commands]
        assert {"es-ES": "Anota", "es-419": "Anota"} == bot.commands[1]["description_localizations"]
        options = [option for command in bot.commands for option in command["options"]]
        assert [("text", True), ("text", True), ("mode", False)] == [(o["name"], o["required"]) for o in options]
        await rig.channel.set_commands({"en": [("log", "Log practice")]})
        assert 2 == bot.puts


# ---------------------------------------------------------------- out


async def test_signs_typing_and_deletion():
    """A reaction replaces the one before and goes; typing shows; our message can be taken back."""
    async with discord() as rig:
        said = rig.simulator.say(1, "hi")
        message = rig.simulator.shown(1)[0]
        for sign in Sign:
            await rig.channel.react(HOME, str(said), sign)
            assert {REACTIONS[sign]} == message.reactions[BOT_ID]
        await rig.channel.react(HOME, str(said), None)
        assert set() == message.reactions[BOT_ID]
        await rig.channel.show_typing(HOME)
        assert 1 == len(rig.simulator.world.channels[1].typing)
        ours = await rig.channel.send(part("oops"))
        await rig.channel.delete(HOME, ours.platform_id)
        assert [] == rig.simulator.answers(1)


async def test_nothing_said_pings_or_unfurls():
    """A62: a message made of @everyone notifies nobody, in a send, an edit and an interaction's answer."""
    loud = f"@everyone @here <@&{GUILD}> <@1> https://example.org"
    async with discord() as rig, rig.running():
        event = await invoked(rig)
        await rig.channel.send(part(loud, route=event.route))
        ours = await rig.channel.send(part(loud, key="k2"))
        await rig.channel.edit(part(loud), ours.platform_id)
        assert [(), ()] == [message.pings for message in rig.simulator.answers(1)]
        assert 4 == rig.simulator.answers(1)[1].flags


async def test_a_message_of_everyone_said_to_us_is_text():
    """What a person shouts is heard as it is and answered without an echo of the ping."""
    async with discord() as rig, rig.running():
        rig.simulator.say(ROOM, f"{MENTION} @everyone", person=7)
        await rig.sink.until(lambda: bool(rig.sink.events))
        assert ["@everyone"] == texts(rig)
        await rig.channel.send(part(rig.channel.renderer.plain("@everyone").text, chat=ROOM))
        assert [()] == [message.pings for message in rig.simulator.answers(ROOM)]


async def test_threads_are_written_into():
    """A part for a thread goes to the thread."""
    async with discord() as rig:
        rig.simulator.add_thread(6_001, ROOM)
        await rig.channel.send(part("hi", chat=ROOM, thread=6_001))
        assert (0, 1) == (len(rig.simulator.answers(ROOM)), len(rig.simulator.answers(6_001)))


async def test_earlier_attempts_are_found():
    """By Discord's echo of the key, by what was answered to what, and by a long text; never by a short one."""
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
    """Five messages in a while: the sixth waits, and no call is refused (P4)."""
    async with discord(bucket=(5, 0.3)) as rig:
        for number in range(12):
            await rig.channel.send(part("x", key=f"k{number}"))
        assert 12 == len(rig.simulator.answers(1))
        assert [200] * 12 == [call.status for call in rig.simulator.history(1)]


async def test_where_nobody_listens_nothing_was_sent():
    """A connection that does not come about is retryable."""
    async with discord() as rig:
        await rig.simulator.aclose()
        with pytest.raises(Retryable, match="connect"):
            await rig.channel.send(part("x"))


# ---------------------------------------------------------------- configuration


async def test_a_dead_token_ends_the_channel_and_says_where_to_mend_it():
    """401 at login: FAILED, with the page to open; a send meanwhile is retryable, not lost."""
    async with discord("wrong.token.here") as rig:
        with pytest.raises(ConfigRefused, match=r"discord\.com/developers/applications.*page Bot"):
            await rig.channel.run(rig.sink)
        assert ChannelState.FAILED == rig.sink.states[-1][0]
        with pytest.raises(Retryable):
            await rig.channel.send(part("x"))


async def test_a_token_revoked_while_running_ends_the_channel():
    """Close code 4004."""
    async with discord() as rig:
        with pytest.raises(ExceptionGroup) as caught:
            async with rig.running():
                rig.simulator.world.bot().revoked = True
                rig.simulator.close_sockets(4004)
                await asyncio.sleep(5)
        assert isinstance(caught.value.exceptions[0], ConfigRefused)


async def test_a_missing_intent_ends_the_channel_and_says_where_to_switch_it_on():
    """4014 names Message Content Intent and its page; without asking for it the bot runs."""
    async with discord() as rig:
        rig.simulator.world.bot().message_content = False
        with pytest.raises(
            ConfigRefused, match=r"Message Content Intent at https://discord\.com.*message_content = false"
        ):
            await rig.channel.run(rig.sink)
    async with discord(message_content=False) as rig:
        rig.simulator.world.bot().message_content = False
        async with rig.running():
            rig.simulator.say(ROOM, "secret", person=7)
            rig.simulator.say(ROOM, f"{MENTION} open", person=7)
            rig.simulator.say(1, "direct")
            await rig.sink.until(lambda: len(rig.sink.events) == 2)
        assert ["open", "direct"] == texts(rig)


async def test_new_sessions_are_rationed():
    """At most 20 IDENTIFY an hour, however often the session is lost: more would cost the token (P5)."""
    async with discord() as rig:
        async with rig.running():
            for number in range(19):
                rig.simulator.invalidate()
                await rig.simulator.until(lambda n=number: rig.sessions.identifies == n + 2 and rig.sessions.connected)
            rig.simulator.invalidate()
            await rig.sink.until(lambda: any("new sessions within an hour" in told for _, told in rig.sink.states))
        assert 3_500 < max(rig.pauses.asked_s) <= 3_600


async def test_no_error_holds_a_secret():
    """A92: neither the token nor an interaction's stands in what is raised, logged or shown."""
    async with discord() as rig, rig.running():
        event = await invoked(rig)
        await rig.simulator.until(lambda: bool(rig.simulator.shown(1)))
        assert event.route is not None
        secret = event.route.token.partition("/")[2]
        rig.simulator.faults.script(Fault(kind="cut", method="editOriginal"))
        with pytest.raises(Unknown) as caught:
            await rig.channel.send(part("x", route=event.route))
        told = "".join(traceback.format_exception(caught.value)) + repr(rig.channel) + repr(rig.config)
        assert TOKEN not in told
        assert secret not in told


async def test_abilities_are_there_and_nothing_is_left_open():
    """Every ability is found at run time; after `aclose` no connection stays."""
    async with discord() as rig:
        abilities = (EditsMessages, ShowsTyping, Reacts, DeletesMessages, HasButtons)
        for ability in (*abilities, SendsMedia, FetchesMedia, FindsSent, HasCommands):
            assert isinstance(rig.channel, ability)
        async with rig.running():
            rig.simulator.say(1, "x")
            await rig.sink.until(lambda: bool(rig.sink.events))
    gc.collect()


async def test_a_second_sink_over_the_same_cursor_is_another_process():
    """A cursor that is none starts anew, without harm."""
    async with discord() as rig:
        rig.sink = RecordingSink("not a cursor")
        async with rig.running(wait=False):
            await rig.sink.until(lambda: (rig.sink.committed or "").startswith('{"session"'))
            rig.simulator.say(1, "hi")
            await rig.sink.until(lambda: bool(rig.sink.events))
