"""The terminal's side of its WebSocket: it sends lines, shows messages and detects complete answers.

The caller draws, and reads the lines.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from typing import Any

import aiohttp
import orjson

from channels.viewers.viewer_hub import Frame

QUIET_S = 0.7  # after a complete message, until no other is expected

Show = Callable[[str, str, bool], None]
"""Shows a message: its id, its text, and True if it is unfinished."""


class ConsoleClient:
    """One terminal on an open WebSocket; `run` ends when the gateway closes it."""

    def __init__(
        self, peer: aiohttp.ClientWebSocketResponse, show: Show, locale: str = "", *, recall: bool = False
    ) -> None:
        """`locale` is the terminal's, BCP 47; "" is none. `recall` requests missed messages."""
        self._peer = peer
        self._locale = locale
        self._show = show
        self._outgoing: asyncio.Queue[Frame] = asyncio.Queue()  # bounded by what a person types
        self._unsent: dict[str, Frame] = {}  # sent and not confirmed
        self._unanswered = 0  # lines without a complete message after them
        self._heard_s = 0.0
        self._growing = False
        self._busy_until_s = 0.0
        self._send({"type": "hello", "recall": recall})

    async def run(self) -> None:
        """Receive until the gateway closes the connection."""
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(self._write())
            async for message in self._peer:
                if message.type is not aiohttp.WSMsgType.TEXT:
                    break
                self._hear(orjson.loads(message.data))
            writing.cancel()

    def say(self, text: str) -> None:
        """Send a line; repeat it until the gateway confirms it."""
        frame: Frame = {"type": "say", "id": secrets.token_hex(16), "text": text, "locale": self._locale}
        self._unsent[str(frame["id"])] = frame
        self._unanswered += 1
        self._send(frame)

    @property
    def untaken(self) -> list[str]:
        """Return the lines that the gateway has not confirmed."""
        return [str(frame["text"]) for frame in self._unsent.values()]

    def is_answered(self, now_s: float) -> bool:
        """Return True if all lines are answered and no other message is expected."""
        if self._unsent or self._unanswered or self._growing:
            return False
        return now_s >= max(self._heard_s + QUIET_S, self._busy_until_s)

    def _hear(self, frame: dict[str, Any]) -> None:
        now_s = asyncio.get_running_loop().time()
        match frame["type"]:
            case "message":
                self._message(frame, now_s)
            case "typing":
                self._busy_until_s = now_s + frame["for_s"]
            case "taken":
                for id_ in frame["ids"]:
                    self._unsent.pop(id_, None)
            case "not_taken":
                asyncio.get_running_loop().call_later(frame["again_after_s"], self._offer, list(frame["ids"]))

    def _message(self, frame: dict[str, Any], now_s: float) -> None:
        self._growing = frame["live"] or frame["waiting"]
        self._show(frame["id"], frame["text"], self._growing)
        self._heard_s = now_s
        if not self._growing:
            self._unanswered = 0
            self._busy_until_s = 0.0

    def _offer(self, ids: list[str]) -> None:
        for id_ in ids:
            if id_ in self._unsent:
                self._unanswered += 1  # what was shown meanwhile answers an earlier line
                self._send(self._unsent[id_])

    def _send(self, frame: Frame) -> None:
        self._outgoing.put_nowait(frame)

    async def _write(self) -> None:
        with contextlib.suppress(ConnectionError):  # receiving ends, too
            while True:
                await self._peer.send_str(orjson.dumps(await self._outgoing.get()).decode())
