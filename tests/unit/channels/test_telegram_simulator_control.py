"""The Telegram simulator from outside: control endpoints, the text mode, rates, chats that move."""

import asyncio
import io
import os
from dataclasses import replace

import aiohttp
import orjson
import pytest

from channels.errors import Retryable
from channels.messages import Address
from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.serve import serve
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.telegram.server import TelegramSimulator
from channels.telegram.adapter import TelegramChannel
from tests.fakes.telegram import TOKEN, account, part, telegram


async def _ask(http: aiohttp.ClientSession, method: str, path: str, body: object = None) -> tuple[int, object]:
    async with http.request(method, path, data=orjson.dumps(body)) as answer:
        return answer.status, orjson.loads(await answer.read())


async def test_another_process_can_play_the_person():
    async with telegram() as rig, aiohttp.ClientSession(rig.simulator.base_url) as http:
        assert (200, 1) == await _ask(http, "POST", "/sim/say", {"chat": 1, "text": "one"})
        batch = [{"chat": 1, "text": "two"}, {"chat": 2, "text": "three"}]
        assert (200, [2, 3]) == await _ask(http, "POST", "/sim/say", batch)
        await _ask(http, "POST", "/sim/edit", {"chat": 1, "message_id": 1, "text": "one!"})
        await rig.channel.send(part("answer"))
        _, shown = await _ask(http, "GET", "/sim/shown?chat=1")
        assert isinstance(shown, list)
        assert ["one!", "two", "answer"] == [one["text"] for one in shown]
        _, history = await _ask(http, "GET", "/sim/history?chat=1&after=0&wait_s=5")
        assert isinstance(history, list)
        assert [("sendMessage", "answer", True)] == [(one["method"], one["text"], one["applied"]) for one in history]
        script = [{"kind": "status", "status": 429, "retry_after_s": 2}]
        assert (200, {"hits": 0}) == await _ask(http, "POST", "/sim/faults", script)
        with pytest.raises(Retryable):
            await rig.channel.send(part("again"))
        assert (200, {"hits": 1}) == await _ask(http, "GET", "/sim/faults")
        assert (200, {"hits": 0}) == await _ask(http, "DELETE", "/sim/faults")
        _, status = await _ask(http, "GET", "/sim/status")
        assert isinstance(status, dict)
        assert 4 == status["bots"][0]["waiting"]


@pytest.mark.parametrize(
    ("make", "person", "told"),
    [
        (TelegramSimulator, 7, {"first_name": "Ana", "language_code": "es-ES"}),
        (DiscordSimulator, 7, {"name": "Ana", "locale": "es-ES"}),
        (SlackSimulator, "U7", {"name": "Ana", "locale": "es-ES"}),
    ],
)
async def test_a_person_has_a_name_and_a_language_on_each_platform(make, person, told):
    async with make() as simulator, aiohttp.ClientSession(simulator.base_url) as http:
        language = "language_code" if make is TelegramSimulator else "locale"
        order = {"person": person, "name": "Ana", language: "es-ES"}
        status, _ = await _ask(http, "POST", "/sim/add_person", order)
        known = simulator.world.people[person]
        assert (200, told) == (status, {name: getattr(known, name) for name in told})


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/sim/say", {"chat": 1, "txt": "x"}),
        ("POST", "/sim/say", {"chat": "one"}),
        ("POST", "/sim/edit", {"chat": 1, "message_id": 9, "text": "x"}),
        ("POST", "/sim/faults", [{"kind": "explode"}]),
        ("POST", "/sim/send_file", {"chat": 1, "file": {"kind": "group", "content": "eA=="}}),
        ("POST", "/sim/send_file", {"chat": 1, "file": {"kind": "photo", "content": "x"}}),
        ("POST", "/sim/migrate", {"chat": -9, "new_chat": -10}),
        ("POST", "/sim/nothing", {}),
        ("GET", "/sim/shown", None),
        ("GET", "/sim/nothing", None),
    ],
)
async def test_wrong_control_calls_are_told(method: str, path: str, body: object):
    async with telegram() as rig, aiohttp.ClientSession(rig.simulator.base_url) as http:
        status, answer = await _ask(http, method, path, body)
        assert 400 == status
        assert isinstance(answer, dict)
        assert answer["error"]


async def test_history_can_be_waited_for():
    async with telegram() as rig, aiohttp.ClientSession(rig.simulator.base_url) as http:
        rig.simulator.add_chat(1, "private")
        async with asyncio.TaskGroup() as tasks:
            asked = tasks.create_task(_ask(http, "GET", "/sim/history?chat=1&wait_s=10"))
            tasks.create_task(rig.channel.send(part("now")))
        _, history = asked.result()
        assert isinstance(history, list)
        assert ["now"] == [one["text"] for one in history]


async def test_text_mode_says_lines_and_prints_answers():
    out, (read, typed) = io.StringIO(), os.pipe()
    keys = [{"text": "Yes, do", "callback_data": "1"}, {"text": "No", "callback_data": "2"}]
    with os.fdopen(read) as lines, os.fdopen(typed, "w", buffering=1) as keyboard:
        keyboard.write("too early\n")
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(serve("telegram", port=0, out=out, lines=lines))
            while "not sent" not in out.getvalue():
                await asyncio.sleep(0)
            base = out.getvalue().split("Simulated Telegram on ")[1].split()[0]
            async with aiohttp.ClientSession(base) as http:
                await _ask(http, "POST", "/sim/add_bot", {"token": TOKEN})
                await _ask(http, "POST", "/sim/say", {"chat": 1, "text": "hello"})
                for method, body in (
                    ("sendMessage", {"chat_id": 1, "text": "hi there"}),
                    ("editMessageText", {"chat_id": 1, "message_id": 2, "text": "hi you"}),
                    ("sendMessage", {"chat_id": 1, "text": " "}),
                    ("sendMessage", {"chat_id": 1, "text": "sure?", "reply_markup": {"inline_keyboard": [keys]}}),
                ):
                    await http.post(f"/bot{TOKEN}/{method}", json=body)
                while "[Yes, do] [No]" not in out.getvalue():
                    await asyncio.sleep(0)
                keyboard.write("[maybe]\n[yes]\n")
                polled = {"result": [{"update_id": 0}]}
                while "callback_query" not in polled["result"][-1]:
                    after = {"timeout": 15, "offset": polled["result"][-1]["update_id"] + 1}
                    async with http.post(f"/bot{TOKEN}/getUpdates", json=after) as answered:
                        polled = await answered.json()
            keyboard.close()
            serving.cancel()
    assert "bot [2]: hi there\n  bot changes [2]: hi you\n  ! sendMessage answered 400" in out.getvalue()
    assert "(there are: [Yes, do] [No])" in out.getvalue()
    assert "1" == polled["result"][-1]["callback_query"]["data"]


async def test_rate_limits_answer_429_when_they_are_on():
    async with TelegramSimulator(per_chat_per_s=1.0) as simulator:
        simulator.add_bot(TOKEN)
        simulator.add_chat(1, "private")
        channel = TelegramChannel(account(simulator))
        for n in range(3):
            await channel.send(part(f"{n}"))
        with pytest.raises(Retryable) as flood:
            await channel.send(part("too fast"))
        await channel.aclose()
        assert flood.value.retry_after_s in (1.0, 2.0)


async def test_group_that_moves_is_told_on_both_sides():
    async with telegram() as rig:
        rig.simulator.add_chat(-5, "group")
        rig.simulator.say(-5, "hello", person=7)
        rig.simulator.migrate(-5, -1_000_000_000_005, person=7)
        async with rig.running():
            await rig.sink.until(lambda: len(rig.sink.events) == 3)
        assert ["message", "migration", "migration"] == [event.type for event in rig.sink.events]
        async with aiohttp.ClientSession(rig.simulator.base_url) as http:
            _, answer = await _ask(http, "GET", f"/bot{TOKEN}/sendMessage?chat_id=-5&text=x")
        assert isinstance(answer, dict)
        assert {"migrate_to_chat_id": -1_000_000_000_005} == answer["parameters"]


async def test_another_process_can_send_files_and_see_drafts():
    async with telegram() as rig, aiohttp.ClientSession(rig.simulator.base_url) as http:
        assert 200 == (await _ask(http, "POST", "/sim/add_chat", {"chat": -5, "kind": "group"}))[0]
        photo = {"kind": "photo", "content": "iVBORw0KGgo=", "album": "a"}
        file = {"chat": -5, "person": 7, "file": photo, "caption": "look"}
        assert (200, 1) == await _ask(http, "POST", "/sim/send_file", file)
        await _ask(http, "POST", "/sim/migrate", {"chat": -5, "new_chat": -1_000_000_000_005, "person": 7})
        async with rig.running():
            await rig.sink.until(lambda: len(rig.sink.events) == 3)
        assert ["message", "migration", "migration"] == [event.type for event in rig.sink.events]
        rig.simulator.add_chat(1, "private")
        assert (200, None) == await _ask(http, "GET", "/sim/draft?chat=1")
        await rig.channel.draft(Address("telegram", "main", "1"), 3, part("so far").rendered)
        _, draft = await _ask(http, "GET", "/sim/draft?chat=1")
        assert isinstance(draft, dict)
        assert (3, "so far") == (draft["draft_id"], draft["text"])
        _, shown = await _ask(http, "GET", "/sim/shown?chat=-5")
        assert isinstance(shown, list)
        assert ("look", "photo", 8, "a") == (
            shown[0]["text"],
            *[shown[0]["files"][0][name] for name in ("kind", "content", "album")],
        )
        async with http.get(f"/bot{TOKEN}/setWebhook?url=http://127.0.0.1:1/x") as answer:
            assert 200 == answer.status
        _, status = await _ask(http, "GET", "/sim/status")
        assert isinstance(status, dict)
        assert "http://127.0.0.1:1/x" == status["bots"][0]["webhook"]


async def test_draft_is_gone_after_its_time():
    async with telegram() as rig:
        chat = rig.simulator.add_chat(1, "private")
        await rig.channel.draft(Address("telegram", "main", "1"), 3, part("so far").rendered)
        assert rig.simulator.draft(1) is not None
        chat.drafts[None] = replace(chat.drafts[None], at_s=chat.drafts[None].at_s - 30)
        assert rig.simulator.draft(1) is None
