"""Slash commands, buttons and configuration on Slack, against the simulator."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from channels.base import (
    ChannelState,
)
from channels.errors import ConfigRefused, Permanent, PermanentKind, Retryable, Unknown
from channels.messages import (
    Address,
    Button,
    ButtonPressed,
    ButtonStyle,
    ChatKind,
)
from channels.simulators.shared.faults import Fault
from channels.slack.reply_route import ReplyRoute
from tests.fakes.slack import part, slack

HOME = Address("slack", "main", "D1")


async def test_command_in_a_channel_is_answered_to_who_asked_alone():
    """Cover A52."""
    async with slack() as rig, rig.running():
        rig.simulator.command("C1", "/stats", person="U7")
        await rig.sink.until(lambda: bool(rig.sink.events))
        receipt = await rig.channel.send(part("12 h", chat="C1", route=rig.sink.events[0].route))
        (answer,) = rig.simulator.answers("C1", "U7")
        assert ("12 h", "U7") == (answer.text, answer.only_for)
        with pytest.raises(Permanent) as gone:
            await rig.channel.edit(part("13 h", chat="C1"), receipt.platform_id)
        assert PermanentKind.TARGET_GONE is gone.value.kind


async def test_placeholder_is_not_wasted_on_a_response_url():
    async with slack() as rig, rig.running():
        rig.simulator.command("C1", "/plan")
        await rig.sink.until(lambda: bool(rig.sink.events))
        await rig.channel.send(part("…", chat="C1", markup=None, route=rig.sink.events[0].route, unfinished=True))
        assert [] == rig.simulator.answers("C1", "U7")


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
    async with slack() as rig, rig.running():
        rig.simulator.command("C1", "/stats")
        await rig.sink.until(lambda: bool(rig.sink.events))
        rig.simulator.faults.script(fault)
        with pytest.raises(raises):
            await rig.channel.send(part("12 h", chat="C1", route=rig.sink.events[0].route))


async def test_response_url_elsewhere_is_never_called():
    async with slack() as rig:
        route = ReplyRoute("U7", datetime.now(UTC) + timedelta(minutes=5), "http://127.0.0.1:1/hooks/x").as_route()
        with pytest.raises(Permanent, match="does not lead to Slack"):
            await rig.channel.send(part("hi", chat="C1", route=route))


async def test_command_in_our_direct_messages_is_answered_there():
    async with slack() as rig, rig.running():
        rig.simulator.say("D1", "hello")
        rig.simulator.command("D1", "/stats")
        await rig.sink.until(lambda: len(rig.sink.events) == 2)
        assert ChatKind.DIRECT is rig.sink.events[1].kind
        await rig.channel.send(part("12 h", route=rig.sink.events[1].route))
        assert [None] == [one.only_for for one in rig.simulator.answers("D1")]


async def test_buttons_are_shown_pressed_and_taken_away():
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
    async with slack() as rig, rig.running():
        rig.simulator.command("C1", "/plan", person="U7")
        await rig.sink.until(lambda: bool(rig.sink.events))
        asked = part("Start?", chat="C1", route=rig.sink.events[0].route, buttons=(Button("Yes", "yes"),))
        await rig.channel.send(asked)
        rig.simulator.press("C1", rig.simulator.answers("C1", "U7")[0].message_id, "yes", person="U7")
        await rig.sink.until(lambda: len(rig.sink.events) == 2)
        assert "response_url" == rig.sink.events[1].route.kind


async def test_refused_bot_token_fails_at_once_and_says_where_to_mend_it():
    async with slack(bot_token="xoxb-unknown-secret") as rig:
        with pytest.raises(ConfigRefused, match="OAuth & Permissions") as refused:
            await rig.sink.run(rig.channel)
        assert ChannelState.FAILED is rig.sink.states[-1][0]
        assert "unknown-secret" not in str(refused.value) + str(rig.sink.states)


async def test_refused_app_token_says_where_to_mend_it():
    async with slack(app_token="xapp-unknown-secret") as rig:
        with pytest.raises(ConfigRefused, match=r"App-Level Tokens.*connections:write") as refused:
            await rig.sink.run(rig.channel)
        assert "unknown-secret" not in str(refused.value) + str(rig.sink.states)


async def test_missing_scope_is_named_before_anything_is_lost():
    async with slack() as rig:
        rig.simulator.world.the_app().scopes = "commands,im:history"
        with pytest.raises(ConfigRefused, match=r"chat:write.*Bot Token Scopes"):
            await rig.sink.run(rig.channel)


async def test_socket_mode_that_is_off_is_named():
    async with slack() as rig:
        rig.simulator.world.the_app().socket_mode = False

        async def switch_off() -> None:
            await rig.simulator.until(lambda: rig.simulator.sockets.connected == 1)
            rig.simulator.sockets.refresh("link_disabled")

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(switch_off())
            with pytest.raises(ConfigRefused, match="Enable Socket Mode"):
                await rig.sink.run(rig.channel)
        assert "Enable Socket Mode" in rig.sink.details(ChannelState.DEGRADED)[0]
        assert ChannelState.FAILED is rig.sink.states[-1][0]


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
    async with slack() as rig:
        rig.simulator.faults.script(fault)
        async with rig.running():
            rig.simulator.say("D1", "hello")
            await rig.sink.until(lambda: bool(rig.sink.events))
        assert 2 == len(rig.pauses.asked_s)
        assert (7.0 if fault.error == "ratelimited" else 0.5) == rig.pauses.asked_s[0]
        assert ChannelState.READY is rig.sink.states[-1][0]
