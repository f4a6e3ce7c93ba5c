"""People's actions on Discord as the adapter hands them in: words, edits, files, commands and presses."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from channels.base import CommandOption, CommandSpec
from channels.errors import Permanent
from channels.messages import (
    Attachment,
    AttachmentKind,
    Button,
    ButtonPressed,
    ButtonStyle,
    CommandInvoked,
    InboundMessage,
    Membership,
    MembershipChanged,
    OutboundMedia,
)
from channels.simulators.shared.faults import Fault
from tests.fakes.discord import GUILD, HOME, MENTION, ROOM, discord, invoked, part


async def test_in_a_server_a_mention_or_a_reply_is_meant_for_the_bot():
    async with discord() as rig, rig.running():
        ours = int((await rig.channel.send(part("I am here", chat=ROOM))).platform_id)
        rig.simulator.say(ROOM, "among us", person=7)
        rig.simulator.say(ROOM, f"{MENTION} /stats", person=7)
        rig.simulator.say(ROOM, "and this?", person=7, under=ours)
        rig.simulator.add_person(8, "Ana")
        rig.simulator.say(ROOM, f"ask <@8>, {MENTION}", person=7)
        await rig.sink.until(lambda: len(rig.sink.events) == 4)
        heard = [(event.text, event.mentions_bot) for event in rig.sink.events if isinstance(event, InboundMessage)]
        assert [("among us", False), ("/stats", True), ("and this?", True), ("ask @Ana,", True)] == heard


async def test_channels_are_woken_as_configured():
    async with discord(always_in=[str(ROOM)], off_in=["5003"]) as rig:
        rig.simulator.add_channel(5_003, GUILD)
        rig.simulator.add_thread(6_001, ROOM)
        async with rig.running():
            rig.simulator.say(5_003, f"{MENTION} unheard", person=7)
            rig.simulator.say(ROOM, "heard", person=7)
            rig.simulator.say(6_001, "heard too", person=7)
            await rig.sink.until(lambda: len(rig.sink.events) == 2)
        assert [("heard", True), ("heard too", True)] == [(e.text, e.mentions_bot) for e in rig.sink.events]


async def test_an_unknown_thread_is_asked_for():
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


async def test_joining_and_leaving_a_server():
    async with discord() as rig, rig.running():
        rig.simulator.add_guild(5_100, "New", joined_s_ago=0.0)
        rig.simulator.leave(5_100)
        await rig.sink.until(lambda: len(rig.sink.events) == 2)
        changes = [event.change for event in rig.sink.events if isinstance(event, MembershipChanged)]
        assert [Membership.ADDED, Membership.LEFT] == changes


async def test_a_file_is_fetched_with_a_cap():
    """Cover A77."""
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


async def test_a_command_is_deferred_after_the_commit_and_completed_by_an_edit():
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
        assert [True] == [message.loading for message in rig.simulator.messages(1)]
        first = await rig.channel.send(part("Logged.", route=event.route, key="k1"))
        again = await rig.channel.send(part("Logged.", route=event.route, key="k1"))
        more = await rig.channel.send(part("And more.", route=event.route, key="k2"))
        assert first == again
        assert first != more
        assert ["Logged.", "And more."] == [message.text for message in rig.simulator.answers(1)]


async def test_a_command_is_answered_with_a_file():
    async with discord() as rig, rig.running():
        event = await invoked(rig, "export")
        file = OutboundMedia(AttachmentKind.DOCUMENT, "practice.csv", "text/csv", b"day,minutes")
        await rig.channel.send(part("Here.", route=event.route, media=(file,)))
        (answer,) = rig.simulator.answers(1)
        assert ("Here.", "practice.csv", b"day,minutes") == (answer.text, answer.files[0].name, answer.files[0].content)


async def test_an_answer_that_comes_at_once_waits_for_its_deferral():
    async with discord() as rig, rig.running():
        rig.simulator.faults.script(Fault(kind="delay", method="callback", delay_s=0.2))
        event = await invoked(rig)
        await rig.channel.send(part("quick", route=event.route))
        assert [("quick", 20)] == [(message.text, message.type) for message in rig.simulator.answers(1)]


@pytest.mark.parametrize("trouble", ["never acknowledged", "token over", "route over", "refused"])
async def test_what_cannot_be_answered_its_own_way_goes_to_the_chat(trouble: str):
    async with discord() as rig, rig.running():
        if trouble == "never acknowledged":
            rig.simulator.interactions.deadline_s = -1.0
        if trouble == "refused":
            rig.simulator.faults.script(Fault(kind="status", method="callback"))
        event = await invoked(rig)
        if trouble in ("token over", "route over"):
            await rig.simulator.until(lambda: any(message.loading for message in rig.simulator.messages(1)))
        if trouble == "token over":
            rig.simulator.interactions.life_s = -1.0
        assert event.route is not None
        over = datetime.now(UTC) - timedelta(seconds=1)
        route = replace(event.route, expires_at=over) if trouble == "route over" else event.route
        await rig.channel.send(part("Here it is.", route=route))
        assert [("Here it is.", 0)] == [(message.text, message.type) for message in rig.simulator.answers(1)]


async def test_after_a_restart_the_answer_still_completes_the_command_once():
    async with discord() as rig:
        async with rig.running():
            event = await invoked(rig)
            await rig.simulator.until(lambda: bool(rig.simulator.messages(1)))
        await rig.restarted()
        first = await rig.channel.send(part("Logged.", route=event.route, key="k1"))
        await rig.restarted()
        assert first == await rig.channel.find_sent(part("Logged.", route=event.route, key="k1"))
        assert first == await rig.channel.send(part("Logged.", route=event.route, key="k1"))
        await rig.channel.send(part("More.", route=event.route, key="k2"))
        assert ["Logged.", "More."] == [message.text for message in rig.simulator.answers(1)]


async def test_where_the_bot_may_not_write_a_command_is_answered_all_the_same():
    async with discord() as rig, rig.running():
        rig.simulator.block(ROOM)
        rig.simulator.command(ROOM, "coach", person=7)
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
    text, mode = CommandOption("text", "What", required=True), CommandOption("mode", "How", choices=("steer",))
    menus = {
        "en": [
            CommandSpec("coach", "Talk", (text,)),
            CommandSpec("log", "Log", (text,)),
            CommandSpec("mode", "M", (mode,)),
        ],
        "es": [CommandSpec("log", "Anota", (text,)), CommandSpec("mode", "Modo", (mode,))],
    }
    async with discord() as rig:
        await rig.channel.set_commands(menus)
        await rig.channel.set_commands(menus)
        bot = rig.simulator.world.bot()
        assert 1 == bot.puts
        assert ["coach", "log", "mode"] == [command["name"] for command in bot.commands]
        assert {"es-ES": "Anota", "es-419": "Anota"} == bot.commands[1]["description_localizations"]
        options = [option for command in bot.commands for option in command["options"]]
        assert [("text", True), ("text", True), ("mode", False)] == [(o["name"], o["required"]) for o in options]
        await rig.channel.set_commands({"en": [CommandSpec("log", "Log practice")]})
        assert 2 == bot.puts
