"""Wake-ups: a word to the other processes that there is something in the store for them. A lost one costs a second.

The rows are the truth, and whoever waits for a word also looks by itself every `POLL_S`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from gateway.errors import StoreUnavailable

log = structlog.get_logger()

MOST_CHARS = 7_000
"""A notice of PostgreSQL has 8,000 bytes at most (postgresql.org/docs/18/sql-notify.html)."""

WAKE = "wake"


class Wakeups:
    """What is told and heard between processes; topics are words without blanks before a name: "in 17"."""

    def __init__(self, me: str) -> None:
        """`me` is whose words are not for ourselves."""
        self._me = me
        self._pending: dict[str, None] = {}
        self._news = asyncio.Event()
        self._handlers: dict[str, Callable[[str], None]] = {}

    def on(self, topic: str, handle: Callable[[str], None]) -> None:
        """Whom a topic wakes, with the name behind it."""
        self._handlers[topic] = handle

    def tell(self, topic: str, name: object = "") -> None:
        """Wake the others, soon; what is told several times until then is told once."""
        self._pending[f"{topic} {name}"] = None
        self._news.set()

    def hear(self, words: str) -> None:
        """Somebody, or a trigger of the store, tells something."""
        first, *topics = words.split("\n")
        sender = first.partition(" ")
        if sender[0] != WAKE:
            topics = [first]
        elif sender[2] == self._me:
            return
        for told in topics:
            topic, _, name = told.partition(" ")
            if (handle := self._handlers.get(topic)) is not None:
                handle(name)

    async def run(self, send: Callable[[str], Awaitable[None]]) -> None:
        """Send what is told, all that came together at once, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            for words in self._batches():
                with suppress(StoreUnavailable):  # those who wait look for themselves
                    await send(words)

    def _batches(self) -> list[str]:
        pending, self._pending = self._pending, {}
        batches, lines = [], f"{WAKE} {self._me}"
        for told in pending:
            if len(lines) + len(told) > MOST_CHARS // 4:  # a character is four bytes at most
                batches.append(lines)
                lines = f"{WAKE} {self._me}"
            lines += f"\n{told}"
        return [*batches, lines]
