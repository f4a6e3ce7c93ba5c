"""Edits of waiting rows that turn a message into a command or back."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.commands.base import Command, Invocation, Reply
from tests.fakes.spine import Spine, quick_store
from tests.unit.sessions.test_session import said_to_the_model


class Slow:
    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    async def wait(self, _asked: Invocation) -> Reply:
        """Hold up the commands behind it."""
        await self.go_on.wait()
        return Reply("waited")

    async def echo(self, asked: Invocation) -> Reply:
        """Say it."""
        return Reply(f"echo {asked.arguments}")


@pytest.fixture
async def slow() -> Slow:
    return Slow()


@pytest.fixture
async def spine(tmp_path: Path, slow: Slow) -> AsyncIterator[Spine]:
    store = await quick_store(tmp_path / "tenk.db")
    commands = (Command("wait", "menu.help", slow.wait), Command("echo", "menu.help", slow.echo))
    spine = Spine(store, more_commands=commands)
    await spine.begin()
    await spine.say("/mode followup")
    await spine.quiet()
    await spine.say("one")
    await spine.asked()
    yield spine
    await spine.kill()
    await store.aclose()


async def edit(spine: Spine, message_id: str, text: str) -> None:
    await spine.say(text, message_id=message_id, edited=True)
    await spine.quiet()


async def test_a_waiting_command_is_carried_out_as_it_reads_in_the_end(spine: Spine, slow: Slow) -> None:
    await spine.say("/wait")
    await spine.quiet()
    await spine.say("/echo typo", message_id="m")
    await edit(spine, "m", "/echo right")
    slow.go_on.set()
    await spine.quiet()
    assert ["waited", "echo right"] == spine.channel.shown()[-2:]
    assert "replaced" == list((await spine.outcomes()).values())[-1]


async def test_a_waiting_message_that_becomes_a_command_is_one(spine: Spine) -> None:
    await spine.say("echo this", message_id="m")
    await spine.say("/echo first")
    await spine.quiet()
    await edit(spine, "m", "/echo this")
    assert ["echo first", "echo this"] == spine.channel.shown()[-2:]
    spine.model.give("done")
    await spine.quiet()
    assert 1 == len(spine.model.requests)
    assert None not in (await spine.outcomes()).values()


async def test_a_waiting_command_that_becomes_a_message_is_answered(spine: Spine, slow: Slow) -> None:
    await spine.say("/wait")
    await spine.quiet()
    await spine.say("/echo this", message_id="m")
    await edit(spine, "m", "tell me this")
    slow.go_on.set()
    spine.model.give("done")
    await spine.until(lambda: len(spine.model.requests) == 2)
    assert "tell me this" == said_to_the_model(spine)[-1] and "echo" not in str(spine.channel.shown())
    spine.model.give("this")
    await spine.quiet()
    assert None not in (await spine.outcomes()).values()
