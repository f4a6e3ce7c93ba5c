"""The Telegram adapter against the simulator: nothing lost, nothing confirmed early, trouble is reported."""

import gc
import traceback

import pytest

from channels.base import (
    ChannelState,
    CommandSpec,
    DeletesMessages,
    EditsMessages,
    HasCommands,
    Reaction,
    Reacts,
    ShowsTyping,
)
from channels.errors import ConfigRefused, Permanent, PermanentKind, Retryable, Unknown
from channels.messages import Address
from channels.simulators.shared.faults import Fault
from channels.simulators.telegram.methods import REACTIONS as LEGAL_REACTIONS
from channels.simulators.telegram.state import Webhook
from channels.telegram.adapter import REACTIONS
from tests.fakes.telegram import TOKEN, part, telegram

HOME = Address("telegram", "main", "1")


async def test_offset_is_confirmed_only_after_the_commit():
    async with telegram() as rig:
        rig.sink.open.clear()
        async with rig.running():
            rig.simulator.say(1, "hello")
            await rig.sink.arriving.wait()
            assert 1 == len(rig.simulator.world.bot().updates)
            rig.sink.open.set()
            await rig.simulator.until(lambda: len(rig.simulator.world.bot().updates) == 0)
        assert ["msg:1:1"] == [event.event_id for event in rig.sink.events]


async def test_ids_that_start_lower_after_an_idle_week_lose_nothing():
    async with telegram() as rig:
        async with rig.running():
            rig.simulator.say(1, "before the holidays")
            await rig.simulator.until(lambda: len(rig.simulator.world.bot().updates) == 0)
        rig.simulator.world.bot().updates.renumber(500)
        rig.simulator.say(1, "after")
        async with rig.running():
            await rig.simulator.until(lambda: len(rig.simulator.world.bot().updates) == 0)
        assert ["before the holidays", "after"] == [event.text for event in rig.sink.events]
        assert "501" == rig.sink.committed


async def test_second_poller_is_named_as_such():
    async with telegram() as rig:
        rig.simulator.faults.script(Fault(kind="status", status=409, method="getUpdates", times=2))
        async with rig.running():
            rig.simulator.say(1, "hello")
            await rig.sink.until(lambda: bool(rig.sink.events))
        assert "another program polls with this token" in rig.sink.details(ChannelState.DEGRADED)[0]
        assert [1.0, 2.0] == rig.pauses.asked_s


async def test_webhook_is_told_and_never_removed():
    async with telegram() as rig:
        rig.simulator.world.bot().webhook = Webhook("https://example.com/hook", "", 40)
        async with rig.running():
            await rig.sink.until(lambda: bool(rig.sink.details(ChannelState.DEGRADED)))
        assert "a webhook is set" in rig.sink.details(ChannelState.DEGRADED)[0]
        assert rig.simulator.world.bot().webhook is not None


async def test_refused_token_fails_at_once_and_says_where_to_mend_it():
    async with telegram("999999:unknown-token") as rig:
        with pytest.raises(ConfigRefused, match="@BotFather") as refused:
            await rig.sink.run(rig.channel)
        assert ChannelState.FAILED is rig.sink.states[-1][0]
        assert "unknown-token" not in str(refused.value) + str(rig.sink.states)


async def test_token_revoked_later_ends_the_channel_after_three_refusals():
    async with telegram() as rig:
        rig.simulator.faults.script(Fault(kind="status", status=401, method="getUpdates", times=None))
        with pytest.raises(ConfigRefused):
            await rig.sink.run(rig.channel)
        assert [1.0, 2.0] == rig.pauses.asked_s


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="html", method="getUpdates", times=2),
        Fault(kind="status", status=500, method="getUpdates", times=2),
        Fault(kind="cut", method="getUpdates", times=2),
        Fault(kind="cut", method="getUpdates", applied=True, times=2),
        Fault(kind="status", status=429, retry_after_s=7, method="getUpdates", times=2),
        Fault(kind="html", method="getMe", times=2),
    ],
    ids=lambda fault: f"{fault.method}-{fault.kind}-{fault.status}-{fault.applied}",
)
async def test_poll_survives(fault: Fault):
    async with telegram() as rig:
        rig.simulator.faults.script(fault)
        async with rig.running():
            rig.simulator.say(1, "hello")
            await rig.sink.until(lambda: bool(rig.sink.events))
        assert ["hello"] == [event.text for event in rig.sink.events]
        least = 7.0 if fault.status == 429 else 1.0
        assert least == rig.pauses.asked_s[0]
        assert ChannelState.READY is rig.sink.states[-1][0]


async def test_channel_has_the_abilities_it_promises():
    async with telegram() as rig:
        for ability in (EditsMessages, ShowsTyping, Reacts, DeletesMessages, HasCommands):
            assert isinstance(rig.channel, ability)


async def test_send_replies_without_previews_and_with_entities():
    async with telegram() as rig:
        asked = rig.simulator.say(1, "question")
        receipt = await rig.channel.send(
            part("see https://example.com", markup='[{"type":"bold","offset":0,"length":3}]', reply_to=asked)
        )
        (answer,) = rig.simulator.answers(1)
        assert str(answer.message_id) == receipt.platform_id
        assert ({"type": "bold", "offset": 0, "length": 3},) == answer.entities
        assert (asked, False) == (answer.reply_to, answer.preview)


async def test_reply_to_a_deleted_question_is_sent_without_it():
    async with telegram() as rig:
        rig.simulator.add_chat(1, "private")
        await rig.channel.send(part("answer", reply_to=77))
        assert [("answer", None)] == [(one.text, one.reply_to) for one in rig.simulator.answers(1)]


async def test_edit_of_a_message_that_is_gone_says_so():
    async with telegram() as rig:
        rig.simulator.add_chat(1, "private")
        with pytest.raises(Permanent) as gone:
            await rig.channel.edit(part("done"), "99")
        assert PermanentKind.TARGET_GONE is gone.value.kind


@pytest.mark.parametrize("reaction", list(Reaction))
async def test_every_reaction_is_one_telegram_takes(reaction: Reaction):
    async with telegram() as rig:
        said = rig.simulator.say(1, "hello")
        await rig.channel.react(HOME, str(said), reaction)
        assert {REACTIONS[reaction]: {123456}} == rig.simulator.messages(1)[0].reactions
        assert REACTIONS[reaction] in LEGAL_REACTIONS
        await rig.channel.react(HOME, str(said), None)
        assert {} == rig.simulator.messages(1)[0].reactions


async def test_typing_deletion_and_menus_arrive():
    async with telegram() as rig:
        rig.simulator.add_chat(1, "private")
        receipt = await rig.channel.send(part("oops"))
        await rig.channel.show_typing(HOME)
        await rig.channel.delete(HOME, receipt.platform_id)
        await rig.channel.set_commands({"": [CommandSpec("start", "Begin")], "de": [CommandSpec("start", "Los")]})
        bot = rig.simulator.world.bot()
        assert 1 == rig.simulator.typing(1)
        assert [] == rig.simulator.answers(1)
        assert {"": "Begin", "de": "Los"} == {lang: menu[0]["description"] for lang, menu in bot.commands.items()}


@pytest.mark.parametrize("trouble", ["nobody listens", "cut", "html", "late", "refused"])
async def test_token_is_in_no_error(trouble: str):
    """Cover A92."""
    async with telegram(call_timeout_s=0.2) as rig:
        rig.simulator.add_chat(1, "private")
        if trouble == "nobody listens":
            await rig.simulator.aclose()
        else:
            kind = {"cut": "cut", "html": "html", "late": "delay", "refused": "status"}[trouble]
            described = f"Bad Request: no such path /bot{TOKEN}/x"
            rig.simulator.faults.script(Fault(kind=kind, status=400, description=described, delay_s=5))
        with pytest.raises((Retryable, Unknown, Permanent)) as caught:
            await rig.channel.send(part("hello"))
        told = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(rig.channel)
        linked, error = [], caught.value
        while error is not None:
            linked.append(f"{error!r} {vars(error)}")
            error = error.__cause__ or error.__context__
        assert TOKEN.partition(":")[2] not in told + "".join(linked)
        del caught
        gc.collect()


async def test_a_server_that_answers_polls_at_once_is_not_asked_in_a_tight_loop():
    empty = Fault(kind="raw", status=200, body='{"ok": true, "result": []}', method="getUpdates", times=20)
    async with telegram() as rig:
        rig.simulator.faults.script(empty)
        async with rig.running():
            await rig.simulator.until(lambda: rig.simulator.faults.hits() == 20)
            rig.simulator.say(1, "hello")
            await rig.sink.until(lambda: bool(rig.sink.events))
    assert [0.05, 0.1, 0.2, 0.5, *[1.0] * 15] == rig.pauses.asked_s[:19]


async def test_a_proxys_404_is_waited_out_and_told():
    page = Fault(kind="html", status=404, method="getMe", times=2)
    async with telegram() as rig:
        rig.simulator.faults.script(page)
        async with rig.running():
            rig.simulator.say(1, "hello")
            await rig.sink.until(lambda: bool(rig.sink.events))
    (detail, _) = rig.sink.details(ChannelState.DEGRADED)
    assert "HTTP 404, not an answer of the Bot API" in detail
    assert "api_base" in detail


async def test_a_poll_that_is_to_wait_for_ages_is_made_again_within_the_hour():
    """Cover F01."""
    body = '{"ok": false, "error_code": 429, "description": "slow down", "parameters": {"retry_after": 1000000000000}}'
    async with telegram() as rig:
        rig.simulator.faults.script(Fault(kind="raw", status=429, body=body, method="getUpdates"))
        async with rig.running():
            rig.simulator.say(1, "hello")
            await rig.sink.until(lambda: bool(rig.sink.events))
    assert [3600.0] == [pause for pause in rig.pauses.asked_s if pause > 1]
