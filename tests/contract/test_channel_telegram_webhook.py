"""Webhook mode against the simulator, over the gateway's own HTTP server: 200 means committed, and only then."""

import asyncio

import aiohttp
import pytest

from channels.base import ChannelState, ServesHttp
from channels.messages import ButtonPressed
from channels.simulators.shared.faults import Fault
from channels.simulators.telegram.state import Webhook
from channels.telegram.raw import ALLOWED_UPDATES
from tests.fakes.sink import RecordingSink
from tests.fakes.telegram import SECRET, TOKEN, WebhookRig, part, telegram, telegram_webhook


def _hook(rig: WebhookRig) -> Webhook:
    hook = rig.simulator.world.bot().webhook
    assert hook is not None
    return hook


async def _all_brought(rig: WebhookRig) -> None:
    await rig.simulator.until(lambda: len(rig.simulator.world.bot().updates) == 0)


async def _posted(rig: WebhookRig, body: bytes = b'{"update_id": 1}') -> aiohttp.ClientResponse:
    headers = {"X-Telegram-Bot-Api-Secret-Token": SECRET, "Content-Type": "application/json"}
    async with aiohttp.ClientSession() as http, http.post(rig.url, data=body, headers=headers) as answer:
        await answer.read()
        return answer


async def test_webhook_is_set_at_the_start_and_reported():
    async with telegram_webhook(webhook_connections=7) as rig, rig.running():
        await rig.sink.until(lambda: (ChannelState.READY, "") in rig.sink.states)
        hook = _hook(rig)
        assert (rig.url, SECRET, 7) == (hook.url, hook.secret_token, hook.max_connections)
        assert rig.url.endswith("/webhooks/telegram/main")
        assert frozenset(ALLOWED_UPDATES) == rig.simulator.world.bot().updates.allowed
        assert isinstance(rig.channel, ServesHttp)
        assert [("POST", "/webhooks/telegram/main")] == [(one.method, one.path) for one in rig.channel.http_routes()]


async def test_polling_mode_serves_no_path():
    async with telegram() as rig:
        assert [] == list(rig.channel.http_routes())


async def test_update_is_acknowledged_only_after_the_commit():
    async with telegram_webhook() as rig:
        rig.sink.open.clear()
        async with rig.running():
            rig.simulator.say(1, "hello")
            await rig.sink.arriving.wait()
            assert 1 == len(rig.simulator.world.bot().updates)
            rig.sink.open.set()
            await _all_brought(rig)
        assert ["msg:1:1"] == [event.event_id for event in rig.sink.events]


async def test_503_names_a_time():
    async with telegram_webhook() as rig, rig.running():
        await rig.sink.until(lambda: (ChannelState.READY, "") in rig.sink.states)
        rig.sink.refusals = 1
        message = (
            b'{"update_id":1,"message":{"message_id":1,"date":1,"chat":{"id":1,"type":"private"},"text":"x",'
            b'"from":{"id":1,"is_bot":false,"first_name":"A"}}}'
        )
        refused, taken = await _posted(rig, message), await _posted(rig, message)
        assert (503, "2") == (refused.status, refused.headers["Retry-After"])
        assert 200 == taken.status


async def test_order_of_a_chat_holds_over_refusals():
    async with telegram_webhook() as rig:
        said = [(1 + n % 3, f"m{n}") for n in range(60)]
        for chat, text in said:
            rig.simulator.say(chat, text)
        rig.sink.refusals = 12
        async with rig.running():
            await _all_brought(rig)
        for chat in (1, 2, 3):
            heard = [event.text for event in rig.sink.events if event.address.chat == str(chat)]
            assert [text for to, text in said if to == chat] == heard


async def test_update_that_is_none_does_not_block_its_chat():
    async with telegram_webhook() as rig, rig.running():
        bad = rig.simulator.inject({"message": {"message_id": "x", "chat": {"id": 1}}})
        rig.simulator.say(1, "behind it")
        await _all_brought(rig)
        assert [f"update:{bad}"] == [one.event_id for one in rig.sink.rejected]
        assert ["behind it"] == [event.text for event in rig.sink.events]


async def test_nothing_is_taken_before_the_start_and_after_the_end():
    async with telegram_webhook() as rig:
        assert 503 == (await _posted(rig)).status
        async with rig.running():
            rig.simulator.say(1, "one")
            await _all_brought(rig)
        rig.simulator.say(1, "two")
        await rig.simulator.until(lambda: _hook(rig).last_error_at is not None)
        rig.sink = RecordingSink()
        async with rig.running():
            await _all_brought(rig)
        assert ["two"] == [event.text for event in rig.sink.events]


async def test_webhook_that_was_taken_away_is_set_again():
    async with telegram_webhook() as rig, rig.running():
        await rig.sink.until(lambda: (ChannelState.READY, "") in rig.sink.states)
        async with aiohttp.ClientSession() as http:
            await http.post(f"{rig.simulator.base_url}/bot{TOKEN}/deleteWebhook")
        rig.simulator.say(1, "in between")
        rig.pauses.due.set()
        await _all_brought(rig)
        assert rig.url == _hook(rig).url


async def test_foreign_webhook_is_reported_and_left_alone():
    async with telegram_webhook() as rig, rig.running():
        await rig.sink.until(lambda: (ChannelState.READY, "") in rig.sink.states)
        rig.simulator.world.bot().webhook = Webhook("https://elsewhere.example/hook", "", 40)
        rig.pauses.due.set()
        await rig.sink.until(lambda: bool(rig.sink.details(ChannelState.DEGRADED)))
        assert "https://elsewhere.example/hook" in rig.sink.details(ChannelState.DEGRADED)[0]
        assert "https://elsewhere.example/hook" == _hook(rig).url


async def test_updates_that_cannot_be_brought_are_told_with_telegrams_reason():
    async with telegram_webhook() as rig, rig.running():
        await rig.sink.until(lambda: (ChannelState.READY, "") in rig.sink.states)
        rig.loaded.channels.clear()
        rig.simulator.say(1, "lost?")
        await rig.simulator.until(lambda: _hook(rig).last_error_at is not None)
        rig.pauses.due.set()
        await rig.sink.until(lambda: bool(rig.sink.details(ChannelState.DEGRADED)))
        assert "404 Not Found" in rig.sink.details(ChannelState.DEGRADED)[0]
        rig.loaded.channels.append(rig.channel)
        await _all_brought(rig)
        assert ["lost?"] == [event.text for event in rig.sink.events]


async def test_webhook_telegram_refuses_names_the_key_to_mend():
    async with telegram_webhook() as rig:
        words = "Bad Request: bad webhook: Failed to resolve host: Name or service not known"
        rig.simulator.faults.script(Fault(kind="status", status=400, description=words, method="setWebhook"))
        async with rig.running():
            await rig.sink.until(lambda: (ChannelState.READY, "") in rig.sink.states)
        assert "webhook_url" in rig.sink.details(ChannelState.DEGRADED)[0]


@pytest.mark.parametrize("mode", ["polling", "webhook"])
async def test_press_is_answered_once_it_is_committed(mode: str):
    async with telegram_webhook() if mode == "webhook" else telegram() as rig:
        rig.simulator.add_chat(1, "private")
        sent = await rig.channel.send(part("sure?"))
        rig.sink.open.clear()
        rig.simulator.faults.script(Fault(kind="status", status=500, method="answerCallbackQuery", skip=1))
        callbacks = rig.simulator.world.bot().callbacks
        async with rig.running():
            first = rig.simulator.press(1, int(sent.platform_id), "yes")
            await rig.sink.arriving.wait()
            assert not callbacks[first]
            rig.sink.open.set()
            await rig.simulator.until(lambda: callbacks[first])
            rig.simulator.press(1, int(sent.platform_id), "no")
            await rig.sink.until(lambda: len(rig.sink.events) == 2)
            rig.simulator.say(1, "still there?")
            await rig.sink.until(lambda: len(rig.sink.events) == 3)
        pressed = [event.data for event in rig.sink.events if isinstance(event, ButtonPressed)]
        assert ["yes", "no"] == pressed


async def test_simulator_brings_one_update_of_a_chat_at_a_time():
    async with telegram_webhook() as rig:
        rig.sink.open.clear()
        async with rig.running():
            for chat in (1, 1, 1, 2):
                rig.simulator.say(chat, "x")
            await rig.sink.until(lambda: True)
            while len(rig.sink.batches) < 2:
                await asyncio.sleep(0)
            assert [["msg:1:1"], ["msg:2:4"]] == sorted(rig.sink.batches)
            rig.sink.open.set()
            await _all_brought(rig)


async def test_simulator_waits_longer_after_each_refusal():
    async with telegram_webhook() as rig:
        rig.simulator.faults.script(Fault(kind="cut", method="webhook", times=7))
        begun = asyncio.get_running_loop().time()
        async with rig.running():
            rig.simulator.say(1, "x")
            await _all_brought(rig)
        assert 8 == _hook(rig).attempts
        assert 0 + 0.002 + 0.004 + 0.008 + 0.016 + 0.032 + 0.060 <= asyncio.get_running_loop().time() - begun
