"""Slack over HTTP, against the simulator's signed posts: 200 after the commit, 503 without one."""

import aiohttp
import orjson

from channels.base import ChannelState
from channels.messages import CommandInvoked
from channels.simulators.shared.faults import Fault
from channels.simulators.slack.posting import signed_headers
from channels.simulators.slack.state import SIGNING_SECRET
from tests.fakes.slack import BOT, part, slack_by_http


async def test_event_is_answered_only_after_the_commit():
    async with slack_by_http() as rig, rig.running():
        await rig.sink.until(lambda: rig.sink.states[-1:] == [(ChannelState.READY, "")])
        rig.sink.open.clear()
        rig.simulator.say("D1", "hello")
        await rig.sink.arriving.wait()
        (posted,) = rig.simulator.poster.posted
        assert [] == posted.statuses
        rig.sink.open.set()
        await rig.simulator.until(lambda: posted.done)
        assert [200] == posted.statuses


async def test_event_the_store_refuses_for_a_moment_is_taken_within_its_request():
    async with slack_by_http() as rig, rig.running():
        await rig.sink.until(lambda: rig.sink.states[-1:] == [(ChannelState.READY, "")])
        rig.sink.refusals = 3
        rig.simulator.say("D1", "first")
        await rig.sink.until(lambda: rig.sink.refusals < 3)
        rig.simulator.say("D1", "second")
        await rig.simulator.until(lambda: [[200], [200]] == [one.statuses for one in rig.simulator.poster.posted])
        assert ["first", "second"] == [event.text for event in rig.sink.events]


async def test_nothing_overtakes_an_event_that_was_answered_503():
    async with slack_by_http() as rig, rig.running():
        await rig.sink.until(lambda: rig.sink.states[-1:] == [(ChannelState.READY, "")])
        rig.sink.open.clear()
        for text in ("first", "second"):
            rig.simulator.say("D1", text)
            await rig.simulator.until(lambda: 503 in rig.simulator.poster.posted[-1].statuses)
        rig.simulator.poster.forget()
        rig.sink.open.set()
        rig.simulator.say("D1", "third")
        await rig.sink.until(lambda: "third" in [event.text for event in rig.sink.events])
        assert ["first", "second", "third"] == list(dict.fromkeys(event.text for event in rig.sink.events))


async def test_command_that_is_not_taken_in_time_is_given_up():
    async with slack_by_http() as rig, rig.running():
        await rig.sink.until(lambda: rig.sink.states[-1:] == [(ChannelState.READY, "")])
        rig.sink.open.clear()
        used = rig.simulator.command("D1", "/stats")
        await rig.simulator.until(lambda: used.done)
        rig.sink.open.set()
        rig.simulator.say("D1", "hello")
        await rig.sink.until(lambda: bool(rig.sink.events))
        assert ([503], ["hello"]) == (used.statuses, [getattr(event, "text", "/") for event in rig.sink.events])


async def test_url_verification_is_answered_with_its_challenge():
    async with slack_by_http() as rig, rig.running():
        await rig.sink.until(lambda: rig.sink.states[-1:] == [(ChannelState.READY, "")])
        body = orjson.dumps({"type": "url_verification", "token": "x", "challenge": "3eZbrw1aB"})
        headers = signed_headers(SIGNING_SECRET, body, "application/json")
        async with (
            aiohttp.ClientSession() as session,
            session.post(rig.simulator.world.the_app().webhook_url, data=body, headers=headers) as answer,
        ):
            assert (200, {"challenge": "3eZbrw1aB"}) == (answer.status, await answer.json())


async def test_commands_and_buttons_come_by_the_same_path():
    async with slack_by_http() as rig, rig.running():
        await rig.sink.until(lambda: rig.sink.states[-1:] == [(ChannelState.READY, "")])
        used = rig.simulator.command("C1", "/coach", "wie läuft es? & <b>", person="U7")
        await rig.simulator.until(lambda: used.done)
        await rig.channel.send(part("12 h", chat="C1", route=rig.sink.events[0].route))
        command = rig.sink.events[0]
        assert isinstance(command, CommandInvoked)
        assert ("coach", "T0SIM:U7") == (command.name, command.sender.id)
        assert [200] == used.statuses
        assert "U7" == rig.simulator.answers("C1", "U7")[0].only_for


async def test_message_and_app_mention_over_http_are_one():
    async with slack_by_http() as rig, rig.running():
        await rig.sink.until(lambda: rig.sink.states[-1:] == [(ChannelState.READY, "")])
        rig.simulator.say("C1", f"<@{BOT}> hello")
        await rig.sink.until(lambda: len(rig.sink.events) == 2)
        assert 1 == len({event.event_id for event in rig.sink.events})


async def test_malformed_event_is_answered_200_and_kept_aside():
    async with slack_by_http() as rig, rig.running():
        await rig.sink.until(lambda: rig.sink.states[-1:] == [(ChannelState.READY, "")])
        posted = rig.simulator.inject({"type": "event_callback", "event_id": "Ev1", "event": {"type": "message"}})
        await rig.simulator.until(lambda: posted.done)
        assert [200] == posted.statuses
        assert ["ev:Ev1"] == [one.event_id for one in rig.sink.rejected]


async def test_what_slack_gave_up_is_read_once_it_delivers_again():
    async with slack_by_http() as rig, rig.running():
        rig.simulator.say("D2", "before")
        await rig.sink.until(lambda: bool(rig.sink.events))
        rig.simulator.say("D1", "given up", deliver=False)
        rig.sink.refusals = 1
        rig.simulator.say("D1", "taken at the second try")
        await rig.sink.until(lambda: {"given up", "taken at the second try"} <= {one.text for one in rig.sink.events})


async def test_command_does_not_wait_long_for_a_history():
    async with slack_by_http(backfill_s=30.0) as rig:
        async with rig.running():
            rig.simulator.say("D1", "before")
            await rig.sink.until(lambda: bool(rig.sink.events))
        rig.simulator.faults.script(Fault(kind="delay", method="users.conversations", delay_s=30.0))
        async with rig.running():
            rig.simulator.say("D1", "later")
            await rig.sink.until(lambda: rig.sink.states[-1:] == [(ChannelState.READY, "")])
            used = rig.simulator.command("D1", "/stats")
            await rig.simulator.until(lambda: used.done)
            assert [200] == used.statuses
            assert "later" not in [getattr(one, "text", "") for one in rig.sink.events]
