"""Absurd answers of a platform or a proxy: each send ends as one of three kinds of failure, and the next works."""

import asyncio
import json
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from channels.discord.config import DiscordAccount
from channels.discord.wire import DiscordWire
from channels.errors import ChannelError, Permanent, Retryable, Unknown
from channels.foreign import MOST_SAID_S
from channels.messages import OutboundPart, Receipt
from channels.simulators.shared.faults import Fault
from channels.simulators.shared.faults import Fault as DiscordFault
from channels.simulators.shared.faults import Fault as SlackFault
from channels.simulators.shared.faults import Fault as TelegramFault
from channels.slack.config import SlackAccount
from channels.slack.wire import SlackWire
from channels.telegram.config import TelegramAccount
from channels.telegram.wire import TelegramWire
from tests.fakes import discord, slack, telegram

ABSURD = (
    "1e12",
    "99999999999",
    "9" * 400,
    "1e400",
    "NaN",
    "Infinity",
    "-5",
    "0",
    '"10"',
    '"abc"',
    "null",
    "[1]",
    '{"a": 1}',
)
"""JSON values, or nearly, in place of a number."""

HEADERS = ("inf", "nan", "99999999999", "9" * 400, "-1", "abc", "", "Fri, 20 Nov 2099 12:00:00 GMT", "1e400")

JSON = {"Content-Type": "application/json"}
PAGE = "<html><h1>Not here</h1></html>"

ELSEWHERE = [
    *[(status, {"Content-Type": "text/html"}, PAGE) for status in (200, 301, 400, 401, 403, 404, 429, 500, 502, 504)],
    (302, {"Location": "http://127.0.0.1:1/elsewhere"}, ""),
    (307, {"Location": "/elsewhere"}, ""),
    *[(200, JSON, body) for body in ("", "null", "[]", '"ok"', "{", '{"ok": "yes"}', "[" * 10**5, '{"a": "\\ud83d"}')],
    *[(200, JSON, json.dumps({"ok": True, "result": result})) for result in (None, [], "x", {"message_id": 10**30})],
    *[(200, JSON, json.dumps({"id": id_, "ok": True, "ts": id_})) for id_ in (10**30, "9" * 30, {}, "x", True)],
    *[(400, JSON, json.dumps(body)) for body in ([], {"error": {"a": 1}}, {"code": {}, "message": [1]}, {"ok": False})],
    (200, JSON, json.dumps({"ok": True, "padding": "x" * 1_000_000})),
    (500, {"Content-Type": "text/html"}, "x" * 1_000_000),
    (200, JSON | {"Content-Encoding": "gzip"}, "this is no gzip"),
]
"""Responses that are not the platform's, or only look like it: status, headers, body."""

Send = Callable[[OutboundPart], Awaitable[Receipt]]


async def outcome(send: Send, part: OutboundPart) -> Receipt | ChannelError:
    try:
        async with asyncio.timeout(30):
            return await send(part)
    except (Retryable, Permanent, Unknown) as failure:
        return failure


def raw(status: int, headers: dict[str, str], body: str) -> dict[str, object]:
    return {"kind": "raw", "status": status, "headers": headers, "body": body}


def bounded(failure: Receipt | ChannelError) -> bool:
    return isinstance(failure, Retryable) and (failure.retry_after_s is None or failure.retry_after_s <= MOST_SAID_S)


def limits_of_telegram() -> Iterator[dict[str, object]]:
    for said in ABSURD:
        parameters = f'"parameters": {{"retry_after": {said}}}'
        yield raw(429, JSON, f'{{"ok": false, "error_code": 429, "description": "slow down", {parameters}}}')
    yield raw(429, JSON, '{"ok": false, "parameters": {"parameters": {"retry_after": 3}}}')
    yield raw(429, JSON, '{"ok": false, "parameters": [1]}')
    yield from (raw(429, {"Retry-After": header}, PAGE) for header in HEADERS)


async def test_telegram_may_say_what_it_likes() -> None:
    async with telegram.telegram() as rig:
        rig.simulator.say(1, "hello")
        for number, fault in enumerate(limits_of_telegram()):
            rig.simulator.faults.script(TelegramFault.model_validate(fault))
            assert bounded(await outcome(rig.channel.send, telegram.part(f"{number}"))), fault
        for answer in ELSEWHERE:
            rig.simulator.faults.script(TelegramFault.model_validate(raw(*answer)))
            assert isinstance(await outcome(rig.channel.send, telegram.part("x")), ChannelError), answer
        await rig.channel.send(telegram.part("after all"))
        assert ["after all"] == [shown.text for shown in rig.simulator.answers(1)]


def limits_of_discord() -> Iterator[dict[str, object]]:
    for said in ABSURD:
        for headers in (JSON | {"Via": "1.1 google"}, JSON):
            yield raw(429, headers, f'{{"message": "slow down", "retry_after": {said}, "global": true}}')
    yield raw(429, JSON | {"Via": "1.1 google"}, '{"message": "slow down"}')
    yield raw(429, JSON | {"Via": "1.1 google"}, "[]")
    yield from (raw(429, {"Retry-After": header, "Content-Type": "text/html"}, PAGE) for header in HEADERS)


async def test_discord_may_say_what_it_likes() -> None:
    async with discord.discord() as rig:
        for number, fault in enumerate(limits_of_discord()):
            rig.simulator.faults.script(DiscordFault.model_validate(fault))
            sent = await outcome(rig.channel.send, discord.part(f"{number}", key=f"k{number}"))
            assert isinstance(sent, Receipt) or bounded(sent), fault  # a short wait is waited by the library
        for said in ABSURD:
            names = ("X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset-After", "X-Ratelimit-Reset")
            headers = JSON | dict.fromkeys(names, said) | {"X-Ratelimit-Bucket": said[:9]}
            made = raw(200, headers, '{"id": "77"}') | {"method": "createMessage"}
            rig.simulator.faults.script(DiscordFault.model_validate(made))
            await rig.restarted()  # another process, which knows of no limits
            assert Receipt("77") == await outcome(rig.channel.send, discord.part("x", key="k")), said
        await rig.restarted()
        for answer in ELSEWHERE:
            rig.simulator.faults.script(DiscordFault.model_validate(raw(*answer) | {"method": "createMessage"}))
            assert isinstance(await outcome(rig.channel.send, discord.part("x", key="k")), ChannelError), answer
        await rig.channel.send(discord.part("after all", key="last"))
        assert "after all" == rig.simulator.answers(1)[-1].text


async def test_slack_may_say_what_it_likes() -> None:
    async with slack.slack() as rig:
        rig.simulator.say("D1", "hello")
        for header in HEADERS:
            limit = {"Retry-After": header}
            for answer in (raw(429, JSON | limit, '{"ok": false}'), raw(429, limit, PAGE)):
                rig.simulator.faults.script(SlackFault.model_validate(answer))
                assert bounded(await outcome(rig.channel.send, slack.part("x"))), answer
        for answer in ELSEWHERE:
            rig.simulator.faults.script(SlackFault.model_validate(raw(*answer)))
            assert isinstance(await outcome(rig.channel.send, slack.part("x")), ChannelError), answer
        await rig.channel.send(slack.part("after all"))
        assert "after all" == rig.simulator.answers("D1")[-1].text


def bomb() -> bytes:
    begun, more = zlib.compressobj(wbits=31), zlib.compressobj(wbits=-15)
    packed = begun.compress(b'{"ok": true, "result": "') + begun.flush(zlib.Z_FULL_FLUSH)
    return packed + (more.compress(bytes(1_000_000)) + more.flush(zlib.Z_FULL_FLUSH)) * 300


async def bombed(request: web.Request) -> web.StreamResponse:
    await request.read()
    return web.Response(body=bomb(), headers=JSON | {"Content-Encoding": "gzip"})


async def test_an_answer_that_unpacks_beyond_measure_is_given_up() -> None:
    made = [
        lambda base: TelegramWire(TelegramAccount(name="main", token=telegram.TOKEN, api_base=base)),
        lambda base: SlackWire(SlackAccount(bot_token="xoxb-made-up", app_token="xapp-made-up", api_base=base)),
        lambda base: DiscordWire(DiscordAccount(name="main", token="made-up-token", api_base=base)),
    ]
    calls = [
        lambda wire: wire.call("getMe", {}, timeout_s=20),
        lambda wire: wire.get("auth.test"),
        lambda wire: wire.call("GET", "/users/@me"),
    ]
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", bombed)
    async with TestServer(app) as server:
        for make, call in zip(made, calls, strict=True):
            wire = make(f"http://127.0.0.1:{server.port}")
            with pytest.raises(Unknown, match="TooLong"):
                await call(wire)
            await wire.aclose()


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 405])
async def test_a_page_that_is_not_the_platforms_is_waited_out(status: int) -> None:
    """A proxy that refuses without passing the call on has not made it."""
    page: dict[str, object] = {"kind": "html", "status": status, "times": None}
    sends: list[tuple[Fault, Send, OutboundPart]] = []
    async with telegram.telegram() as one, discord.discord() as two, slack.slack() as three:
        one.simulator.say(1, "hello")
        three.simulator.say("D1", "hello")
        await two.channel.send(discord.part("logged in"))
        one.simulator.faults.script(TelegramFault.model_validate(page))
        two.simulator.faults.script(DiscordFault.model_validate(page))
        three.simulator.faults.script(SlackFault.model_validate(page))
        sends = [
            (one.channel.send, telegram.part("x")),
            (two.channel.send, discord.part("x", key="k")),
            (three.channel.send, slack.part("x")),
        ]
        for send, part in sends:
            failure = await outcome(send, part)
            assert (True, True) == (isinstance(failure, Retryable), "api_base" in str(failure))


async def test_an_answer_that_stops_half_way_costs_its_connection() -> None:
    said, gone = asyncio.Event(), asyncio.Event()

    async def stop_half_way(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"ok": ')
        said.set()
        with suppress(ConnectionError):
            await reader.read()
        writer.close()
        gone.set()

    async with await asyncio.start_server(stop_half_way, "127.0.0.1", 0) as server, asyncio.timeout(30):
        port = server.sockets[0].getsockname()[1]
        wire = TelegramWire(TelegramAccount(name="main", token=telegram.TOKEN, api_base=f"http://127.0.0.1:{port}"))
        async with asyncio.TaskGroup() as tasks:
            call = tasks.create_task(wire.call("getMe", {}, timeout_s=30))
            await said.wait()
            for _ in range(10):  # the loop's rounds until it is read
                await asyncio.sleep(0)
            call.cancel()
        await gone.wait()
        await wire.aclose()
