"""The console over a real control socket: access, frames of a terminal, its end."""

import asyncio
import contextlib
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from channels.base import CommandSpec, Reaction
from channels.console.adapter import ConsoleChannel
from channels.console.blocks import unpack
from channels.console.client import ConsoleClient
from channels.console.limits import MAX_TERMINALS, PATH
from channels.markdown.parse import parse
from channels.messages import Address, Button, ButtonStyle, InboundMessage, OutboundPart, Rendered
from channels.turn_steps import TurnClosed
from channels.viewers.viewer_frames import MAX_FRAME_BYTES, MAX_SAID_CHARS
from channels.viewers.viewer_hub import KEPT_FRAMES
from channels.viewers.viewer_socket import COME_AGAIN, COME_LATER
from gateway.errors import AlreadyRunning
from gateway.http.mounts import Mounts
from gateway.ops.control import ControlServer
from gateway.terminal.faces import PipeFace
from tests.fakes.http import Loaded, no_api, served, served_privately
from tests.fakes.sink import RecordingSink
from tests.fakes.views import FakeTerminal, nothing_unread

HOME = Address("console", "main", "local")
URL = f"http://localhost{PATH}"


@asynccontextmanager
async def console(path: Path) -> AsyncIterator[tuple[ConsoleChannel, RecordingSink, FakeTerminal]]:
    channel = ConsoleChannel(nothing_unread)
    sink, terminal = RecordingSink(), FakeTerminal(str(path))
    async with served_privately(Loaded([channel]), path), asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(channel.run(sink)), tasks.create_task(terminal.run())]
        await terminal.until(lambda: bool(terminal.told("taken")))
        yield channel, sink, terminal
        for task in running:
            task.cancel()
    await channel.aclose()


def session(path: Path) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path)))


def heard(sink: RecordingSink) -> list[str]:
    return [event.text for event in sink.events if isinstance(event, InboundMessage)]


def part(text: str, key: str = "key-1") -> OutboundPart:
    return OutboundPart(address=HOME, rendered=Rendered(text), idem_key=key)


async def test_every_terminal_is_one_person(tmp_path: Path):
    async with console(tmp_path / "c.sock") as (_, sink, terminal):
        assert 0o600 == stat.S_IMODE((tmp_path / "c.sock").stat().st_mode)
        await terminal.say("hello")
        await sink.until(lambda: any(isinstance(event, InboundMessage) for event in sink.events))
        event = sink.events[-1]
        assert ("console:local", HOME, "hello") == (event.sender_key, event.address, event.text)
    assert not (tmp_path / "c.sock").exists()


async def test_second_gateway_on_the_socket_is_refused(tmp_path: Path):
    path = tmp_path / "c.sock"
    async with console(path) as (_, sink, terminal):
        with pytest.raises(AlreadyRunning):
            await ControlServer(path, no_api, Mounts(Loaded(), private=True)).run()
        await terminal.say("still here")
        await sink.until(lambda: any(isinstance(event, InboundMessage) for event in sink.events))


async def test_a_terminal_is_told_what_was_said_while_it_was_away(tmp_path: Path):
    async def one_unread(address: Address) -> list[OutboundPart]:
        return [OutboundPart(address=address, rendered=Rendered("time to practise"), idem_key="reminder")]

    channel, sink, path = ConsoleChannel(one_unread), RecordingSink(), tmp_path / "c.sock"
    async with served_privately(Loaded([channel]), path), asyncio.TaskGroup() as tasks, session(path) as http:
        running = tasks.create_task(channel.run(sink))
        await sink.until(lambda: bool(sink.states))
        told = []
        for recall in (True, False):
            async with http.ws_connect(URL) as terminal:
                await terminal.send_json({"type": "hello", "recall": recall})
                told.append([await terminal.receive_json() for _ in range(2)])
        assert ["commands", "message"] == [frame["type"] for frame in told[0]]
        assert ["time to practise", []] == [told[0][1]["text"], told[1][1]["ids"]]
        running.cancel()


async def test_nonsense_is_refused_without_harm(tmp_path: Path):
    """Cover A91."""
    async with console(tmp_path / "c.sock") as (_, sink, terminal):
        await terminal.send({"type": "sudo"})
        await terminal.send({"type": "say", "id": "12345678", "text": "x" * (MAX_SAID_CHARS + 1)})
        await terminal.until(lambda: 2 == len(terminal.told("refused")))
        await terminal.say("fine")
        await sink.until(lambda: bool(heard(sink)))
        assert ["fine"] == heard(sink)


async def test_frame_without_end_closes_its_own_terminal(tmp_path: Path):
    """Cover A91."""
    path = tmp_path / "c.sock"
    async with console(path) as (_, sink, terminal), session(path) as http, http.ws_connect(URL) as rude:
        with contextlib.suppress(ConnectionError):  # by its length alone
            await rude.send_str("x" * (MAX_FRAME_BYTES + 10))
        while not rude.closed:
            await rude.receive(5)
        await terminal.say("fine")
        await sink.until(lambda: bool(heard(sink)))


async def test_half_a_frame_is_nothing(tmp_path: Path):
    path = tmp_path / "c.sock"
    upgrade = f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    said = b'{"type": "say", "id": "12345678", "text": "half"}'
    async with console(path) as (_, sink, terminal):
        reader, writer = await asyncio.open_unix_connection(str(path))
        writer.write(f"{upgrade}{key}".encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 101")
        writer.write(bytes([0x81, 0x80 | len(said)]) + bytes(4) + said[:-5])  # text, masked with zeros (RFC 6455, 5.2)
        writer.close()
        await terminal.say("whole")
        await sink.until(lambda: bool(heard(sink)))
        assert ["whole"] == heard(sink)


async def test_every_terminal_sees_every_answer_and_one_too_many_is_told(tmp_path: Path):
    path = tmp_path / "c.sock"
    channel, sink = ConsoleChannel(nothing_unread), RecordingSink()
    async with served_privately(Loaded([channel]), path), asyncio.TaskGroup() as tasks, session(path) as http:
        running = tasks.create_task(channel.run(sink))
        await sink.until(lambda: bool(sink.states))
        open_ = [await http.ws_connect(URL) for _ in range(MAX_TERMINALS)]
        async with http.ws_connect(URL) as ninth:
            await ninth.receive(5)
            assert COME_LATER == ninth.close_code
        assert "b-key-1" == (await channel.send(part("hello"))).platform_id
        frames = [await terminal.receive_json() for terminal in open_]
        assert ["hello"] * MAX_TERMINALS == [frame["text"] for frame in frames]
        running.cancel()


async def test_terminal_that_does_not_keep_up_is_closed(tmp_path: Path):
    path = tmp_path / "c.sock"
    async with console(path) as (channel, _, terminal), session(path) as http, http.ws_connect(URL) as slow:
        for _ in range(KEPT_FRAMES + 1):  # without a pause in which any could travel
            await channel.show_typing(HOME)
        closed = [message.type async for message in slow]
        assert COME_AGAIN == slow.close_code
        assert len(closed) <= KEPT_FRAMES
        await terminal.until(terminal.away.is_set)
        await terminal.until(lambda: not terminal.away.is_set())
        await channel.send(part("still here"))


async def test_terminals_are_heard_on_the_private_socket_alone(tmp_path: Path):
    channel = ConsoleChannel(nothing_unread)
    async with served(Loaded([channel])) as url, aiohttp.ClientSession() as http:
        assert 404 == (await http.get(f"{url.rstrip('/')}{PATH}")).status
    async with console(tmp_path / "c.sock"), session(tmp_path / "c.sock") as http:
        assert 404 == (await http.get("http://localhost/healthz")).status


async def test_a_terminal_is_told_trees_buttons_steps_reactions_and_commands(tmp_path: Path):
    async with console(tmp_path / "c.sock") as (channel, _, terminal):
        blocks = parse("# Title\n\n- **one** [two](https://example.org)\n\n| a |\n|---|\n| 1 |")
        (button,) = buttons = (Button("Yes", "run:1", ButtonStyle.PRIMARY),)
        rendered = channel.renderer.render(blocks)
        await channel.send(OutboundPart(address=HOME, rendered=rendered, idem_key="key-1", buttons=buttons))
        filled = replace(rendered, text=rendered.text.replace("one", "ABC"))
        await channel.edit(OutboundPart(address=HOME, rendered=filled, idem_key="key-2"), "b-key-2")
        await channel.close_buttons(HOME, "b-key-1")
        await channel.react(HOME, "mine", Reaction.QUEUED)
        channel.follow_step(HOME, "turn-1", TurnClosed("completed"))
        await channel.set_commands({"es": [CommandSpec("plan", "Planes")]})
        await terminal.until(lambda: 2 == len(terminal.told("commands")))
        shown, edited = terminal.told("message")
    assert blocks == unpack(shown["blocks"]) and edited["blocks"] is None
    assert [{"label": "Yes", "data": button.data, "style": "primary"}] == shown["buttons"]
    assert [{"type": "buttons", "message": "b-key-1", "buttons": []}] == terminal.told("buttons")
    assert [{"type": "reaction", "message": "mine", "reaction": "queued"}] == terminal.told("reaction")
    assert [{"turn": "turn-1", "reason": "completed", "type": "turn_end"}] == terminal.told("turn_end")
    assert [["plan", "Planes"]] == terminal.told("commands")[-1]["commands"]


async def test_a_line_that_was_not_confirmed_is_offered_again_under_its_id(tmp_path: Path):
    channel, sink, path = ConsoleChannel(nothing_unread), RecordingSink(), tmp_path / "c.sock"
    client = ConsoleClient(PipeFace(None))
    client.say("said while no gateway ran")
    sink.refusals = 1
    async with served_privately(Loaded([channel]), path), asyncio.TaskGroup() as tasks, session(path) as http:
        receiving = tasks.create_task(channel.run(sink))
        await sink.until(lambda: bool(sink.states))
        for offers in (1, 2):
            async with http.ws_connect(URL) as peer:
                running = tasks.create_task(client.run(peer))
                await sink.until(lambda offers=offers: len(list(filter(None, sink.batches))) >= offers)
                while offers == 2 and client.untaken:
                    await asyncio.sleep(0)
                running.cancel()
        receiving.cancel()
    first, second = filter(None, sink.batches)
    assert (first, ["said while no gateway ran"]) == (second, heard(sink))
