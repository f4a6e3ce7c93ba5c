"""The simulated Slack by itself: limits, keys, sockets, tickets, response URLs, control over HTTP."""

import asyncio

import aiohttp
import pytest

from channels.simulators.shared.faults import Fault, FaultScript
from channels.simulators.slack.checks import Refusal, check_content, markdown_as_shown
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.slack.state import APP_TOKEN, BOT_TOKEN


def markdown(text: str) -> list:
    return [{"type": "markdown", "text": text}]


def section(text: str, kind: str = "mrkdwn") -> list:
    return [{"type": "section", "text": {"type": kind, "text": text}}]


def button(**more: object) -> list:
    label = {"type": "plain_text", "text": more.pop("label", "Yes")}
    return [{"type": "actions", "elements": [{"type": "button", "action_id": "a", "text": label, "value": "v"} | more]}]


@pytest.mark.parametrize(
    ("text", "blocks", "updated", "error"),
    [
        ("", [], False, "no_text"),
        (" \n", [], False, "no_text"),
        ("x" * 40_000, [], False, None),
        ("x" * 40_001, [], False, "msg_too_long"),
        ("x" * 4_000, [], True, None),
        ("x" * 4_001, [], True, "msg_too_long"),
        ("", markdown("x" * 12_000), False, None),
        ("", markdown("x" * 12_001), False, "msg_blocks_too_long"),
        ("", markdown("x" * 7_000) * 2, False, "msg_blocks_too_long"),
        ("", markdown(""), False, "invalid_blocks"),
        ("", section("x" * 3_000), False, None),
        ("", section("x" * 3_001), False, "invalid_blocks"),
        ("", section("x", "markdown"), False, "invalid_blocks"),
        ("", section("x") * 50, False, None),
        ("", section("x") * 51, False, "invalid_blocks"),
        ("", [{"type": "shout"}], False, "invalid_blocks"),
        ("", button(), False, None),
        ("", button(label="x" * 76), False, "invalid_blocks"),
        ("", button(style="green"), False, "invalid_blocks"),
        ("", button(value="x" * 2_001), False, "invalid_blocks"),
    ],
)
def test_limits_are_kept(text, blocks, updated, error):
    if error is None:
        check_content(text, blocks, updated=updated)
    else:
        with pytest.raises(Refusal, match=error):
            check_content(text, blocks, updated=updated)


@pytest.mark.parametrize(
    "ping", ["<!channel>", "<!here|here>", "<!everyone>", "<!subteam^S1|@x>", "<@U7>", "<@W7|bob>", "`<!channel>`"]
)
def test_pings_are_counted_wherever_they_stand(ping):
    assert (ping.strip("`"),) == check_content(ping, []).pings
    assert (ping.strip("`"),) == check_content("", section(ping)).pings
    assert (ping.strip("`"),) == check_content("", markdown(ping)).pings
    assert () == check_content("", section(ping, "plain_text")).pings
    assert () == check_content(ping.replace("<", "&lt;"), []).pings


def test_markdown_is_shown_without_its_escapes():
    assert "*a* <b>\n```\n\\* &lt;\n```\nc_d" == markdown_as_shown("\\*a\\* &lt;b&gt;\n```\n\\* &lt;\n```\nc\\_d")


def test_faults_count_what_they_match():
    faults = FaultScript(only_by_name={"auth.test", "apps.connections.open", "socket.ack", "users.info"})
    faults.script(Fault(kind="cut", skip=1, every=2, times=2))
    assert [False, True, False, True, False, False] == [bool(faults.due("chat.update", "D1")) for _ in range(6)]
    assert 2 == faults.hits()
    assert None is faults.due("auth.test", None)
    faults.clear()
    assert None is faults.due("chat.update", "D1")
    with pytest.raises(ValueError, match="kind"):
        FaultScript().load([{"kind": "explode"}])


async def call(simulator: SlackSimulator, method: str, token: str = BOT_TOKEN, **arguments: object) -> dict:
    headers = {"Authorization": f"Bearer {token}"}
    url = f"{simulator.base_url}/api/{method}"
    async with aiohttp.ClientSession() as http, http.post(url, json=arguments, headers=headers) as answer:
        return await answer.json()


async def test_tokens_are_told_apart():
    async with SlackSimulator() as simulator:
        app = simulator.add_app()
        assert "not_authed" == (await call(simulator, "auth.test", token=""))["error"]
        assert "invalid_auth" == (await call(simulator, "auth.test", token="xoxb-other"))["error"]
        assert "not_allowed_token_type" == (await call(simulator, "apps.connections.open"))["error"]
        assert "not_allowed_token_type" == (await call(simulator, "auth.test", token=APP_TOKEN))["error"]
        assert (await call(simulator, "auth.test"))["ok"]
        assert "unknown_method" == (await call(simulator, "chat.shout"))["error"]
        app.scopes = "im:history"
        simulator.world.chat("D1")
        refused = await call(simulator, "chat.postMessage", channel="D1", text="x")
        assert ("missing_scope", "chat:write") == (refused["error"], refused["needed"])
        app.revoked = True
        assert "token_revoked" == (await call(simulator, "auth.test"))["error"]


async def test_pace_is_kept_where_asked_for():
    async with SlackSimulator(per_chat_per_s=1.0) as simulator:
        simulator.add_app()
        simulator.world.chat("D1")
        oks = [(await call(simulator, "chat.postMessage", channel="D1", text=f"{n}"))["ok"] for n in range(5)]
        assert [True, True, True, False, False] == oks
        assert {"ratelimited", ""} == {one.description for one in simulator.history()}


async def test_ticket_is_good_once():
    async with SlackSimulator() as simulator, aiohttp.ClientSession() as http:
        simulator.add_app()
        url = (await call(simulator, "apps.connections.open", token=APP_TOKEN))["url"]
        async with http.ws_connect(url) as socket:
            assert "hello" == (await socket.receive_json())["type"]
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await http.ws_connect(url)


async def test_envelope_is_delivered_four_times_and_then_lost():
    async with SlackSimulator(redeliver_after_s=0.05) as simulator, aiohttp.ClientSession() as http:
        simulator.add_app()
        url = (await call(simulator, "apps.connections.open", token=APP_TOKEN))["url"]
        async with http.ws_connect(url) as socket:
            await socket.receive_json()
            simulator.say("D1", "hello")
            frames = [await socket.receive_json() for _ in range(4)]
            await simulator.until(lambda: bool(simulator.sockets.lost))
        assert [0, 1, 2, 3] == [frame["retry_attempt"] for frame in frames]
        assert 1 == len({frame["envelope_id"] for frame in frames})
        found = await call(simulator, "conversations.history", channel="D1")
        assert ["hello"] == [one["text"] for one in found["messages"]]


async def test_response_url_is_good_five_times():
    async with SlackSimulator() as simulator, aiohttp.ClientSession() as http:
        simulator.add_app()
        used = simulator.command("C1", "/stats", person="U7")
        url = used.payload["response_url"]
        statuses = []
        for _ in range(6):
            async with http.post(url, json={"text": "hi"}) as answer:
                statuses.append(answer.status)
        async with http.post(f"{simulator.base_url}/hooks/R0", json={"text": "hi"}) as answer:
            assert (404, "expired_url") == (answer.status, await answer.text())
        assert [*[200] * 5, 404] == statuses
        assert ["U7"] * 5 == [one.only_for for one in simulator.answers("C1", "U7")]


async def test_another_process_can_drive_it():
    async with SlackSimulator() as simulator, aiohttp.ClientSession() as http:

        async def order(name: str, body: object) -> tuple[int, object]:
            async with http.post(f"{simulator.base_url}/sim/{name}", json=body) as answer:
                return answer.status, await answer.json()

        async def read(path: str) -> object:
            async with http.get(f"{simulator.base_url}/sim/{path}") as answer:
                return await answer.json()

        assert 400 == (await order("say", {"chat": "D1", "text": "too early"}))[0]
        assert 200 == (await order("add_app", {}))[0]
        _, said = await order("say", {"chat": "D1", "text": "hello"})
        await order("edit", {"chat": "D1", "message_id": said, "text": "hello!"})
        await order("command", {"chat": "D1", "name": "/log", "text": "45m guitar"})
        assert ["hello!"] == [one["text"] for one in await read("shown?chat=D1")]
        await order("delete", {"chat": "D1", "message_id": said})
        assert [] == await read("shown?chat=D1")
        await order("faults", [{"kind": "cut", "method": "chat.postMessage"}])
        with pytest.raises(aiohttp.ClientError):
            await call(simulator, "chat.postMessage", channel="D1", text="x")
        assert {"hits": 1} == await read("faults")
        assert [("chat.postMessage", 0)] == [(one["method"], one["status"]) for one in await read("history?chat=D1")]
        assert [] == await read("history?chat=D1&after=1&wait_s=0.05")
        status = await read("status")
        assert (0, 4, 1) == (status["sockets"], status["waiting"], status["faults_hit"])
        assert 400 == (await order("say", {"chat": "D1", "nonsense": 1}))[0]
        assert 400 == (await order("dance", {}))[0]
        assert 400 == (await order("press", {"chat": "D1", "message_id": "1", "value": "x"}))[0]


async def test_it_ends_at_once_with_sockets_open():
    async with aiohttp.ClientSession() as http, SlackSimulator() as simulator:
        simulator.add_app()
        url = (await call(simulator, "apps.connections.open", token=APP_TOKEN))["url"]
        socket = await http.ws_connect(url)
        await socket.receive_json()
        begun_s = asyncio.get_running_loop().time()
        await simulator.aclose()
        assert 1.0 > asyncio.get_running_loop().time() - begun_s
        await socket.close()
