"""The Discord simulator: control from outside, and Discord's refusals."""

import asyncio
import io

import aiohttp
import orjson
import pytest

from channels.base import CommandSpec
from channels.discord.adapter import DiscordChannel
from channels.discord.config import DiscordAccount
from channels.errors import Retryable
from channels.simulators.discord.checks import Refusal, check_nonce, checked_components, checked_content, find_pings
from channels.simulators.discord.sessions import Sessions
from channels.simulators.serve import serve
from channels.simulators.shared.faults import Fault, FaultScript
from tests.fakes.discord import ROOM, TOKEN, discord, part


async def _ask(http: aiohttp.ClientSession, method: str, path: str, body: object = None) -> tuple[int, object]:
    async with http.request(method, path, data=orjson.dumps(body)) as answer:
        return answer.status, orjson.loads(await answer.read())


async def test_another_process_can_play_the_person():
    async with discord() as rig, aiohttp.ClientSession(rig.simulator.base_url) as http, rig.running():
        _, said = await _ask(http, "POST", "/sim/say", {"chat": 1, "text": "one"})
        batch = [{"chat": 1, "text": "two"}, {"chat": 2, "text": "three"}]
        assert 200 == (await _ask(http, "POST", "/sim/say", batch))[0]
        await _ask(http, "POST", "/sim/edit", {"chat": 1, "message_id": said, "text": "one!"})
        await _ask(http, "POST", "/sim/command", {"chat": 1, "name": "stats", "text": {"skill": "chess"}})
        await _ask(http, "POST", "/sim/network", {"do": "cut"})
        await rig.sink.until(lambda: len(rig.sink.events) == 5)
        await rig.channel.send(part("answer"))
        _, shown = await _ask(http, "GET", "/sim/shown?chat=1")
        assert isinstance(shown, list)
        assert ["one!", "two", "", "answer"] == [one["text"] for one in shown]
        _, history = await _ask(http, "GET", "/sim/history?chat=1&after=0&wait_s=5")
        assert isinstance(history, list)
        assert ("createMessage", "answer", True) in [(one["method"], one["text"], one["applied"]) for one in history]
        script = [{"kind": "status", "status": 429, "retry_after_s": 99}]
        assert (200, {"hits": 0}) == await _ask(http, "POST", "/sim/faults", script)
        with pytest.raises(Retryable):
            await rig.channel.send(part("again", key="k2"))
        assert (200, {"hits": 1}) == await _ask(http, "GET", "/sim/faults")
        assert (200, {"hits": 0}) == await _ask(http, "DELETE", "/sim/faults")
        _, status = await _ask(http, "GET", "/sim/status")
        assert isinstance(status, dict)
        assert (1, 1) == (status["bots"][0]["identifies"], status["bots"][0]["resumes"])


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/sim/say", {"chat": 1, "txt": "x"}),
        ("POST", "/sim/say", {"chat": "one"}),
        ("POST", "/sim/edit", {"chat": 9, "message_id": 9, "text": "x"}),
        ("POST", "/sim/network", {"do": "explode"}),
        ("POST", "/sim/faults", [{"kind": "explode"}]),
        ("POST", "/sim/nothing", {}),
        ("GET", "/sim/shown", None),
        ("GET", "/sim/nothing", None),
    ],
)
async def test_wrong_control_calls_are_told(method: str, path: str, body: object):
    async with discord() as rig, aiohttp.ClientSession(rig.simulator.base_url) as http:
        status, answer = await _ask(http, method, path, body)
        assert isinstance(answer, dict)
        assert (400, ["error"]) == (status, list(answer))


async def test_alone_it_says_how_to_be_reached_and_prints_what_a_bot_does():
    out = io.StringIO()
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(serve("discord", port=0, out=out, lines=io.StringIO("")))
        while "Type a line" not in out.getvalue():
            await asyncio.sleep(0)
        base = out.getvalue().split()[3]
        channel = DiscordChannel(DiscordAccount.model_validate({"token": TOKEN, "api_base": base}))
        async with aiohttp.ClientSession(base) as http:
            await channel.set_commands({})  # a bot that calls in is known from then on
            await _ask(http, "POST", "/sim/say", {"chat": 1, "text": "hi"})
            await channel.send(part("hello"))
            while "hello" not in out.getvalue():
                await asyncio.sleep(0)
        await channel.aclose()
        serving.cancel()
    assert "DISCORD_API_BASE=" in out.getvalue()


@pytest.mark.parametrize(
    ("check", "body"),
    [
        (checked_content, {"content": "x" * 2001}),
        (checked_content, {"content": 7}),
        (check_nonce, {"nonce": "x" * 26}),
        (checked_components, {"components": [{"type": 1, "components": []}]}),
        (checked_components, {"components": [{"type": 1, "components": [{"type": 2, "style": 1, "custom_id": "a"}]}]}),
        (checked_components, {"components": [{"type": 2}]}),
        (checked_components, {"components": [{}] * 6}),
    ],
)
def test_bodies_discord_refuses_are_refused(check, body):
    with pytest.raises(Refusal) as caught:
        check(body)
    assert 50035 == caught.value.code
    assert caught.value.body()["errors"]


def test_buttons_with_one_id_twice_are_refused():
    button = {"type": 2, "style": 1, "custom_id": "a", "label": "x"}
    with pytest.raises(Refusal, match="Invalid"):
        checked_components({"components": [{"type": 1, "components": [button, button]}]})


@pytest.mark.parametrize(
    ("content", "allowed", "whom"),
    [
        ("@everyone", None, ("everyone",)),
        ("<@1> <@&2>", None, ("role:2", "user:1")),
        ("`@everyone`", None, ()),
        ("@everyone <@1> <@&2>", {"parse": []}, ()),
        ("@here <@1>", {"parse": ["everyone"]}, ("everyone",)),
        ("<@1> <@3>", {"parse": [], "users": ["3"]}, ("user:3",)),
    ],
)
def test_pings_are_what_allowed_mentions_lets_through(content, allowed, whom):
    assert whom == find_pings(content, allowed)


def test_a_session_is_resumed_for_a_while_and_only_with_what_it_kept():
    sessions = Sessions()
    outbox: asyncio.Queue = asyncio.Queue()
    session = sessions.open(1, outbox)
    for number in range(5):
        sessions.emit("EVENT", {"n": number})
    session.detach(outbox, None)
    taken = sessions.resume(session.id, 3, asyncio.Queue(), window_s=60)
    assert taken is not None
    assert [b'"s":4', b'"s":5'] == [payload[13:18] for payload in taken[1]]
    assert sessions.resume(session.id, 99, asyncio.Queue(), window_s=60) is None
    ended = sessions.open(1, outbox)
    ended.detach(outbox, 1000)
    assert sessions.resume(ended.id, 0, asyncio.Queue(), window_s=60) is None
    late = sessions.open(1, outbox)
    late.detach(outbox, None)
    assert sessions.resume(late.id, 0, asyncio.Queue(), window_s=-1) is None


def test_events_of_another_intent_are_not_told():
    sessions = Sessions()
    heard = sessions.open(0b10, asyncio.Queue())
    sessions.emit("A", {}, intent=0b01)
    sessions.emit("B", {}, intent=0b10)
    assert 1 == heard.seq


def test_a_script_counts_every_fault_on_its_own():
    faults = FaultScript()
    faults.script(Fault(kind="cut", method="createMessage", chat=1, skip=1, every=2, times=2))
    due = [faults.due("createMessage", 1) is not None for _ in range(7)]
    assert [False, True, False, True, False, False, False] == due
    assert faults.due("createMessage", 2) is None
    assert 2 == faults.hits()


async def test_commands_that_are_not_registered_cannot_be_used():
    async with discord() as rig:
        await rig.channel.set_commands({"en": [CommandSpec("coach", "Talk", shared=True), CommandSpec("log", "Log")]})
        with pytest.raises(LookupError):
            rig.simulator.command(ROOM, "format_disk")


async def test_unanswered_interactions_fail():
    async with discord() as rig:
        rig.simulator.interactions.deadline_s = -1.0
        used = rig.simulator.command(1, "log", {"text": "x"})
        assert rig.simulator.interactions.has_failed(used)
