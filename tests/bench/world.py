"""The other end of both bots, beside a simulated platform: a model server with a fixed delay, busy people."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from types import TracebackType
from typing import Self

import orjson
from aiohttp import web

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.simulator import AnySimulator
from channels.simulators.shared.world import AnyMessage
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.telegram.server import TelegramSimulator
from tests.bench.figures import Load

FIRST_PERSON = 1000
USAGE = {"prompt_tokens": 500, "completion_tokens": 60}
ANSWER_S = 60.0
"""Longest wait for an answer."""

SHORT_ANSWER = "You practised three times this week. Keep the next session short, and stop while it still goes well."

LONG_ANSWER = "\n\n".join(
    [
        "## Your week",
        "You practised **four times**, 3 h 40 min in all. _Scales_ took most of it, `etudes` the rest.",
        *(
            f"{day}. **Day {day}**: 25 min slow scales in two keys, then 15 min of the hard bar at half speed; write "
            "down where it breaks, and begin there tomorrow."
            for day in range(1, 11)
        ),
        "```\n60 bpm  clean\n72 bpm  clean\n84 bpm  bar 12 breaks\n```",
        "See [the method](https://example.org/method) for the reasons.",
    ]
)
"""About 2 kB of Markdown as models write it."""


def unbraked_telegram() -> TelegramSimulator:
    """Return a simulated Telegram that does not slow down polls."""
    return TelegramSimulator.with_bot(throttled=False)


PLATFORMS: Mapping[str, Callable[[], AnySimulator]] = {
    "telegram": unbraked_telegram,
    "discord": DiscordSimulator.with_bot,
    "slack": SlackSimulator.with_bot,
}


class AnswerReader:
    """A reader of the bot's new messages."""

    def __init__(self, platform: AnySimulator) -> None:
        self._platform = platform
        self._seq = 0

    def read(self) -> list[AnyMessage]:
        """Return the bot's messages that are new or changed since the last call."""
        after, self._seq = self._seq, self._platform.newest_seq
        return self._platform.bot_messages(after)

    async def news(self, timeout_s: float) -> None:
        """Wait until `read` may have something.

        Raises:
            TimeoutError: the bot did nothing.
        """
        await self._platform.until(lambda: self._platform.newest_seq > self._seq, timeout_s)


class ModelServer:
    """An OpenAI-compatible server that gives the same answer to everything, after a delay."""

    def __init__(self, delay_s: float = 0.05) -> None:
        self.delay_s = delay_s
        self.answer = SHORT_ANSWER
        self.chunks = 0
        """In so many pieces a streamed answer comes, over the time of the delay; 0: at once, after it."""
        self.requests = 0
        self.refused = 0
        self._refusals: tuple[bytes, Iterator[int]] | None = None
        self._runner = web.ServerRunner(web.Server(self._respond, access_log=None), shutdown_timeout=0.1)
        self.base_url = ""

    def refuse(self, word: str, waits_s: Sequence[int]) -> None:
        """Answer requests that hold this word with 429, and these waits one after the other."""
        self._refusals = (word.encode(), cycle(waits_s))

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method != "POST":
            return web.Response(status=404)  # it says nothing of itself
        body = await request.read()
        if self._refusals is not None and self._refusals[0] in body:
            self.refused += 1
            return web.Response(status=429, headers={"Retry-After": str(next(self._refusals[1]))})
        asked = orjson.loads(body)
        self.requests += 1
        if asked.get("stream") and self.chunks:
            return await self._stream(request)
        await asyncio.sleep(self.delay_s)
        if not asked.get("stream"):
            choice = {"message": {"role": "assistant", "content": self.answer}, "finish_reason": "stop"}
            body = orjson.dumps({"choices": [choice], "usage": USAGE})
            return web.Response(body=body, content_type="application/json")
        return web.Response(body=_streamed(self.answer, USAGE), content_type="text/event-stream")

    async def _stream(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        size = -(-len(self.answer) // self.chunks)
        for start in range(0, len(self.answer), size):
            await asyncio.sleep(self.delay_s / self.chunks)
            chunk = {"choices": [{"index": 0, "delta": {"content": self.answer[start : start + size]}}]}
            await response.write(b"data: " + orjson.dumps(chunk) + b"\n\n")
        await response.write(_streamed("", USAGE))
        return response


def _streamed(answer: str, usage: dict[str, int]) -> bytes:
    pieces = [answer[start : start + 80] for start in range(0, len(answer), 80)]
    chunks: list[object] = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    chunks.append({"choices": [], "usage": usage})
    return b"".join(b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


class People:
    """The people who talk to the bot; each waits for an answer before writing again."""

    def __init__(self, platform: AnySimulator, ending: str) -> None:
        self._platform = platform
        self._answers = AnswerReader(platform)
        self._ending = ending
        self._waiting: dict[str, asyncio.Future[None]] = {}  # by chat

    async def closed_loop(self, chats: int, messages_each: int) -> Load:
        """Let `chats` people write `messages_each` messages, each after the answer to the one before."""
        load = Load()

        async def talk(chat: str) -> None:
            for number in range(messages_each):
                begun_s = time.monotonic()
                await self._ask(chat, number)
                load.latencies_ms.append((time.monotonic() - begun_s) * 1000)

        begun_s = time.monotonic()
        async with self._watching(), asyncio.TaskGroup() as chatting:
            for person in range(FIRST_PERSON, FIRST_PERSON + chats):
                chatting.create_task(talk(self._platform.direct(person)))
        load.wall_s = time.monotonic() - begun_s
        load.messages = chats * messages_each
        return load

    async def each_once(self, people: Iterable[int], at_once: int) -> None:
        """Let each of these people write one message; at most so many wait for an answer at once."""
        left = iter(people)

        async def talk() -> None:
            for person in left:
                await self._ask(self._platform.direct(person), 0)

        async with self._watching(), asyncio.TaskGroup() as chatting:
            for _ in range(at_once):
                chatting.create_task(talk())

    async def evenly(self, people: int, per_s: float, seconds: float) -> None:
        """Let these people write in turns at an even rate; skip people who still wait for an answer."""
        begun_s = time.monotonic()
        async with self._watching(), asyncio.TaskGroup() as chatting:
            for number in range(int(per_s * seconds)):
                await asyncio.sleep(begun_s + number / per_s - time.monotonic())
                chat = self._platform.direct(FIRST_PERSON + number % people)
                if chat not in self._waiting or self._waiting[chat].done():
                    chatting.create_task(self._ask(chat, number))

    async def _ask(self, chat: str, number: int) -> None:
        answered = self._waiting[chat] = asyncio.get_running_loop().create_future()
        self._platform.say(chat, f"how is my practice going? ({number})")
        async with asyncio.timeout(ANSWER_S):
            await answered

    @asynccontextmanager
    async def _watching(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self._watch())
            yield
            watching.cancel()

    async def _watch(self) -> None:
        while True:
            await self._answers.news(2 * ANSWER_S)
            for message in self._answers.read():
                waiting = self._waiting.get(message.chat_id)
                if waiting is not None and not waiting.done() and message.text.rstrip().endswith(self._ending):
                    waiting.set_result(None)


async def until(condition: Callable[[], bool], timeout_s: float, every_s: float = 0.002) -> float:
    """Wait until something outside this process has happened; how long that took, in seconds."""
    begun_s = time.monotonic()
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(every_s)
    return time.monotonic() - begun_s
