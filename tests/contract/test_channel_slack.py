"""The Slack adapter against the simulator: nothing lost, nothing acknowledged early, every trouble told."""

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
    Reacts,
    SendsMedia,
    ServesHttp,
    ShowsTyping,
    Sign,
)
from channels.errors import ConfigRefused, Permanent, PermanentKind, Retryable, Unknown
from channels.messages import (
    Address,
    AttachmentKind,
    Button,
    ButtonPressed,
    ButtonStyle,
    ChatKind,
    CommandInvoked,
    InboundMessage,
    Membership,
    MembershipChanged,
    MessageDeleted,
    OutboundMedia,
    Route,
)
from channels.slack.adapter import REACTIONS
from channels.slack.simulator.faults import Fault
from channels.slack.simulator.state import APP_TOKEN, BOT_TOKEN
from tests.fakes.sink import RecordingSink
from tests.fakes.slack import BOT, part, slack

HOME = Address("slack", "main", "D1")


# ---------------------------------------------------------------- Socket Mode: persist, then acknowledge


async def test_envelope_is_acknowledged_only_after_the_commit():
    """While `receive` has not returned, Slack still holds the envelope; afterwards it does not."""
    async with slack(simulated={"redeliver_after_s": 5.0}) as rig:
        rig.sink.open.clear()
        async with rig.running():
            ts = rig.simulator.say("D1", "hello")
            await rig.sink.arriving.wait()
            assert 1 == len(rig.simulator.sockets.open)
            rig.sink.open.set()
            await rig.simulator.until(lambda: not rig.simulator.sockets.open)
        assert [f"msg:T0SIM:D1:{ts}"] == [event.event_id for event in rig.sink.events]


async def test_envelope_the_store_refuses_is_not_acknowledged_and_comes_again():
    """NotPersisted three times: no acknowledgement, the same event four times, one of them committed."""
    async with slack() as rig:
        rig.sink.refusals = 3
        async with rig.running():
            ts = rig.simulator.say("D1", "keep me")
            await rig.sink.until(lambda: bool(rig.sink.events))
            await rig.simulator.until(lambda: not rig.simulator.sockets.open)
        assert [[f"msg:T0SIM:D1:{ts}"]] * 4 == rig.sink.batches
        assert any("store" in told for told in rig.sink.details(ChannelState.DEGRADED))
        assert [] == rig.simulator.sockets.lost


async def test_lost_acknowledgements_bring_the_same_key_again():
    """Redelivery x 4: every delivery carries the same key, so the inbox takes one."""
    async with slack() as rig:
        rig.simulator.faults.script(Fault(kind="unacked", method="socket.ack", times=3))
        async with rig.running():
            rig.simulator.say("D1", "hello")
            await rig.sink.until(lambda: len(rig.sink.events) == 4)
        assert 1 == len({event.event_id for event in rig.sink.events})


async def test_order_in_is_order_kept_in_a_burst():
    """250 messages of three people arrive once each, in the order they were said."""
    async with slack(simulated={"redeliver_after_s": 5.0}) as rig, rig.running():
        said = [rig.simulator.say(f"D{1 + n % 3}", f"m{n}") for n in range(250)]
        await rig.sink.until(lambda: len(rig.sink.events) >= 250)
        assert said == [event.message_id for event in rig.sink.events]
        await rig.simulator.until(lambda: not rig.simulator.sockets.open)


async def test_killed_before_the_commit_gets_the_event_again():
    """A run that ends inside `receive` acknowledged nothing; the next is given the event."""
    async with slack() as rig:
        rig.sink.open.clear()
        async with rig.running():
            rig.simulator.say("D1", "keep me")
            await rig.sink.arriving.wait()
        rig.sink.open.set()
        async with rig.running():
            await rig.sink.until(lambda: bool(rig.sink.events))
        assert 1 == len({event.event_id for event in rig.sink.events})


async def test_new_socket_is_open_before_the_old_one_closes():
    """At a refresh both sockets stand for a moment, and nothing said meanwhile waits for a redelivery."""
    async with slack(simulated={"redeliver_after_s": 5.0}) as rig, rig.running():
        rig.simulator.sockets.refresh()
        rig.simulator.say("D1", "between two sockets")
        await rig.simulator.until(lambda: rig.simulator.sockets.connections == 2)
        await rig.sink.until(lambda: len(rig.sink.events) == 1)
        await rig.simulator.until(lambda: rig.simulator.sockets.connected == 1)
        assert 2 == rig.simulator.sockets.most_at_once
        rig.simulator.say("D1", "on the new one")
        await rig.sink.until(lambda: len(rig.sink.events) == 2)
        assert [] == rig.sink.details(ChannelState.DEGRADED)


@pytest.mark.parametrize("how", ["close_all", "abort_all"])
async def test_socket_that_goes_is_replaced_and_the_gap_is_read(how: str):
    """After 1001 or a cut connection what no event told of is found in the history."""
    async with slack(simulated={"redeliver_after_s": 5.0}) as rig, rig.running():
        rig.simulator.say("D1", "before")
        await rig.sink.until(lambda: len(rig.sink.events) == 1)
        missed = rig.simulator.say("D1", "missed", deliver=False)
        getattr(rig.simulator.sockets, how)()
        await rig.sink.until(lambda: any(event.message_id == missed for event in rig.sink.events))
        rig.simulator.say("D1", "after")
        await rig.sink.until(lambda: "after" in [event.text for event in rig.sink.events])


async def test_gap_while_we_were_away_is_read_in_order_and_once_a_key():
    """DM, channel and a thread we take part in are read after a restart; our own answers are not."""
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
            rig.simulator.say("C1", "in the thread", thread=root, deliver=False),
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
    """What was said before the app came is not answered."""
    async with slack() as rig:
        rig.simulator.say("D1", "long ago", deliver=False)
        async with rig.running():
            rig.simulator.say("D1", "now")
            await rig.sink.until(lambda: bool(rig.sink.events))
        assert ["now"] == [event.text for event in rig.sink.events]


async def test_backfill_that_is_refused_holds_up_nothing():
    """A history that cannot be read is told; new events come all the same, and a rate limit is waited out."""
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
        assert any("meanwhile could not be read" in told for told in rig.sink.details(ChannelState.DEGRADED))


async def test_message_and_app_mention_are_one():
    """A mention in a channel comes as two events with one key (FAULTS 1.3)."""
    async with slack() as rig, rig.running():
        ts = rig.simulator.say("C1", f"hey <@{BOT}>, how am I doing?")
        await rig.sink.until(lambda: len(rig.sink.events) == 2)
        assert [f"msg:T0SIM:C1:{ts}"] * 2 == [event.event_id for event in rig.sink.events]
        one, other = rig.sink.events
        assert one == other
        assert (True, ChatKind.GROUP, ts) == (one.mentions_bot, one.kind, one.address.thread)


async def test_thread_goes_on_without_a_mention():
    """Once mentioned in a thread, what is said there is for us; elsewhere in the channel it is not."""
    async with slack() as rig, rig.running():
        root = rig.simulator.say("C1", f"<@{BOT}> help")
        await rig.sink.until(lambda: len(rig.sink.events) == 2)
        await rig.channel.send(part("sure", chat="C1", thread=root))
        rig.simulator.say("C1", "thanks", thread=root)
        rig.simulator.say("C1", "lunch?")
        await rig.sink.until(lambda: len(rig.sink.events) == 4)
        assert [("thanks", True, root), ("lunch?", False, None)] == [
            (event.text, event.mentions_bot, event.address.thread) for event in rig.sink.events[2:]
        ]


async def test_thread_is_known_after_a_restart():
    """The resume point keeps the threads we take part in."""
    async with slack() as rig:
        async with rig.running():
            root = rig.simulator.say("C1", f"<@{BOT}> help")
            await rig.sink.until(lambda: len(rig.sink.events) == 2)
        second = rig.sink = RecordingSink(rig.sink.committed)
        async with rig.running():
            rig.simulator.say("C1", "and now?", thread=root)
            await second.until(lambda: any(event.text == "and now?" for event in second.events))
        assert all(event.mentions_bot for event in second.events)


async def test_edits_and_deletions_of_people_are_events_of_their_own():
    """An edit has the message's id and a key of its own; so has a deletion."""
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
    """Our posts and edits come back as events and are acknowledged without a word."""
    async with slack() as rig, rig.running():
        receipt = await rig.channel.send(part("hello"))
        body = {"type": "message", "channel": "D1", "channel_type": "im", "user": BOT, "bot_id": "B0TENK"}
        rig.simulator.event(body | {"text": "hello", "ts": receipt.platform_id})
        rig.simulator.say("D1", "hi")
        await rig.sink.until(lambda: bool(rig.sink.events))
        await rig.simulator.until(lambda: not rig.simulator.sockets.open)
        assert ["hi"] == [event.text for event in rig.sink.events]


async def test_malformed_envelopes_are_kept_aside_and_stop_nothing():
    """Unreadable frames are passed by; unreadable events are acknowledged and quarantined with what they were."""
    async with slack() as rig, rig.running():
        rig.simulator.sockets.push_raw("{not json")
        rig.simulator.sockets.push_raw('"text"')
        rig.simulator.inject({"type": "event_callback", "event_id": "Ev1", "event": {"type": "message", "ts": 7}})
        rig.simulator.inject({"type": "event_callback", "event_id": "Ev2"})
        rig.simulator.inject({"command": "no slash", "team_id": "T1"}, "slash_commands")
        rig.simulator.say("D1", "still there?")
        await rig.sink.until(lambda: bool(rig.sink.events))
        await rig.simulator.until(lambda: not rig.simulator.sockets.open)
        assert ["ev:Ev1", "ev:Ev2"] == [one.event_id for one in rig.sink.rejected[:2]]
        assert 3 == len(rig.sink.rejected)


async def test_nul_and_lone_surrogates_arrive_clean():
    """Bad Unicode neither stops the socket nor reaches anybody (A91)."""
    async with slack() as rig, rig.running():
        rig.simulator.say("D1", "a\x00b")
        await rig.sink.until(lambda: len(rig.sink.events) == 1)
        assert ["ab"] == [event.text for event in rig.sink.events]


async def test_coming_and_going_is_told():
    """Added to a channel, removed from it."""
    async with slack() as rig, rig.running():
        rig.simulator.invite("C1")
        rig.simulator.remove("C1")
        await rig.sink.until(lambda: len(rig.sink.events) == 2)
        changes = [event.change for event in rig.sink.events if isinstance(event, MembershipChanged)]
        assert [Membership.ADDED, Membership.LEFT] == changes


# ---------------------------------------------------------------- commands and buttons


async def test_slash_command_comes_with_its_route_and_is_acknowledged():
    """Name, arguments, sender with team, and a response URL for 30 minutes and five uses."""
    async with slack() as rig, rig.running():
        used = rig.simulator.command("C1", "/log", "45m guitar &amp; bass", person="U7")
        await rig.sink.until(lambda: bool(rig.sink.events))
        await rig.simulator.until(lambda: used.acked)
        (command,) = rig.sink.events
        assert isinstance(command, CommandInvoked)
        assert ("log", "45m guitar & bass", "T0SIM:U7") == (command.name, command.arguments, command.sender.id)
        assert command.route is not None
        assert ("response_url", 5) == (command.route.kind, command.route.uses)
        assert timedelta(minutes=30) == command.route.expires_at - command.received_at


async def test_command_in_a_channel_is_answered_to_who_asked_alone():
    """What goes by the response URL only they see: their practice is nobody else's (A52)."""
    async with slack() as rig, rig.running():
        rig.simulator.command("C1", "/stats", person="U7")
        await rig.sink.until(lambda: bool(rig.sink.events))
        receipt = await rig.channel.send(part("12 h", chat="C1", route=rig.sink.events[0].route))
        (answer,) = rig.simulator.answers("C1")
        assert ("12 h", "U7") == (answer.text, answer.ephemeral_for)
        with pytest.raises(Permanent) as gone:
            await rig.channel.edit(part("13 h", chat="C1"), receipt.platform_id)
        assert PermanentKind.TARGET_GONE is gone.value.kind


async def test_placeholder_is_not_wasted_on_a_response_url():
    """It could never be edited, so nothing is posted for it."""
    async with slack() as rig, rig.running():
        rig.simulator.command("C1", "/plan")
        await rig.sink.until(lambda: bool(rig.sink.events))
        await rig.channel.send(part("…", chat="C1", markup=None, route=rig.sink.events[0].route))
        assert [] == rig.simulator.answers("C1")


async def test_used_up_response_url_falls_back_to_the_chat():
    """After five uses the answer still arrives."""
    async with slack() as rig, rig.running():
        rig.simulator.command("C1", "/stats", person="U7")
        await rig.sink.until(lambda: bool(rig.sink.events))
        route = rig.sink.events[0].route
        for n in range(6):
            await rig.channel.send(part(f"part {n}", chat="C1", key=f"k{n}", route=route))
        assert [*["U7"] * 5, None] == [one.ephemeral_for for one in rig.simulator.answers("C1")]


@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        (Fault(kind="status", method="response_url"), Unknown),
        (Fault(kind="cut", method="response_url"), Unknown),
        (Fault(kind="status", status=429, method="response_url"), Retryable),
        (Fault(kind="status", status=403, method="response_url"), Permanent),
    ],
    ids=["500", "cut", "429", "403"],
)
async def test_response_url_fails_in_three_kinds(fault: Fault, raises: type[Exception]):
    """As every send does."""
    async with slack() as rig, rig.running():
        rig.simulator.command("C1", "/stats")
        await rig.sink.until(lambda: bool(rig.sink.events))
        rig.simulator.faults.script(fault)
        with pytest.raises(raises):
            await rig.channel.send(part("12 h", chat="C1", route=rig.sink.events[0].route))


async def test_response_url_elsewhere_is_never_called():
    """Only Slack's own host is posted to."""
    async with slack() as rig:
        route = Route("response_url", "http://127.0.0.1:1/hooks/x", datetime.now(UTC) + timedelta(minutes=5))
        with pytest.raises(Permanent, match="does not lead to Slack"):
            await rig.channel.send(part("hi", chat="C1", route=route))


async def test_command_in_our_direct_messages_is_answered_there():
    """What stands in the chat stays, can be edited and is found again."""
    async with slack() as rig, rig.running():
        rig.simulator.say("D1", "hello")
        rig.simulator.command("D1", "/stats")
        await rig.sink.until(lambda: len(rig.sink.events) == 2)
        assert ChatKind.DIRECT is rig.sink.events[1].kind
        await rig.channel.send(part("12 h", route=rig.sink.events[1].route))
        assert [None] == [one.ephemeral_for for one in rig.simulator.answers("D1")]


async def test_buttons_are_shown_pressed_and_taken_away():
    """A press says which button under which message, also after a restart; then the buttons go and the text stays."""
    buttons = (Button("Yes", "plan:yes", ButtonStyle.PRIMARY), Button("No", "plan:no", ButtonStyle.DANGER))
    async with slack() as rig:
        rig.simulator.world.chat("D1")
        receipt = await rig.channel.send(part("Start **now**?", buttons=buttons))
        async with rig.running():
            pressed = rig.simulator.press("D1", receipt.platform_id, "plan:no")
            await rig.sink.until(lambda: bool(rig.sink.events))
            await rig.simulator.until(lambda: pressed.acked)
        (press,) = rig.sink.events
        assert isinstance(press, ButtonPressed)
        assert ("plan:no", receipt.platform_id, "T0SIM:U1") == (press.data, press.message_id, press.sender.id)
        assert None is press.route
        await rig.channel.close_buttons(HOME, receipt.platform_id)
        (answer,) = rig.simulator.answers("D1")
        assert ("Start **now**?", []) == (answer.text, answer.buttons)


async def test_button_under_an_answer_only_one_person_sees_brings_a_route():
    """There the press is answered where the button is."""
    async with slack() as rig, rig.running():
        rig.simulator.command("C1", "/plan", person="U7")
        await rig.sink.until(lambda: bool(rig.sink.events))
        asked = part("Start?", chat="C1", route=rig.sink.events[0].route, buttons=(Button("Yes", "yes"),))
        await rig.channel.send(asked)
        rig.simulator.press("C1", rig.simulator.answers("C1")[0].ts, "yes", person="U7")
        await rig.sink.until(lambda: len(rig.sink.events) == 2)
        assert "response_url" == rig.sink.events[1].route.kind


# ---------------------------------------------------------------- configuration


async def test_refused_bot_token_fails_at_once_and_says_where_to_mend_it():
    """FAILED, ConfigRefused, where to click, and no token in the words."""
    async with slack(bot_token="xoxb-unknown-secret") as rig:
        with pytest.raises(ConfigRefused, match="OAuth & Permissions") as refused:
            await rig.channel.run(rig.sink)
        assert ChannelState.FAILED is rig.sink.states[-1][0]
        assert "unknown-secret" not in str(refused.value) + str(rig.sink.states)


async def test_refused_app_token_says_where_to_mend_it():
    """It is another token, from another page."""
    async with slack(app_token="xapp-unknown-secret") as rig:
        with pytest.raises(ConfigRefused, match=r"App-Level Tokens.*connections:write") as refused:
            await rig.channel.run(rig.sink)
        assert "unknown-secret" not in str(refused.value) + str(rig.sink.states)


async def test_missing_scope_is_named_before_anything_is_lost():
    """A bot token without chat:write ends the channel; the scope and the page are named."""
    async with slack() as rig:
        rig.simulator.world.the_app().scopes = "commands,im:history"
        with pytest.raises(ConfigRefused, match=r"chat:write.*Bot Token Scopes"):
            await rig.channel.run(rig.sink)


async def test_socket_mode_that_is_off_is_named():
    """Slack's warning is told; its link_disabled ends the channel."""
    async with slack() as rig:
        rig.simulator.world.the_app().socket_mode = False
        with pytest.raises(ExceptionGroup) as refused:
            async with rig.running():
                await rig.sink.until(lambda: bool(rig.sink.details(ChannelState.DEGRADED)))
                rig.simulator.sockets.refresh("link_disabled")
                await rig.sink.until(lambda: bool(rig.sink.details(ChannelState.FAILED)))
        assert refused.group_contains(ConfigRefused, match="Enable Socket Mode")


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="html", status=502, method="apps.connections.open", times=2),
        Fault(kind="cut", method="apps.connections.open", times=2),
        Fault(kind="error", error="ratelimited", retry_after_s=7, method="apps.connections.open", times=2),
        Fault(kind="html", status=502, method="auth.test", times=2),
        Fault(kind="status", method="auth.test", times=2),
    ],
    ids=lambda fault: f"{fault.method}-{fault.kind}-{fault.error}",
)
async def test_start_survives(fault: Fault):
    """Proxy pages, cut connections and limits are told, waited out, and lose nothing."""
    async with slack() as rig:
        rig.simulator.faults.script(fault)
        async with rig.running():
            rig.simulator.say("D1", "hello")
            await rig.sink.until(lambda: bool(rig.sink.events))
        assert 2 == len(rig.pauses.asked_s)
        assert (7.0 if fault.error == "ratelimited" else 0.5) == rig.pauses.asked_s[0]
        assert ChannelState.READY is rig.sink.states[-1][0]


# ---------------------------------------------------------------- sending


async def test_channel_has_the_abilities_it_promises():
    """They are found by their Protocols."""
    abilities = (EditsMessages, ShowsTyping, Reacts, DeletesMessages, HasButtons, FindsSent, SendsMedia, FetchesMedia)
    async with slack() as rig:
        for ability in (*abilities, ServesHttp):
            assert isinstance(rig.channel, ability)
        assert () == tuple(rig.channel.http_routes())


async def test_send_stands_in_its_thread_without_previews_and_with_its_key():
    """What is sent is what the person sees: thread, no previews, metadata to find it by."""
    async with slack() as rig:
        root = rig.simulator.say("C1", "question")
        receipt = await rig.channel.send(part("see https://example.com", chat="C1", thread=root))
        (answer,) = rig.simulator.answers("C1")
        assert (receipt.platform_id, root, False) == (answer.ts, answer.thread, answer.unfurls)
        assert {"key": "0123456789abcdef"} == answer.metadata["event_payload"]


@pytest.mark.parametrize("keys_count", [True, False])
async def test_repeated_send_says_it_once(keys_count: bool):
    """By the key where Slack honours it, by the history where it may not (D2)."""
    async with slack(simulated={"keys_count": keys_count}) as rig, rig.running():
        rig.simulator.world.chat("D1")
        rig.simulator.faults.script(Fault(kind="cut", method="chat.postMessage", applied=True))
        with pytest.raises(Unknown):
            await rig.channel.send(part("hello"))
        found = await rig.channel.find_sent(part("hello"))
        assert found is not None
        assert None is await rig.channel.find_sent(part("hello", key="another"))
        if keys_count:
            assert found == await rig.channel.send(part("hello"))
        assert [found.platform_id] == [one.ts for one in rig.simulator.answers("D1")]


async def test_send_in_a_thread_is_found_there():
    """The replies are looked through, page by page."""
    async with slack() as rig, rig.running():
        root = rig.simulator.say("C1", "question")
        receipt = await rig.channel.send(part("hello", chat="C1", thread=root))
        for n in range(230):
            rig.simulator.say("C1", f"noise {n}", thread=root, deliver=False)
        assert receipt == await rig.channel.find_sent(part("hello", chat="C1", thread=root))


async def test_what_cannot_be_looked_up_now_is_asked_again():
    """A history that does not answer is no word that nothing was said."""
    async with slack() as rig, rig.running():
        rig.simulator.world.chat("D1")
        rig.simulator.faults.script(Fault(kind="cut", method="conversations.history"))
        with pytest.raises(Retryable):
            await rig.channel.find_sent(part("hello"))


async def test_edit_twice_is_one_success_after_the_other():
    """An edit can be repeated."""
    async with slack() as rig:
        rig.simulator.world.chat("D1")
        receipt = await rig.channel.send(part("…", markup=None))
        for _ in range(2):
            assert receipt == await rig.channel.edit(part("**done**"), receipt.platform_id)
        assert ["**done**"] == [one.text for one in rig.simulator.answers("D1")]


async def test_live_edit_keeps_the_fence_closed():
    """The ellipsis behind an answer that ends in code does not open its fence again."""
    async with slack() as rig:
        rig.simulator.world.chat("D1")
        receipt = await rig.channel.send(part("…", markup=None))
        await rig.channel.edit(part("```\ncode\n``` …"), receipt.platform_id)
        assert "```\ncode\n```\n…" == rig.simulator.answers("D1")[0].text


async def test_long_plain_edit_is_taken():
    """chat.update takes 4,000 characters of text; what is longer goes in sections."""
    async with slack() as rig:
        rig.simulator.world.chat("D1")
        receipt = await rig.channel.send(part("…", markup=None))
        await rig.channel.edit(part("x" * 11_900, markup=None), receipt.platform_id)
        assert 11_900 == len(rig.simulator.answers("D1")[0].text.replace("\n", ""))


async def test_edit_of_a_message_that_is_gone_says_so():
    """TARGET_GONE is how delivery learns to send anew."""
    async with slack() as rig:
        rig.simulator.world.chat("D1")
        with pytest.raises(Permanent) as gone:
            await rig.channel.edit(part("done"), "1700000000.000001")
        assert PermanentKind.TARGET_GONE is gone.value.kind


@pytest.mark.parametrize("sign", list(Sign))
async def test_every_sign_is_a_reaction(sign: Sign):
    """Each sign can be set, set again, replaces the one before, and can be cleared twice."""
    async with slack() as rig:
        ts = rig.simulator.say("D1", "hello")
        await rig.channel.react(HOME, ts, Sign.QUEUED)
        await rig.channel.react(HOME, ts, sign)
        await rig.channel.react(HOME, ts, sign)
        assert {REACTIONS[sign]: {BOT}} == rig.simulator.shown("D1")[0].reactions
        await rig.channel.react(HOME, ts, None)
        await rig.channel.react(HOME, ts, None)
        assert {} == rig.simulator.shown("D1")[0].reactions


async def test_typing_is_a_status_in_threads_alone():
    """Elsewhere Slack has none; without the scope it is asked for once."""
    async with slack() as rig:
        root = rig.simulator.say("D1", "hello")
        await rig.channel.show_typing(HOME)
        await rig.channel.show_typing(Address("slack", "main", "D1", root))
        assert [(root, "is thinking…")] == [one[:2] for one in rig.simulator.world.chat("D1").statuses]
        rig.simulator.world.the_app().scopes = "chat:write"
        with pytest.raises(Retryable):
            await rig.channel.show_typing(Address("slack", "main", "D1", root))
        await rig.channel.show_typing(Address("slack", "main", "D1", root))


async def test_delete_takes_our_message_away():
    """And only ours."""
    async with slack() as rig:
        rig.simulator.world.chat("D1")
        receipt = await rig.channel.send(part("oops"))
        await rig.channel.delete(HOME, receipt.platform_id)
        assert [] == rig.simulator.answers("D1")


@pytest.mark.parametrize(
    "text",
    ["@everyone", "<!channel>", "<!here|here>", "<@U7>", "<!subteam^S1|@team>", "`<!channel>`", "```\n<!here> <@U7>\n```"],
)
@pytest.mark.parametrize("dialect", ["markdown", "mrkdwn", None])
async def test_nothing_pings(text: str, dialect: str | None):
    """Whatever an answer says, nobody is notified by it (A62, A63)."""
    from channels.markdown_parse import parse
    from channels.slack.render import SlackRenderer

    renderer = SlackRenderer(dialect or "markdown")
    rendered = renderer.plain(text) if dialect is None else renderer.render(parse(text))
    async with slack() as rig:
        rig.simulator.world.chat("C1")
        receipt = await rig.channel.send(part(rendered.text, chat="C1", markup=rendered.markup))
        await rig.channel.edit(part(rendered.text, chat="C1", markup=rendered.markup), receipt.platform_id)
        assert [] == rig.simulator.pings()
        shown = rig.simulator.answers("C1")[0].text.replace("\u2060", "")
        assert text.strip("`\n") in shown


# ---------------------------------------------------------------- files


async def test_file_of_a_person_is_fetched_under_its_cap():
    """The handle leads to the content; the sender's name for it is data, no path."""
    async with slack() as rig, rig.running():
        file = rig.simulator.upload("../../x", b"%PDF", "application/pdf")
        rig.simulator.say("D1", "", files=[file])
        await rig.sink.until(lambda: bool(rig.sink.events))
        (attachment,) = rig.sink.events[0].attachments
        assert ("../../x", "application/pdf", AttachmentKind.DOCUMENT) == (
            attachment.name, attachment.mime, attachment.kind,
        )  # fmt: skip
        assert b"%PDF" == await rig.channel.fetch(attachment, 1_000)


@pytest.mark.parametrize("told", [21_000_000, 10])
async def test_file_that_is_too_large_is_refused(told: int):
    """21 MB are refused by what Slack tells, and by what comes where Slack told less."""
    async with slack() as rig, rig.running():
        content = b"x" * (21_000_000 if told == 10 else 10)
        rig.simulator.say("D1", "", files=[rig.simulator.upload("big.bin", content, size=told)])
        await rig.sink.until(lambda: bool(rig.sink.events))
        with pytest.raises(Permanent, match="bytes"):
            await rig.channel.fetch(rig.sink.events[0].attachments[0], 20_000_000)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/files-pri/F1/x", "https://files.slack.com.evil.example/x", "file:///etc/passwd"]
)
async def test_token_goes_to_the_exact_file_host_alone(url: str):
    """A file that is elsewhere is not fetched at all (A89)."""
    from channels.messages import Attachment

    async with slack() as rig:
        with pytest.raises(Permanent, match="file host"):
            await rig.channel.fetch(Attachment(AttachmentKind.DOCUMENT, url), 1_000)


async def test_file_without_its_scope_is_refused_and_no_redirect_is_followed():
    """Slack leads to a login page; its HTML is nobody's file."""
    async with slack() as rig, rig.running():
        rig.simulator.say("D1", "", files=[rig.simulator.upload("a.pdf", b"%PDF")])
        await rig.sink.until(lambda: bool(rig.sink.events))
        rig.simulator.world.the_app().scopes = "chat:write"
        with pytest.raises(Permanent, match="files:read"):
            await rig.channel.fetch(rig.sink.events[0].attachments[0], 1_000)


async def test_files_are_sent_in_one_message_and_found_again():
    """By the external upload flow, with their words, in their thread."""
    media = (OutboundMedia(AttachmentKind.PHOTO, "plan.png", "image/png", b"\x89PNG"),)
    async with slack() as rig, rig.running():
        root = rig.simulator.say("C1", "show me")
        sent = part("Your plan", chat="C1", thread=root, media=media)
        assert None is await rig.channel.find_sent(sent)
        receipt = await rig.channel.send(sent)
        (answer,) = rig.simulator.answers("C1")
        assert ("Your plan", root, ["plan.png"]) == (answer.text, answer.thread, [one["title"] for one in answer.files])
        assert receipt == await rig.channel.find_sent(sent)


async def test_upload_that_fails_is_made_anew():
    """Until the files are shown nobody sees anything."""
    media = (OutboundMedia(AttachmentKind.DOCUMENT, "a.csv", "text/csv", b"1,2"),)
    async with slack() as rig:
        rig.simulator.world.chat("D1")
        rig.simulator.faults.script(Fault(kind="status", method="upload"))
        with pytest.raises(Retryable):
            await rig.channel.send(part("", media=media))
        await rig.channel.send(part("", media=media))
        assert 1 == len(rig.simulator.answers("D1"))


# ---------------------------------------------------------------- trouble


async def test_cancelled_send_may_have_happened_and_cancellation_travels_on():
    """Cancelling a send in flight raises CancelledError; the simulator shows why that counts as unknown."""
    async with slack() as rig:
        rig.simulator.world.chat("D1")
        rig.simulator.faults.script(Fault(kind="delay", method="chat.postMessage", applied=True, delay_s=5))
        async with asyncio.TaskGroup() as tasks:
            sending = tasks.create_task(rig.channel.send(part("hello")))
            await rig.simulator.until(lambda: bool(rig.simulator.answers("D1")))
            sending.cancel()
        assert sending.cancelled()


async def test_no_connection_is_retryable():
    """Where nothing listens nothing was sent: the same call may be made again."""
    async with slack() as rig:
        await rig.simulator.aclose()
        with pytest.raises(Retryable, match="cannot connect"):
            await rig.channel.send(part("hello"))


@pytest.mark.parametrize("trouble", ["nobody listens", "cut", "html", "late", "refused"])
async def test_tokens_are_in_no_error(trouble: str):
    """Neither the text, the repr, the traceback nor anything an error holds on to shows a token (A92)."""
    async with slack(call_timeout_s=0.2) as rig:
        rig.simulator.world.chat("D1")
        if trouble == "nobody listens":
            await rig.simulator.aclose()
        else:
            kind = {"cut": "cut", "html": "html", "late": "delay", "refused": "error"}[trouble]
            rig.simulator.faults.script(Fault(kind=kind, error="invalid_auth", delay_s=5))
        with pytest.raises((Retryable, Unknown, Permanent)) as caught:
            await rig.channel.send(part("hello"))
        told = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(rig.channel)
        linked, error = [], caught.value
        while error is not None:
            linked.append(f"{error!r} {vars(error)}")
            error = error.__cause__ or error.__context__
        assert BOT_TOKEN not in told + "".join(linked)
        assert APP_TOKEN not in told + "".join(linked)
        del caught
        gc.collect()
