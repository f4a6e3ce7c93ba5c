"""A bot's queue of updates with the offset semantics of getUpdates; nothing of HTTP lives here.

Source: tdlib/telegram-bot-api `Client::do_get_updates` (2026-09). An update is forgotten when a poll asks for an
offset above it or its time is over, never because it was given out.
"""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import orjson

from channels.simulators.shared.world import JsonObject
from channels.simulators.telegram.checks import Refusal

ALLOWED_BY_DEFAULT_NOT = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
_CONFLICT = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"


@dataclass(frozen=True, slots=True)
class Queued:
    """An update that waits."""

    update_id: int
    expires_at: float  # Unix seconds
    encoded: bytes
    chat: str = ""  # whose queue it is in when updates are brought to a webhook


def encode_update(update: JsonObject) -> bytes:
    """Return JSON as Telegram would write it; lone surrogates survive as escapes."""
    try:
        return orjson.dumps(update)
    except TypeError:
        return json.dumps(update).encode()


def chat_of(body: object) -> str:
    """Return the chat, else the person, that an update's content belongs to; "" if it names neither."""
    if not isinstance(body, dict):
        return ""
    message = body.get("message")
    inner = message if isinstance(message, dict) else body
    for holder in (inner.get("chat"), body.get("from")):
        if isinstance(holder, dict) and "id" in holder:
            return str(holder["id"])
    return ""


class UpdateQueue:
    """The pending updates of one bot."""

    def __init__(self, *, first_id: int, throttled: bool) -> None:
        """Take the first id; `throttled` keeps Telegram's brake on a poll that repeats its offset at once."""
        self._next_id = first_id
        self._throttled = throttled
        self._waiting: deque[Queued] = deque()
        self._allowed: frozenset[str] | None = None
        self._poll: asyncio.Future[str] | None = None  # "" when there is something, else why the poll ends
        self.pushed: Callable[[str], None] | None = None  # told the chat of each update that was queued
        self._last_offset: int | None = None
        self._last_poll_s = 0.0
        self.polls = 0  # how many getUpdates calls came in

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def allowed(self) -> frozenset[str] | None:
        """Return the kinds of update the bot asked for; None: Telegram's default."""
        return self._allowed

    def allow(self, kinds: object) -> None:
        """Remember which kinds of update the bot wants; None leaves it as it was, [] is the default."""
        if isinstance(kinds, list):
            self._allowed = frozenset(kind for kind in kinds if isinstance(kind, str)) or None

    def push(self, kind: str, body: JsonObject, *, expires_at: float) -> int | None:
        """Queue an update. Return its id, or None if the bot does not want this kind."""
        if kind in ALLOWED_BY_DEFAULT_NOT if self._allowed is None else kind not in self._allowed:
            return None
        update_id = self._take_id()
        self._append(Queued(update_id, expires_at, encode_update({"update_id": update_id, kind: body}), chat_of(body)))
        return update_id

    def push_raw(self, update: JsonObject) -> int:
        """Queue any object as an update. Its `update_id` is set unless it brings one."""
        update_id = self._take_id()
        chat = next((found for body in update.values() if (found := chat_of(body))), "")
        self._append(Queued(update_id, time.time() + 86_400, encode_update({"update_id": update_id, **update}), chat))
        return update_id

    def renumber(self, first_id: int) -> None:
        """Go on with other ids, as Telegram does after a week without updates."""
        self._next_id = first_id

    def _take_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _append(self, queued: Queued) -> None:
        self._waiting.append(queued)
        self.end_poll("")
        if self.pushed is not None:
            self.pushed(queued.chat)

    def end_poll(self, why: str) -> None:
        """End the poll that waits, if one does: "" lets it look again, anything else is its 409."""
        if self._poll is not None and not self._poll.done():
            self._poll.set_result(why)

    async def poll(self, *, offset: int, limit: int, timeout_s: float) -> list[bytes]:
        """Answer a getUpdates call, waiting up to `timeout_s` for something to answer with.

        Raises:
            Refusal: 409, another poll came while this one waited.
        """
        self.polls += 1
        now_s = time.monotonic()
        if self._throttled and offset == self._last_offset:
            if now_s < self._last_poll_s + 3.0:
                timeout_s = max(timeout_s, 3.0)
            if now_s < self._last_poll_s + 0.5:
                limit = 1
        self._last_offset, self._last_poll_s = offset, now_s
        batch = self.take(offset, limit)
        if batch or timeout_s <= 0:
            return batch
        self.end_poll(_CONFLICT)
        mine = self._poll = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout_s):
                conflict = await mine
        except TimeoutError:
            return []
        if conflict:
            raise Refusal(409, conflict)
        return self.take(offset, limit)

    def take(self, offset: int, limit: int) -> list[bytes]:
        """Forget what the offset confirms. Return the next updates."""
        self.confirm(offset)
        now = time.time()
        alive = (queued.encoded for queued in self._waiting if queued.expires_at > now)
        return list(islice(alive, limit))

    def confirm(self, offset: int) -> None:
        """Forget what is below the offset and whose time is over; an offset from the future confirms nothing."""
        now = time.time()
        while self._waiting and self._waiting[0].expires_at <= now:
            self._waiting.popleft()
        if offset < 0:
            while len(self._waiting) > -offset:
                self._waiting.popleft()
        elif 0 < offset <= self._next_id:
            while self._waiting and self._waiting[0].update_id < offset:
                self._waiting.popleft()

    def keys(self) -> list[str]:
        """Return the chats for which updates wait, in the order of their first update."""
        return list(dict.fromkeys(queued.chat for queued in self._waiting))

    def first(self, chat: str) -> Queued | None:
        """Return the oldest update of a chat."""
        now = time.time()
        return next((queued for queued in self._waiting if queued.chat == chat and queued.expires_at > now), None)

    def holds(self, queued: Queued) -> bool:
        """Return True if it still waits, and its time is not over."""
        return queued.expires_at > time.time() and queued in self._waiting

    def remove(self, queued: Queued) -> None:
        """Forget one update, wherever it stands."""
        if queued in self._waiting:
            self._waiting.remove(queued)

    def expire_all(self) -> None:
        """Let the time of everything waiting be over, as after 24 h without a poll."""
        self._waiting.clear()
