"""The console over a real socket: who gets in, what a terminal is told, what happens when it goes."""

import asyncio
import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from channels.console.adapter import ConsoleChannel
from channels.console.config import ConsolePlace
from channels.errors import Unknown
from channels.messages import Address, InboundMessage, OutboundPart, Rendered
from channels.viewers.viewer_frames import MAX_FRAME_BYTES
from channels.viewers.viewer_hub import Patience
from gateway.errors import AlreadyRunning
from gateway.ops.unix_socket import listening
from tests.fakes.sink import RecordingSink
from tests.fakes.views import FakeTerminal

HOME = Address("console", "main", "local")
QUICK = Patience(arrive_s=0.05, confirm_s=2.0)


@asynccontextmanager
async def console(path: Path) -> AsyncIterator[tuple[ConsoleChannel, RecordingSink, FakeTerminal]]:
    """A running channel with one terminal on it."""
    channel = ConsoleChannel(ConsolePlace(partial(listening, path)), patience=QUICK)
    sink, terminal = RecordingSink(), FakeTerminal(str(path))
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(channel.run(sink)), tasks.create_task(terminal.run())]
        await terminal.until(lambda: bool(terminal.told("taken")))
        yield channel, sink, terminal
        for task in running:
            task.cancel()
    await channel.aclose()


def part(text: str, key: str = "key-1") -> OutboundPart:
    """Something to send to terminals."""
    return OutboundPart(address=HOME, rendered=Rendered(text), idem_key=key)


async def test_whoever_opens_the_socket_is_one_person(tmp_path: Path):
    """`console:local`, in one chat; only the user that the gateway runs as can open it."""
    async with console(tmp_path / "c.sock") as (_, sink, terminal):
        assert 0o600 == stat.S_IMODE((tmp_path / "c.sock").stat().st_mode)
        await terminal.say("hello")
        await sink.until(lambda: any(isinstance(event, InboundMessage) for event in sink.events))
        event = sink.events[-1]
        assert ("console:local", HOME, "hello") == (event.sender_key, event.address, event.text)
    assert not (tmp_path / "c.sock").exists()


async def test_second_gateway_on_the_socket_is_refused(tmp_path: Path):
    """It says so; the first goes on."""
    path = tmp_path / "c.sock"
    async with console(path) as (_, sink, terminal):
        with pytest.raises(AlreadyRunning):
            await ConsoleChannel(ConsolePlace(partial(listening, path))).run(RecordingSink())
        await terminal.say("still here")
        await sink.until(lambda: any(isinstance(event, InboundMessage) for event in sink.events))


async def test_live_and_complete_messages_are_told_apart(tmp_path: Path):
    """A terminal that only prints waits for the end."""
    async with console(tmp_path / "c.sock") as (channel, _, terminal):
        receipt = await channel.send(part("…"))
        await channel.edit(part("You pract …", ""), receipt.platform_id)
        await channel.edit(part("You practised.", "key-2"), receipt.platform_id)
        told = [(frame["text"], frame["live"]) for frame in terminal.told("message")]
        assert [("…", True), ("You pract …", True), ("You practised.", False)] == told
        assert 1 == len(terminal.shown)


async def test_terminal_that_goes_leaves_doubt(tmp_path: Path):
    """A message on its way to a closed terminal may have been read."""
    async with console(tmp_path / "c.sock") as (channel, _, terminal):
        terminal.confirms = False
        async with asyncio.TaskGroup() as tasks:
            sending = tasks.create_task(_failure(channel))
            await terminal.until(lambda: bool(terminal.told("message")))
            await terminal.leave()
        assert isinstance(sending.result(), Unknown)


async def _failure(channel: ConsoleChannel) -> Exception | None:
    try:
        await channel.send(part("hello"))
    except Unknown as error:
        return error
    return None


async def test_nonsense_is_refused_and_harms_nobody(tmp_path: Path):
    """A91: bad frames and a line without end; the terminal goes on."""
    async with console(tmp_path / "c.sock") as (_, sink, terminal):
        await terminal.send({"type": "sudo"})
        await terminal.send({"type": "say", "id": "12345678", "text": "x" * (MAX_FRAME_BYTES + 10)})
        await terminal.until(lambda: bool(terminal.told("refused")))
        await terminal.say("fine")
        await sink.until(lambda: any(isinstance(event, InboundMessage) for event in sink.events))
        assert ["fine"] == [event.text for event in sink.events if isinstance(event, InboundMessage)]


async def test_half_a_line_is_nothing(tmp_path: Path):
    """A client that dies in the middle of a frame has said nothing."""
    async with console(tmp_path / "c.sock") as (_, sink, terminal):
        _, writer = await asyncio.open_unix_connection(str(tmp_path / "c.sock"))
        writer.write(json.dumps({"type": "say", "id": "12345678", "text": "half"}).encode())
        writer.close()
        await terminal.say("whole")
        await sink.until(lambda: any(isinstance(event, InboundMessage) for event in sink.events))
        assert ["whole"] == [event.text for event in sink.events if isinstance(event, InboundMessage)]
