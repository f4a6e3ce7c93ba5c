"""Slack's Socket Mode against the simulator: nothing lost, nothing acknowledged early, every gap read."""

import orjson
import pytest

from channels.base import (
    ChannelState,
    KnownChat,
)
from channels.messages import (
    ChatKind,
    InboundMessage,
    Membership,
    MembershipChanged,
    MessageDeleted,
)
from channels.simulators.shared.faults import Fault
from tests.fakes.sink import RecordingSink
from tests.fakes.slack import BOT, part, slack


async def test_what_is_said_behind_a_message_that_the_store_refuses_waits_for_it():
    async with slack(simulated={"redeliver_after_s": 5.0}) as rig:
        rig.sink.refusals = 1
        async with rig.running():
            said = [rig.simulator.say("D1", text) for text in ("first", "second")]
            await rig.sink.until(lambda: len(rig.sink.events) >= 2)
        assert said == [event.message_id for event in rig.sink.events]


@pytest.mark.parametrize("how", ["close_all", "abort_all"])
async def test_socket_that_goes_is_replaced_and_the_gap_is_read(how: str):
    async with slack(simulated={"redeliver_after_s": 5.0}) as rig, rig.running():
        rig.simulator.say("D1", "before")
        await rig.sink.until(lambda: len(rig.sink.events) == 1)
        missed = rig.simulator.say("D1", "missed", deliver=False)
        getattr(rig.simulator.sockets, how)()
        await rig.sink.until(lambda: any(event.message_id == missed for event in rig.sink.events))
        rig.simulator.say("D1", "after")
        await rig.sink.until(lambda: "after" in [event.text for event in rig.sink.events])


async def test_gap_while_we_were_away_is_read_in_order_and_once_a_key():
    async with slack() as rig:
        async with rig.running():
            rig.simulator.say("D1", "first contact")
            root = rig.simulator.say("C1", f"<@{BOT}> look at this")
            await rig.sink.until(lambda: len(rig.sink.events) >= 3)
            await rig.channel.send(part("looking", chat="C1", thread=root))
            await rig.simulator.until(lambda: not rig.simulator.sockets.open)
        missed = [
            rig.simulator.say("D1", "dm", deliver=False),
            rig.simulator.say("D1", "dm again", deliver=False),
            rig.simulator.say("C1", "in the thread", under=root, deliver=False),
            rig.simulator.say("C1", f"<@{BOT}> in the channel", deliver=False),
        ]
        second = rig.sink = RecordingSink(rig.sink.committed)
        async with rig.running():
            await second.until(lambda: {*missed} <= {event.message_id for event in second.events})
        texts = [event.text for event in second.events if event.message_id in missed]
        assert ["dm", "dm again"] == [text for text in texts if text.startswith("dm")]
        assert all(event.mentions_bot for event in second.events if event.address.chat == "C1")
        assert "looking" not in [event.text for event in second.events]
        assert len(second.events) == len({event.event_id for event in second.events})


async def test_first_contact_reads_no_history():
    async with slack() as rig:
        rig.simulator.say("D1", "long ago", deliver=False)
        async with rig.running():
            rig.simulator.say("D1", "now")
            await rig.sink.until(lambda: bool(rig.sink.events))
        assert {"now"} == {event.text for event in rig.sink.events}  # Slack sends again what is acknowledged late


async def test_backfill_that_is_refused_holds_up_nothing():
    async with slack(RecordingSink('{"ts":"1700000000.000001","chats":["D1"]}')) as rig:
        rig.simulator.world.chat("D1")
        rig.simulator.faults.script(
            Fault(kind="error", error="ratelimited", retry_after_s=7, method="conversations.history"),
            Fault(kind="status", method="conversations.history", times=None),
        )
        async with rig.running():
            rig.simulator.say("D1", "hello")
            await rig.sink.until(lambda: bool(rig.sink.events))
        assert 7.0 in rig.pauses.asked_s
        assert any("were not read" in told for told in rig.sink.details(ChannelState.DEGRADED))


async def test_a_live_message_waits_for_the_older_ones_of_its_chat_and_of_no_other():
    async with slack(RecordingSink('{"ts":"1700000000.000001","chats":["D2","D1"]}'), backfill_s=30.0) as rig:
        for chat in ("D1", "D2"):
            rig.simulator.say(chat, f"older in {chat}", deliver=False)
        busy = Fault(kind="status", status=503, method="conversations.history", chat="D1", times=None)
        rig.simulator.faults.script(busy)
        async with rig.running():
            for text in ("live", "last"):
                for chat in ("D1", "D2"):
                    rig.simulator.say(chat, f"{text} in {chat}")
            await rig.sink.until(lambda: "last in D2" in {event.text for event in rig.sink.events})
            assert not any(event.text.endswith("D1") for event in rig.sink.events)
            rig.simulator.faults.clear()
            await rig.sink.until(lambda: len({event.text for event in rig.sink.events}) >= 6)
        texts = [event.text for event in rig.sink.events]
        in_first, in_second = ([text for text in texts if text.endswith(chat)] for chat in ("D1", "D2"))
        assert ["older in D1", "live in D1", "last in D1"] == list(dict.fromkeys(in_first))
        assert ["older in D2", "live in D2", "last in D2"] == list(dict.fromkeys(in_second))


async def test_every_chat_is_read_after_a_gap_however_many_there_are():
    chats = [f"D{number}" for number in range(230)] + [f"C{number}" for number in range(30)]
    async with slack(RecordingSink('{"ts":"1700000000.000001"}')) as rig:
        for chat in chats:
            rig.simulator.say(chat, f"<@{BOT}> in {chat}", deliver=False)
        async with rig.running():
            await rig.sink.until(lambda: {*chats} == {event.address.chat for event in rig.sink.events})
        assert "" == rig.sink.missing


async def test_what_cannot_be_read_is_told_until_it_can_be():
    old = "1700000000.000001"
    async with slack(RecordingSink(f'{{"ts":"{old}"}}')) as rig:
        for chat in ("D1", "D2"):
            rig.simulator.say(chat, f"in {chat}", deliver=False)
        refusal = Fault(kind="error", error="channel_not_found", method="conversations.history", chat="D2", times=None)
        rig.simulator.faults.script(refusal)
        async with rig.running():
            await rig.sink.until(lambda: "after a gap 1 were not read: D2 (channel_not_found)" in rig.sink.missing)
            rig.simulator.say("D1", "live")
            await rig.sink.until(lambda: {"in D1", "live"} == {event.text for event in rig.sink.events})
            assert old in str(rig.sink.committed)
            rig.simulator.faults.clear()
            await rig.sink.until(lambda: "in D2" in {event.text for event in rig.sink.events})
            await rig.sink.until(lambda: rig.sink.missing == "")
            rig.simulator.say("D1", "later")
            await rig.sink.until(lambda: old not in str(rig.sink.committed))


async def test_threads_are_known_after_a_restart_however_many_there_are():
    async with slack() as rig:
        roots = [rig.simulator.say("C1", "root", deliver=False) for _ in range(500)]
        rig.sink = RecordingSink(known=[KnownChat("C1", root) for root in roots])
        async with rig.running():
            for root in (roots[0], roots[499]):
                rig.simulator.say("C1", "please", under=root)
            await rig.sink.until(lambda: len(rig.sink.events) == 2)
        assert [True, True] == [one.mentions_bot for one in rig.sink.events]


async def test_a_mention_in_a_thread_that_was_begun_in_the_gap_is_read():
    async with slack(RecordingSink('{"ts":"1700000000.000001"}')) as rig:
        root = rig.simulator.say("C1", "among us", deliver=False)
        rig.simulator.say("C1", "before", under=root, deliver=False)
        rig.simulator.say("C1", f"<@{BOT}> help", under=root, deliver=False)
        rig.simulator.say("C1", "please", under=root, deliver=False)
        async with rig.running():
            await rig.sink.until(lambda: len(rig.sink.events) == 4)
        assert [False, False, True, True] == [one.mentions_bot for one in rig.sink.events]


async def test_a_chat_and_its_threads_are_read_in_the_order_in_which_people_wrote():
    async with slack(RecordingSink('{"ts":"1700000000.000001"}')) as rig:
        root = rig.simulator.say("C1", "first", deliver=False)
        rig.simulator.say("C1", "second, in a thread", under=root, deliver=False)
        rig.simulator.say("C1", "third", deliver=False)
        async with rig.running():
            await rig.sink.until(lambda: len(rig.sink.events) == 3)
        assert ["first", "second, in a thread", "third"] == [event.text for event in rig.sink.events]


async def test_an_event_that_overtakes_the_backfill_does_not_move_the_resume_point():
    old = "1700000000.000001"
    async with slack(RecordingSink(f'{{"ts":"{old}","chats":["D1"]}}'), backfill_s=0.0) as rig:
        rig.simulator.world.chat("D1")
        rig.simulator.faults.script(Fault(kind="delay", method="conversations.history", delay_s=60.0, times=None))
        async with rig.running():
            rig.simulator.say("D1", "hello")
            await rig.sink.until(lambda: bool(rig.sink.events))
            assert old in str(rig.sink.committed)


async def test_a_new_message_waits_for_what_was_missed_in_its_chat_which_is_read_first():
    old, chats = "1700000000.000001", [f"D{number}" for number in range(1, 21)]
    async with slack(RecordingSink(f'{{"ts":"{old}","chats":{orjson.dumps(chats).decode()}}}')) as rig:
        for chat in chats:
            rig.simulator.say(chat, f"missed in {chat}", deliver=False)
        rig.simulator.faults.script(Fault(kind="delay", method="conversations.history", delay_s=0.5, times=None))
        async with rig.running():
            await rig.simulator.until(lambda: rig.simulator.sockets.connected == 1)
            rig.simulator.say("D1", "new in D1")
            await rig.sink.until(lambda: "new in D1" in [event.text for event in rig.sink.events])
        texts = [event.text for event in rig.sink.events]
        assert texts.index("missed in D1") < texts.index("new in D1")
        assert len(texts) < len(chats), "it waited for other chats"


@pytest.mark.parametrize("missing", ["mpim:read", "groups:history"])
async def test_a_missing_scope_costs_only_its_own_kind_of_chat(missing: str):
    async with slack(RecordingSink('{"ts":"1700000000.000001"}')) as rig:
        app = rig.simulator.world.the_app()
        app.scopes = ",".join(scope for scope in app.scopes.split(",") if scope != missing)
        for chat in ("G1", "C1", "D1"):
            rig.simulator.say(chat, chat, deliver=False)
        async with rig.running():
            await rig.sink.until(lambda: {"C1", "D1"} <= {event.text for event in rig.sink.events})


async def test_message_and_app_mention_are_one():
    async with slack() as rig, rig.running():
        ts = rig.simulator.say("C1", f"hey <@{BOT}>, how am I doing?")
        await rig.sink.until(lambda: len(rig.sink.events) == 2)
        assert [f"msg:T0SIM:C1:{ts}"] * 2 == [event.event_id for event in rig.sink.events]
        one, other = rig.sink.events
        assert one == other
        assert (True, ChatKind.GROUP, ts) == (one.mentions_bot, one.kind, one.address.thread)


async def test_thread_is_known_after_a_restart():
    async with slack() as rig:
        async with rig.running():
            root = rig.simulator.say("C1", f"<@{BOT}> help")
            await rig.sink.until(lambda: len(rig.sink.events) == 2)
        second = rig.sink = RecordingSink(rig.sink.committed)
        async with rig.running():
            rig.simulator.say("C1", "and now?", under=root)
            await second.until(lambda: any(event.text == "and now?" for event in second.events))
        assert all(event.mentions_bot for event in second.events)


async def test_edits_and_deletions_of_people_are_events_of_their_own():
    async with slack() as rig, rig.running():
        ts = rig.simulator.say("D1", "20 minutes")
        rig.simulator.edit("D1", ts, "30 minutes")
        rig.simulator.delete("D1", ts)
        await rig.sink.until(lambda: len(rig.sink.events) == 3)
        said, changed, gone = rig.sink.events
        assert isinstance(said, InboundMessage)
        assert isinstance(changed, InboundMessage)
        assert isinstance(gone, MessageDeleted)
        assert ("30 minutes", True, ts) == (changed.text, changed.edited, changed.message_id)
        assert changed.event_id.startswith(f"edit:T0SIM:D1:{ts}:")
        assert (f"del:T0SIM:D1:{ts}", ts) == (gone.event_id, gone.message_id)


async def test_what_we_say_ourselves_is_no_event():
    async with slack() as rig, rig.running():
        rig.simulator.world.chat("D1")
        receipt = await rig.channel.send(part("hello"))
        body = {"type": "message", "channel": "D1", "channel_type": "im", "user": BOT, "bot_id": "B0TENK"}
        rig.simulator.event(body | {"text": "hello", "ts": receipt.platform_id})
        rig.simulator.say("D1", "hi")
        await rig.sink.until(lambda: bool(rig.sink.events))
        await rig.simulator.until(lambda: not rig.simulator.sockets.open)
        assert ["hi"] == [event.text for event in rig.sink.events]


async def test_malformed_envelopes_are_kept_aside_and_stop_nothing():
    async with slack() as rig, rig.running():
        rig.simulator.sockets.push_raw("{not json")
        rig.simulator.sockets.push_raw('"text"')
        rig.simulator.inject({"type": "event_callback", "event_id": "Ev1", "event": {"type": "message", "ts": 7}})
        rig.simulator.inject({"type": "event_callback", "event_id": "Ev2"})
        rig.simulator.inject({"command": "no slash", "team_id": "T1"}, "slash_commands")
        rig.simulator.say("D1", "still there?")
        await rig.sink.until(lambda: bool(rig.sink.events))
        await rig.simulator.until(lambda: not rig.simulator.sockets.open)
        kept = [one.event_id for one in rig.sink.rejected]
        assert (3, ["ev:Ev1", "ev:Ev2"]) == (len(kept), [name for name in kept if len(name) == len("ev:Ev1")])


async def test_coming_and_going_is_told():
    async with slack() as rig, rig.running():
        rig.simulator.invite("C1")
        rig.simulator.remove("C1")
        await rig.sink.until(lambda: len(rig.sink.events) == 2)
        changes = [event.change for event in rig.sink.events if isinstance(event, MembershipChanged)]
        assert [Membership.ADDED, Membership.LEFT] == changes
