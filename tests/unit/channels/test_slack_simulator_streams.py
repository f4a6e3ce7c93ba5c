"""Streams of the simulated Slack, through the real SDK: their start, content and end."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from channels.simulators.slack.server import SlackSimulator
from channels.simulators.slack.state import BOT_TOKEN, ShownMessage

TO = {"recipient_team_id": "T0SIM", "recipient_user_id": "U3"}


@dataclass
class Place:
    simulator: SlackSimulator
    client: AsyncWebClient
    channel: str
    root: str

    async def start(self, **more: str) -> str:
        """Begin a stream; its ts."""
        answer = await self.client.chat_startStream(channel=self.channel, thread_ts=self.root, **more)
        return str(answer["ts"])

    @property
    def answer(self) -> ShownMessage:
        (message,) = self.simulator.answers(self.channel)
        return message

    async def listed(self, ts: str) -> dict:
        found = await self.client.conversations_replies(channel=self.channel, ts=self.root, include_all_metadata=True)
        return next(one for one in found["messages"] if one["ts"] == ts)


@asynccontextmanager
async def a_thread(channel: str = "C1") -> AsyncIterator[Place]:
    async with SlackSimulator() as simulator:
        simulator.add_app()
        client = AsyncWebClient(BOT_TOKEN, base_url=f"{simulator.base_url}/api/", retry_handlers=[])
        yield Place(simulator, client, channel, simulator.say(channel, "hello", person="U3"))


@asynccontextmanager
async def refused(error: str) -> AsyncIterator[None]:
    with pytest.raises(SlackApiError) as caught:
        yield
    assert error == caught.value.response["error"]


async def test_a_stream_grows_and_ends():
    async with a_thread() as place:
        ts = await place.start(markdown_text="one ", **TO)
        await place.client.chat_appendStream(channel="C1", ts=ts, chunks=[{"type": "markdown_text", "text": "two "}])
        await place.client.chat_stopStream(channel="C1", ts=ts, markdown_text="three")
        assert ("one two three", False, place.root) == (place.answer.text, place.answer.streaming, place.answer.thread)
        async with refused("message_not_in_streaming_state"):
            await place.client.chat_appendStream(channel="C1", ts=ts, markdown_text="four")


async def test_a_stream_needs_a_thread():
    async with a_thread() as place:
        async with refused("invalid_arguments"):
            await place.client.api_call("chat.startStream", json={"channel": "C1", **TO})
        async with refused("thread_not_found"):
            await place.client.chat_startStream(channel="C1", thread_ts="1.0", **TO)


@pytest.mark.parametrize("missing", ["recipient_team_id", "recipient_user_id"])
async def test_a_stream_in_a_channel_needs_its_recipient(missing: str):
    async with a_thread() as place, refused(f"missing_{missing}"):
        await place.start(**{name: value for name, value in TO.items() if name != missing})
    async with a_thread("D3") as place:
        await place.start()
        assert place.answer.streaming


async def test_nothing_else_may_change_a_stream():
    async with a_thread() as place:
        where = {"channel": "C1", "ts": await place.start(**TO)}
        async with refused("streaming_state_conflict"):
            await place.client.chat_update(**where, text="x")
        async with refused("cant_delete_message"):
            await place.client.chat_delete(**where)
        await place.client.chat_stopStream(**where)
        await place.client.chat_update(**where, text="x")
        assert "x" == place.answer.text


async def test_slack_ends_a_stream_after_a_while():
    async with a_thread() as place:
        place.simulator.world.stream_lasts_s = 0.0
        where = {"channel": "C1", "ts": await place.start(markdown_text="one", **TO)}
        assert place.answer.broken
        async with refused("message_not_in_streaming_state"):
            await place.client.chat_appendStream(**where, markdown_text="x")
        async with refused("message_not_in_streaming_state"):
            await place.client.chat_stopStream(**where)
        await place.client.chat_update(**where, text="whole")
        assert ("whole", False) == (place.answer.text, place.answer.broken)


async def test_the_history_tells_a_stream_and_its_metadata_at_the_end():
    async with a_thread() as place:
        ts = await place.start(**TO)
        listed = await place.listed(ts)
        assert ("in_progress", "", None) == (listed["streaming_state"], listed["text"], listed.get("metadata"))
        told = {"event_type": "mine", "event_payload": {"key": "k"}}
        await place.client.chat_stopStream(channel="C1", ts=ts, markdown_text="Done.", metadata=told)
        listed = await place.listed(ts)
        assert ("completed", "Done.", told) == (listed["streaming_state"], listed["text"], listed["metadata"])


async def test_limits_of_a_stream_are_kept():
    async with a_thread() as place:
        async with refused("msg_too_long"):
            await place.start(markdown_text="x" * 12_001, **TO)
        where = {"channel": "C1", "ts": await place.start(markdown_text="x" * 7_000, **TO)}
        async with refused("msg_too_long"):
            await place.client.chat_appendStream(**where, markdown_text="x" * 5_001)
        async with refused("no_text"):
            await place.client.chat_appendStream(**where, markdown_text="")
        async with refused("invalid_blocks"):
            await place.client.chat_stopStream(**where, blocks=[{"type": "shout"}])
        await place.client.chat_stopStream(**where, markdown_text="x" * 5_000)
        assert 12_000 == len(place.answer.text)


async def test_what_is_appended_is_read_as_any_text():
    async with a_thread() as place:
        where = {"channel": "C1", "ts": await place.start(markdown_text="hello <!chan", **TO)}
        assert ([], False) == (place.simulator.pings(), place.answer.unfurls)
        await place.client.chat_appendStream(**where, markdown_text="nel>")
        await place.client.chat_appendStream(**where, markdown_text=" https://evil.example")
        assert (["<!channel>"], True) == (place.simulator.pings(), place.answer.unfurls)
        assert place.answer.text.endswith(">https://evil.example")


async def test_so_many_streams_a_minute():
    async with a_thread() as place:
        place.simulator.world.streams_per_min = 2
        begun = [await place.start(**TO) for _ in range(2)]
        async with refused("ratelimited"):
            await place.start(**TO)
        for ts in begun:
            await place.client.chat_stopStream(channel="C1", ts=ts)


async def test_another_process_sees_what_streams():
    async with a_thread() as place:
        await place.start(**TO)
        shown = f"{place.simulator.base_url}/sim/shown?chat=C1"
        async with aiohttp.ClientSession() as http, http.get(shown) as answer:
            assert [False, True] == [one["streaming"] for one in await answer.json()]
