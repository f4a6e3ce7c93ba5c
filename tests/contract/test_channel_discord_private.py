"""Private answers on Discord: who sees them, how often, and the fallback if the interaction has expired."""

import asyncio
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest

from channels.errors import Permanent, PermanentKind, Retryable, Unknown
from channels.messages import Address, AttachmentKind, Button, ButtonPressed, CommandInvoked, OutboundMedia, Route
from channels.simulators.discord.interactions import Interaction
from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.faults import Fault
from tests.fakes.discord import BOT_ID, ROOM, TOKEN, Rig, channel_of, discord, part

ASKER, OTHER = 7, 8
HERE = Address("discord", "main", str(ROOM))
LATER = timedelta(minutes=20)
LONG = "word " * 40


async def asked(rig: Rig, name: str = "stats", **options: str) -> tuple[Interaction, Route]:
    used = rig.simulator.command(ROOM, name, options, person=ASKER)
    await rig.sink.until(lambda: any(event.event_id == f"int:{used.id}" for event in rig.sink.events))
    await rig.simulator.until(lambda: used.acked_at_s is not None or rig.simulator.interactions.has_failed(used))
    event = next(event for event in rig.sink.events if event.event_id == f"int:{used.id}")
    assert isinstance(event, CommandInvoked)
    assert event.route is not None
    return used, event.route


def seen(rig: Rig, by: int | None = None) -> list[str]:
    return [message.text for message in rig.simulator.answers(ROOM, by)]


def direct(rig: Rig) -> list[str]:
    dms = [one.id for one in rig.simulator.world.channels.values() if one.person_id == ASKER]
    return [message.text for chat in dms for message in rig.simulator.answers(chat)]


async def later(rig: Rig) -> None:
    await rig.channel.aclose()
    rig.channel = channel_of(rig.config, sleep=rig.pauses, clock=lambda: datetime.now(UTC) + LATER)
    rig.simulator.interactions.life_s = -1.0


async def test_a_command_in_a_server_is_answered_to_its_asker_alone():
    file = OutboundMedia(AttachmentKind.DOCUMENT, "practice.csv", "text/csv", b"day,minutes")
    async with discord() as rig, rig.running():
        _, route = await asked(rig)
        (waiting,) = rig.simulator.messages(ROOM, ASKER)
        assert (True, ASKER) == (waiting.loading, waiting.only_for)
        for number in range(2):
            await rig.channel.send(part(f"p{number}", chat=ROOM, route=route, key=f"k{number}"))
        _, route = await asked(rig, "export")
        await rig.channel.send(part("Here.", chat=ROOM, route=route, key="k3", media=(file,)))
        assert (["p0", "p1", "Here."], [], []) == (seen(rig, ASKER), seen(rig, OTHER), seen(rig))
        assert [64 | 4] * 3 == [message.flags for message in rig.simulator.answers(ROOM, ASKER)]
        _, route = await asked(rig, "coach", text="hi")
        await rig.channel.send(part("Hello!", chat=ROOM, route=route, key="k4"))
        assert ["Hello!"] == seen(rig)


async def test_an_ephemeral_message_is_reached_by_its_interaction_alone():
    async with discord() as rig, rig.running():
        _, route = await asked(rig)
        said = await rig.channel.send(part("first", chat=ROOM, route=route))
        await rig.channel.edit(part("as it grows", chat=ROOM), said.platform_id)
        assert ["as it grows"] == seen(rig, ASKER)
        await rig.channel.edit(part("second", chat=ROOM, route=route), said.platform_id)
        assert ["second"] == seen(rig, ASKER)
        bare = said.platform_id.rpartition(":")[2]
        with pytest.raises(Permanent) as caught:
            await rig.channel.edit(part("third", chat=ROOM), bare)
        assert PermanentKind.TARGET_GONE is caught.value.kind
        async with aiohttp.ClientSession(rig.simulator.base_url, headers={"Authorization": f"Bot {TOKEN}"}) as http:
            for verb in ("GET", "PATCH", "DELETE"):
                async with http.request(verb, f"/api/v10/channels/{ROOM}/messages/{bare}", json={}) as answer:
                    assert (404, 10008) == (answer.status, (await answer.json())["code"])
            async with http.get(f"/api/v10/channels/{ROOM}/messages") as answer:
                assert [] == await answer.json()
        await rig.channel.delete(HERE, said.platform_id)
        assert [] == seen(rig, ASKER)


async def test_after_a_restart_the_asker_is_answered_once():
    async with discord() as rig:
        async with rig.running():
            _, route = await asked(rig, "plan")
            stands = await rig.channel.send(part("…", chat=ROOM, route=route, key="k0"))
        await rig.restarted()
        assert stands == await rig.channel.find_sent(part("…", chat=ROOM, route=route, key="k0"))
        for _ in range(2):
            await rig.channel.edit(part("Your plan", chat=ROOM, route=route, key="k1"), stands.platform_id)
        await rig.restarted()
        assert stands == await rig.channel.find_sent(part("Your plan", chat=ROOM, route=route, key="k1"))
        await rig.channel.send(part("goes on", chat=ROOM, route=route, key="k2"))
        assert (["Your plan", "goes on"], []) == (seen(rig, ASKER), seen(rig))


async def test_what_came_after_an_answer_cannot_be_looked_for():
    async with discord() as rig, rig.running():
        _, route = await asked(rig)
        first, second = (part(text, chat=ROOM, route=route, key=text) for text in ("one", "two"))
        assert await rig.channel.find_sent(first) is None
        await rig.channel.send(first)
        assert await rig.channel.find_sent(first) is not None
        rig.simulator.faults.script(Fault(kind="cut", method="followUp", applied=True))
        with pytest.raises(Unknown):
            await rig.channel.send(second)
        with pytest.raises(Unknown, match="a private"):
            await rig.channel.find_sent(second)
        assert ["one", "two"] == seen(rig, ASKER)


@pytest.mark.parametrize("trouble", ["token over", "token over early", "never acknowledged", "refused"])
async def test_what_the_token_cannot_carry_goes_to_the_person_directly(trouble: str):
    async with discord() as rig, rig.running():
        if trouble == "never acknowledged":
            rig.simulator.interactions.deadline_s = -1.0
        if trouble == "refused":
            rig.simulator.faults.script(Fault(kind="status", method="callback", status=404, code=10062))
        _, route = await asked(rig)
        if trouble == "token over early":
            rig.simulator.interactions.life_s = -1.0
        if trouble == "token over":
            await later(rig)
        told = part(LONG, chat=ROOM, route=route, reply_to=3)
        said = [await rig.channel.send(told) for _ in range(2)]
        assert said[0] == said[1] == await rig.channel.find_sent(told)
        assert ([LONG.strip()], []) == (direct(rig), seen(rig))
        await rig.channel.edit(replace(told, rendered=part("shorter").rendered), said[0].platform_id)
        assert ["shorter"] == direct(rig)
        await rig.channel.close_buttons(HERE, said[0].platform_id)
        await rig.channel.delete(HERE, said[0].platform_id)
        assert ([], []) == (direct(rig), seen(rig))


async def test_a_deferral_whose_answer_was_lost_is_asked_about():
    async with discord() as rig, rig.running():
        rig.simulator.faults.script(Fault(kind="cut", method="callback", applied=True))
        _, route = await asked(rig)
        await rig.channel.send(part("yours", chat=ROOM, route=route))
        assert (["yours"], []) == (seen(rig, ASKER), direct(rig))


async def test_a_person_who_takes_no_direct_messages_stops_no_other():
    """Cover A35."""
    async with discord() as rig, rig.running():
        _, route = await asked(rig)
        rig.simulator.world.person(ASKER).takes_dms = False
        await later(rig)
        with pytest.raises(Permanent, match=r"only one person may see it.*50007") as caught:
            await rig.channel.send(part("secret", chat=ROOM, route=route))
        assert PermanentKind.REJECTED is caught.value.kind
        assert ([], []) == (seen(rig), direct(rig))


async def test_an_unanswered_edit_by_token_is_unknown():
    async with discord() as rig, rig.running():
        _, route = await asked(rig)
        await rig.channel.send(part("short", chat=ROOM, route=route))
        await later(rig)
        with pytest.raises(Unknown, match="a private"):
            await rig.channel.find_sent(part("short", chat=ROOM, route=route))
        rig.simulator.faults.script(Fault(kind="cut", method="getOriginal", times=2))
        with pytest.raises(Retryable):
            await rig.channel.find_sent(part("short", chat=ROOM, route=route))
        with pytest.raises(Permanent) as caught:
            await rig.channel.edit(part("x", chat=ROOM, route=route), f"ephemeral:{route.token.partition('/')[0]}:1")
        assert PermanentKind.TARGET_GONE is caught.value.kind


async def test_an_ephemeral_button_is_pressed_answered_and_taken_away():
    async with discord() as rig, rig.running():
        _, route = await asked(rig)
        ours = await rig.channel.send(part("Sure?", chat=ROOM, route=route, buttons=(Button("Yes", "yes:1"),)))
        pressed = rig.simulator.press(ROOM, int(ours.platform_id.rpartition(":")[2]), "yes:1", person=ASKER)
        await rig.sink.until(lambda: len(rig.sink.events) == 2)
        event = rig.sink.events[1]
        assert isinstance(event, ButtonPressed)
        assert ("yes:1", ours.platform_id, str(ASKER)) == (event.data, event.message_id, event.sender.id)
        await rig.simulator.until(lambda: pressed.answer == 5)
        for _ in range(2):
            await rig.channel.send(part("Done.", chat=ROOM, route=event.route, key="k2"))
        await rig.channel.close_buttons(HERE, event.message_id)
        assert (["Sure?", "Done."], []) == (seen(rig, ASKER), seen(rig))
        assert [] == rig.simulator.answers(ROOM, ASKER)[0].components


async def test_in_direct_messages_nothing_is_hidden():
    async with discord() as rig, rig.running():
        used = rig.simulator.command(1, "stats")
        await rig.simulator.until(lambda: used.acked_at_s is not None)
        assert [None] == [message.only_for for message in rig.simulator.messages(1)]


async def test_the_library_itself_finds_ephemeral_messages_as_they_are():
    async with DiscordSimulator() as simulator:
        simulator.add_bot(TOKEN, bot_id=BOT_ID)
        simulator.add_channel(ROOM, 5_000)
        command = (sys.executable, "-m", "tests.fakes.discord_library_bot")
        environment = {"DISCORD_API_BASE": simulator.base_url, "DISCORD_BOT_TOKEN": TOKEN, "PATH": "/usr/bin"}
        process = await asyncio.create_subprocess_exec(*command, env=environment)
        try:
            await simulator.until(lambda: simulator.world.bot().sessions.connected, timeout_s=30.0)
            simulator.command(ROOM, "stats", person=ASKER)
            done = "completed, by the channel 10008"
            await simulator.until(lambda: done in [one.text for one in simulator.answers(ROOM, ASKER)], timeout_s=30.0)
        finally:
            process.kill()
            await process.wait()
        assert [done, "followed, edited"] == [message.text for message in simulator.answers(ROOM, ASKER)]
        assert [] == simulator.answers(ROOM)
