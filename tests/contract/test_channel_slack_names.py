"""People's names on Slack: looked up by users.info without delaying events."""

import asyncio

import pytest
from structlog.testing import capture_logs

from channels.messages import InboundMessage
from channels.simulators.shared.faults import Fault
from channels.slack import names
from channels.slack.identity import BotIdentity
from channels.slack.names import NameDirectory
from channels.slack.wire import SlackWire
from tests.fakes.slack import BOT, Rig, account, slack, slack_by_http
from tests.fakes.virtual_time import VirtualTimeLoop, run_virtually

US = BotIdentity("main", "T0SIM", BOT, "B0TENK", name="tenk")


async def heard(rig: Rig, count: int) -> list[InboundMessage]:
    await rig.sink.until(lambda: len(rig.sink.events) >= count)
    return [event for event in rig.sink.events if isinstance(event, InboundMessage)]


async def test_people_are_asked_for_once():
    async with slack() as rig, rig.running():
        rig.simulator.add_person("U1", "ann")
        for n in range(3):
            rig.simulator.say("D1", f"{n}")
            rig.simulator.say("D2", f"{n}")
            await heard(rig, 2 * n + 2)
        assert ["U1", "U2"] == sorted(rig.simulator.world.looked_up)
        assert {"ann", "U2"} == {message.sender.display_name for message in await heard(rig, 6)}


async def test_mentions_and_commands_carry_names():
    async with slack() as rig, rig.running():
        rig.simulator.add_person("U7", "ann", display_name="Ann")
        rig.simulator.add_person("U8", "bob", display_name="Bob", deleted=True)
        rig.simulator.say("C1", f"<@{BOT}> ask <@U8>, or is <@{BOT}> asleep?", person="U7")
        (message, _) = await heard(rig, 2)
        assert "ask @Bob, or is @tenk asleep?" == message.text
        rig.simulator.command("C1", "/stats", "of <@U8>", person="U7")
        await rig.sink.until(lambda: len(rig.sink.events) == 3)
        command = rig.sink.events[2]
        assert ("Ann", "of @Bob") == (command.sender.display_name, command.arguments)


def test_a_stalled_lookup_delays_events_briefly():

    async def scene(loop: VirtualTimeLoop) -> None:
        loop.sockets_s = 0.05
        async with slack() as rig, rig.running():
            rig.simulator.add_person("U1", "ann")
            rig.simulator.faults.script(Fault(kind="delay", method="users.info", delay_s=30.0, times=None))
            begun_s = loop.time()
            for n in range(20):
                rig.simulator.say("D1", f"a{n}")
                rig.simulator.say("D2", f"b{n}")
            messages = await heard(rig, 40)
            assert 1.0 > loop.time() - begun_s
            assert [f"a{n}" for n in range(20)] == [one.text for one in messages if one.address.chat == "D1"]
            assert {"U1", "U2"} == {message.sender.display_name for message in messages}

    run_virtually(scene)


def test_who_needs_no_name_does_not_overtake_who_waits_for_one():

    async def scene(loop: VirtualTimeLoop) -> None:
        loop.sockets_s = 0.05
        async with slack() as rig, rig.running():
            rig.simulator.add_person("U7", "ann")
            rig.simulator.say("C1", "known", person="U7")
            await heard(rig, 1)
            rig.simulator.faults.script(Fault(kind="delay", method="users.info", delay_s=30.0, times=None))
            rig.simulator.say("C1", "first", person="U8")
            rig.simulator.say("C1", "second", person="U7")
            rig.simulator.say("C2", "elsewhere", person="U7")
            assert ["known", "elsewhere", "first", "second"] == [one.text for one in await heard(rig, 4)]

    run_virtually(scene)


@pytest.mark.parametrize(
    ("fault", "pause_s"),
    [
        (Fault(kind="error", error="ratelimited", retry_after_s=90, method="users.info"), 90.0),
        (Fault(kind="status", status=500, method="users.info"), names.PAUSE_S),
        (Fault(kind="cut", method="users.info", times=2), names.PAUSE_S),
    ],
    ids=["429", "500", "cut"],
)
async def test_a_refusal_is_the_last_question_for_a_while(fault: Fault, pause_s: float):
    now_s = 0.0
    async with slack() as rig:
        rig.simulator.add_person("U1", "ann")
        rig.simulator.faults.script(fault)
        wire = SlackWire(account(rig.simulator))
        known = NameDirectory(wire, US, now_s=lambda: now_s)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(known.run())
            for _ in range(10):  # a busy machine may need longer than one wait
                await known.learn(["U1"])
            now_s = pause_s - 1
            await known.learn(["U1", "U2"])
            assert ([], None) == (rig.simulator.world.looked_up, known.name_of("U1"))
            now_s = pause_s
            await known.learn(["U1"])
            assert (["U1"], "ann") == (rig.simulator.world.looked_up, known.name_of("U1"))
            running.cancel()
        await wire.aclose()


async def test_without_the_scope_it_works_with_ids_and_says_where_to_click():
    with capture_logs() as logs:
        async with slack() as rig, rig.running():
            rig.simulator.world.the_app().scopes = "chat:write,im:history"
            rig.simulator.add_person("U1", "ann")
            for chat in ("D1", "D2", "D3"):
                rig.simulator.say(chat, "hello")
            messages = await heard(rig, 3)
            assert {"U1", "U2", "U3"} == {message.sender.display_name for message in messages}
            told = [one for one in logs if one["event"] == "names_missing"]
            assert 1 == len(told)
            assert "users:read" in told[0]["mend"]
            assert "OAuth & Permissions" in told[0]["mend"]


async def test_a_name_is_only_the_name_of_the_same_team():
    """Cover A30."""
    async with slack() as rig, rig.running():
        rig.simulator.add_person("U1", "owner")
        rig.simulator.say("D1", "hello", extra={"user_team": "T9OTHER"})
        (message,) = await heard(rig, 1)
        assert ("U1", "T9OTHER:U1") == (message.sender.display_name, message.sender.id)


async def test_a_new_name_is_heard():
    async with slack() as rig, rig.running():
        rig.simulator.add_person("U1", "ann")
        rig.simulator.say("D1", "1")
        await heard(rig, 1)
        rig.simulator.rename("U1", "Anna")
        rig.simulator.say("D1", "2")
        assert ["ann", "Anna"] == [message.sender.display_name for message in await heard(rig, 2)]
        assert ["U1"] == rig.simulator.world.looked_up


async def test_what_was_missed_is_read_with_names():
    async with slack_by_http() as rig:
        async with rig.running():
            rig.simulator.say("D1", "before")
            await rig.sink.until(lambda: bool(rig.sink.events))
        rig.simulator.add_person("U1", "ann")
        rig.simulator.say("D1", "missed", deliver=False)
        async with rig.running():
            await rig.sink.until(lambda: any(event.text == "missed" for event in rig.sink.events))
        assert "ann" == next(one for one in rig.sink.events if one.text == "missed").sender.display_name


async def test_what_is_said_comes_with_the_language_of_its_senders_slack():
    async with slack() as rig, rig.running():
        rig.simulator.add_person("U1", "ana", locale="es-ES")
        rig.simulator.add_person("U2", "ben")
        rig.simulator.say("D1", "hola")
        await heard(rig, 1)
        rig.simulator.rename("U1", "Anita")
        rig.simulator.command("D1", "/stats", person="U1")
        rig.simulator.say("D2", "hello", person="U2")
        await rig.sink.until(lambda: len(rig.sink.events) >= 3)
        said = {type(event).__name__ + event.sender.id: event.locale for event in rig.sink.events}
        assert {
            "InboundMessageT0SIM:U1": "es-ES",
            "CommandInvokedT0SIM:U1": "es-ES",
            "InboundMessageT0SIM:U2": None,
        } == said
