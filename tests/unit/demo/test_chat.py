"""A chat of the demo: its narration of people and bot, and its waits."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from channels.simulators.slack.server import SlackSimulator
from channels.simulators.slack.state import ShownMessage
from gateway.demo.chat import Chat, Entry, Kind
from gateway.demo.stage import StoryBroken

APPROVE = {"text": {"type": "plain_text", "text": "Approve"}, "value": "approve:7"}


class Room:
    def __init__(self) -> None:
        slack = SlackSimulator.with_bot()
        self.simulator = slack
        self.told: list[Entry] = []
        self.chat = Chat(slack, 3, "Cleo", self.told.append, room=(7, "#music"))

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self.chat.watch())
            yield
            watching.cancel()

    def answer(self, text: str, ts: str = "9.1", *, thread: str | None = None, streaming: bool = False) -> ShownMessage:
        message = ShownMessage(ts, "C7", "U0TENK", True, text, thread=thread, streamed=streaming)
        message.stream_ends_s = math.inf
        self.simulator.world.chat("C7").messages[ts] = message
        self.stir()
        return message

    def stir(self) -> None:
        self.simulator.say("C7", "hm", person="U8")


async def test_who_is_among_others_names_the_bot() -> None:
    room = Room()
    first = room.chat.say("45m singing")
    room.chat.say("coffee?", meant=False)
    room.chat.say("and now?", under=first)
    assert ["<@U0TENK> 45m singing", "coffee?", "and now?"] == [one.text for one in room.simulator.messages("C7")]
    assert [
        ("@TenK 45m singing", "#music on Slack"),
        ("coffee?", "#music on Slack"),
        ("and now?", "#music on Slack"),
    ] == [(entry.text, entry.chat) for entry in room.told]


async def test_an_answer_is_whole_when_its_stream_ended() -> None:
    room = Room()
    async with room.watched():
        said = room.chat.say("how am I doing?")
        message = room.answer("You did", thread=said.message_id, streaming=True)
        await room.chat.until(lambda: room.chat.open is not None, "a growing answer")
        message.text, message.stream_ends_s = "You did 45 min", 0.0
        room.stir()
        (answer,) = await room.chat.until_answered(said, by="45 min")
    assert (["9.1"], said.message_id) == (said.answer, answer.thread)
    assert [Kind.GROWING, Kind.ANSWER] == [entry.kind for entry in room.told if entry.who == "TenK"]
    assert [] == room.chat.stray()


async def test_an_answer_that_is_completed_above_another_is_told_to_stand_there() -> None:
    room = Room()
    async with room.watched():
        message = room.answer("Total 2 h", streaming=True)
        await room.chat.until(lambda: room.chat.open is not None, "a growing answer")
        room.answer("Total 3 h", "9.2")
        await room.chat.until_told("Total 3 h")
        message.text, message.stream_ends_s = "Total 2 h 45 min", 0.0
        room.stir()
        await room.chat.until_told("Total 2 h 45 min")
    places = {entry.text: entry.chat for entry in room.told}
    assert ("#music on Slack", "#music on Slack, above its last answer") == (
        places["Total 3 h"],
        places["Total 2 h 45 min"],
    )


async def test_a_button_is_shown_and_pressed() -> None:
    room = Room()
    async with room.watched():
        room.answer("Ben asks to be let in.").elements.append(APPROVE)
        room.stir()
        asked = await room.chat.until_told("asks to be let in")
        assert ["Ben asks to be let in.\n[Approve]"] == [entry.text for entry in room.told]
        pressed = room.chat.press(asked, "Approve")
        room.answer("They are in.", "9.2")
        await room.chat.until_answered(pressed, by="They are in")
        with pytest.raises(StoryBroken, match="no button Deny"):
            room.chat.press(asked, "Deny")
