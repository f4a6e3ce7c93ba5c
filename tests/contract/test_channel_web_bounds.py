"""Rate limits of browsers: a refusal says when to try again, and nothing accepted is lost."""

import asyncio
from contextlib import AsyncExitStack, suppress

import aiohttp
import pytest

from channels.web.config import Guests
from tests.fakes.views import FakePage
from tests.fakes.web import House, house, known_before, part


def say(number: int) -> dict[str, str]:
    return {"type": "say", "id": f"message-{number:04}", "text": f"m{number}"}


async def test_burst_over_the_bound_waits_in_the_page_and_keeps_its_order():
    async with house(messages_per_min=5) as rig, rig.page() as page:
        for number in range(20):
            await page.say(f"m{number}")
        await page.until(lambda: len(page.told("not_taken")) >= 15)
        assert [f"m{number}" for number in range(5)] == rig.texts()
        told = page.told("not_taken")[0]
        assert 12 == told["again_after_s"]
        assert "too many" in told["reason"]
        for minute in range(1, 4):
            rig.clock.now_s += 60
            await page.until(lambda: len(rig.texts()) >= 5 * (minute + 1))  # noqa: B023  awaited in its round
        assert [f"m{number}" for number in range(20)] == rig.texts()
        await page.until(lambda: not page.unsent)


async def test_nothing_overtakes_what_was_refused():
    async with house(messages_per_min=60) as rig, rig.page() as page:
        async with page.http.post(f"{rig.url}web/messages", json=[say(number) for number in range(62)]) as answer:
            body = await answer.json()
        assert (60, ["message-0060", "message-0061"], 5) == (
            len(body["taken"]),
            body["not_taken"],
            body["again_after_s"],
        )
        rig.clock.now_s += 4
        async with page.http.post(f"{rig.url}web/messages", json=[say(70)]) as answer:
            assert (429, "1") == (answer.status, answer.headers["Retry-After"])
        rig.clock.now_s += 1
        async with page.http.post(f"{rig.url}web/messages", json=[say(60), say(61), say(70)]) as answer:
            assert 3 == len((await answer.json())["taken"])
        assert [*(f"m{number}" for number in range(62)), "m70"] == rig.texts()


async def test_many_browsers_share_the_bound_of_their_address():
    async with house(address_messages_per_min=10) as rig:
        statuses = []
        for number in range(30):
            url = f"{rig.url}web/messages"
            async with known_before(number) as stranger, stranger.post(url, json=[say(number)]) as answer:
                statuses.append(answer.status)
        assert [200] * 9 + [429] * 21 == statuses  # a posted body costs a little, too
        assert 9 == len(rig.texts())


async def test_new_visitors_and_opened_pages_count_for_their_address():
    async with house(address_messages_per_min=3) as rig:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as stranger:
            for _ in range(3):
                async with stranger.post(f"{rig.url}web/session") as answer:
                    assert 200 == answer.status
            async with stranger.post(f"{rig.url}web/session") as answer:
                assert (429, "20") == (answer.status, answer.headers["Retry-After"])
        async with known_before(1) as stranger:
            for path in ("web/ws", "web/events", "web/conversations"):
                async with stranger.get(rig.url + path) as answer:
                    assert 429 == answer.status, path
            async with stranger.post(f"{rig.url}web/messages", json=[say(1)]) as answer:
                assert 429 == answer.status
            rig.clock.now_s += 60
            async with stranger.post(f"{rig.url}web/messages", json=[say(1)]) as answer:
                assert 200 == answer.status
        assert ["m1"] == rig.texts()


@pytest.mark.parametrize("door", ["socket", "post"])
async def test_what_the_store_did_not_take_has_cost_nothing(door: str):
    """Cover F64."""
    async with house(messages_per_min=2) as rig, rig.page() as page:
        rig.sink.refusals = 6
        if door == "socket":
            await page.say("keep me")
            await rig.sink.until(lambda: bool(rig.texts()))
        else:
            for _ in range(7):
                async with page.http.post(f"{rig.url}web/messages", json=[say(1)]) as answer:
                    last = answer.status
            assert 200 == last
        assert 1 == len(rig.texts())
        assert [] == [frame for frame in page.told("not_taken") if "reason" in frame]


async def test_one_person_over_the_bound_leaves_others_alone():
    async with house(messages_per_min=1) as rig, rig.page() as loud, rig.page() as quiet:
        for number in range(5):
            await loud.say(f"loud {number}")
        await loud.until(lambda: bool(loud.told("not_taken")))
        await quiet.say("quiet")
        await rig.sink.until(lambda: "quiet" in rig.texts())
        assert ["loud 0", "quiet"] == rig.texts()


async def test_pages_that_take_long_to_be_let_in_try_again():
    async with house(address_messages_per_min=2) as rig, rig.page():
        late = FakePage(rig.url)
        async with late.http, asyncio.TaskGroup() as tasks:
            running = tasks.create_task(late.run())
            await asyncio.sleep(0.1)
            assert [] == late.frames
            rig.clock.now_s += 60
            await late.until(lambda: bool(late.told("history")))
            running.cancel()


async def test_a_stranger_cannot_take_every_view():
    async with AsyncExitStack() as held:
        rig = await held.enter_async_context(house(trusted_proxies=("127.0.0.1",), views=6, address_views=4))
        crowd = []
        for number in range(40):
            browser = await held.enter_async_context(known_before(number))
            crowd.append(await _opened(held, rig, browser, "203.0.113.7"))
        elsewhere = [
            await _opened(held, rig, await held.enter_async_context(known_before(100 + number)), f"198.51.100.{number}")
            for number in range(3)
        ]
        assert [1013] * 36 == [await _close_code(page) for page in crowd[:36]]
        assert 1013 == await _close_code(crowd[36])  # the third elsewhere took the place of one of the crowd
        for page in (*crowd[37:], *elsewhere):
            await page.send_json({"type": "hello"})
            assert "commands" == (await page.receive_json(timeout=30))["type"]


async def test_who_is_let_in_keeps_their_page():
    let_in: set[str] = set()
    guests = Guests(is_let_in=let_in.__contains__)
    async with house(guests, address_views=2) as rig, rig.page() as ada, rig.page() as bob:
        let_in.add(ada.chat)
        async with AsyncExitStack() as held:
            for number in range(5):
                await _opened(held, rig, await held.enter_async_context(known_before(number)), "")
            await rig.channel.send(part(ada.chat, "still here?"))
            let_in.add(bob.chat)
            await bob.until(lambda: not bob.away.is_set())
            late = await _opened(held, rig, await held.enter_async_context(known_before(9)), "")
            assert 1013 == await _close_code(late)
        assert 1 == len(ada.told("history"))


async def test_a_connection_answers_one_hello():
    async with house(address_messages_per_min=20) as rig, rig.page() as page:
        await rig.channel.send(part(page.chat, "x" * 15_000))
        async with page.http.ws_connect(f"{rig.url}web/ws") as greedy:
            for _ in range(3):
                await greedy.send_json({"type": "hello"})
            await greedy.send_json({"type": "say", "id": "message-0001", "text": "and now?"})
            told = [await greedy.receive_json(timeout=30)]
            while told[-1]["type"] != "said":
                told.append(await greedy.receive_json(timeout=30))
        assert ["commands", "history", "said"] == [frame["type"] for frame in told if frame["type"] != "taken"]
        statuses = []
        for _ in range(30):
            async with page.http.get(f"{rig.url}web/events") as stream:
                statuses.append(stream.status)
        assert {200, 429} == set(statuses)
        rig.clock.now_s += 60
        async with page.http.get(f"{rig.url}web/events") as stream:
            assert 200 == stream.status


async def test_flood_of_frames_ends_its_connection():
    async with house() as rig, rig.page() as page, rig.page() as other:
        much = "x" * 100_000
        for frame in ('{"type":"shown","n":1,"x":"' + much + '"}', much, '{"type":"' + much + '"}'):
            async with page.http.ws_connect(f"{rig.url}web/ws") as flood:
                sent = 0
                with suppress(ConnectionError):  # it was closed while we went on
                    while not flood.closed and sent < 400:
                        await flood.send_str(frame)
                        sent += 1
                        if sent % 10 == 0:
                            await asyncio.sleep(0)
                async with asyncio.timeout(30):
                    async for message in flood:
                        assert len(message.data) < 300  # of what was refused no more than a glimpse comes back
            rig.clock.now_s += 60
        assert 1 == len(other.told("history"))
        await other.say("still served")
        await rig.sink.until(lambda: rig.texts() == ["still served"])


async def _opened(held: AsyncExitStack, rig: House, browser: aiohttp.ClientSession, address: str):
    headers = {"X-Forwarded-For": address} if address else {}
    return await held.enter_async_context(browser.ws_connect(f"{rig.url}web/ws", headers=headers))


async def _close_code(page: aiohttp.ClientWebSocketResponse) -> int | None:
    async with asyncio.timeout(30):
        while (message := await page.receive()).type is aiohttp.WSMsgType.TEXT:
            pass
    return message.data
