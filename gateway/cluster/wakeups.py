"""Wake-ups between processes: notices that the store has news for them.

A lost one costs a second: every waiting process also reads the store each `POLL_S`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from gateway.errors import StoreUnavailable

log = structlog.get_logger()

MOST_CHARS = 7_000
"""PostgreSQL limits a notice to 8,000 bytes (postgresql.org/docs/18/sql-notify.html)."""

WAKE = "wake"


class Wakeups:
    """Notices between processes: a topic without blanks and a name, like "in 17"."""

    def __init__(self, me: str) -> None:
        """Take this process's id, to ignore its own notices."""
        self._me = me
        self._pending: dict[str, None] = {}
        self._news = asyncio.Event()
        self._handlers: dict[str, Callable[[str], None]] = {}

    def on(self, topic: str, handle: Callable[[str], None]) -> None:
        """Call a handler for each notice of a topic, with its name."""
        self._handlers[topic] = handle

    def tell(self, topic: str, name: object = "") -> None:
        """Send a notice to the other processes soon; repeated ones are sent once."""
        self._pending[f"{topic} {name}"] = None
        self._news.set()

    def hear(self, words: str) -> None:
        """Handle a notice of another process or of a trigger."""
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
        """Send pending notices in batches until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            for words in self._batches():
                with suppress(StoreUnavailable):  # waiting processes read the store by themselves
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
