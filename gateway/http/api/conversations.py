"""What a program says becomes a durable message, once; whoever waits is told how it stands. No path and no JSON here.

The turn is nobody's to stop by going away: a client that is gone leaves a row that is answered, and fetched later.
"""

import asyncio
import hashlib
import re
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from channels.api.adapter import AnswerWatch, ApiChannel, address_of_session
from channels.api.config import ApiAccount
from channels.markdown.tree import clean
from channels.messages import Address
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.turns import TurnAnswer, to_turn_answer
from gateway.store import api_turns
from gateway.store.api_turns import AskedRow, AskedTurn
from gateway.store.engine import Store
from gateway.store.inbox import Outcome

LOOK_EVERY_S = 2.0
"""What ends without a word (`/stop`, a lost wake-up) is seen within this."""

OVER = "over the "
"""How the detail of a row begins that was over its person's bound."""

QUOTED_CHARS = 80
"""Of the first line of a message, as front ends shorten what they quote; a single word is no quotation."""

MIN_AROUND_CHARS = 60
"""A program's prompt is at least this much longer than what it quotes."""

Tell = Callable[[str], Awaitable[None]]
"""Told of an answer that grows, all of it each time; now and then also where it is the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Something said in a session, under its own id."""

    key_id: str
    user: str
    session: str
    handle: str

    @property
    def address(self) -> Address:
        """Where it was said."""
        return address_of_session(self.key_id, self.user, self.session)

    @property
    def message_id(self) -> str:
        """Its id within its person's chat."""
        return f"{self.session}/{self.handle}"


def new_handle(idempotency_key: str | None) -> str:
    """An id for what is asked: the same for the same key, else one that was never there."""
    if idempotency_key is None:
        return f"t-{secrets.token_hex(12)}"
    return f"i-{hashlib.sha256(idempotency_key.encode()).hexdigest()[:24]}"


class Conversations:
    """Everything that programs say, over one channel."""

    def __init__(self, store: Store, channel: ApiChannel, config: ApiAccount) -> None:
        self._store = store
        self._channel = channel
        self._config = config
        self._waiting: Counter[str] = Counter()  # requests that wait, by key

    async def say(
        self, asked: Asked, text: str, locale: str | None, *, again: bool = False, only_reads: bool = False
    ) -> None:
        """Return once it is committed; what was said before under this id is said again with `again` alone.

        With `only_reads` the answer changes nothing, whatever was said.

        Raises:
            ApiRefusal: another thing was said under this id, nothing was said, or it is too much.
            NotPersisted, StoreUnavailable: not now.
        """
        if not _as_kept(text):
            raise ApiRefusal(422, "empty_message", "the message says nothing", "Send some words.", param="message")
        before, count = await self._find(asked)
        if before is not None and not again and not _is_over(before):
            if before.text is not None and before.text != _as_kept(text):
                raise ApiRefusal(
                    422, "idempotency_mismatch", "something else was said under this Idempotency-Key",
                    "Send a new one with each new request.", param="Idempotency-Key", turn=asked.handle,
                )  # fmt: skip
            return
        event_id = f"msg:{asked.address.chat}/{asked.message_id}" + (f"~{count}" if count else "")
        tenant = self._store.home_tenant
        await self._channel.hear(asked.address, asked.message_id, event_id, text, locale, tenant, only_reads=only_reads)
        taken, _ = await self._find(asked)
        if taken is None:
            raise ApiRefusal(403, "not_let_in", "this person is not let in", "Ask the operator of the gateway.")
        if _is_over(taken):
            raise ApiRefusal(
                429, "too_many_messages", "this person writes more than they may", "Wait, and send the same again.",
                retry_after_s=60.0, turn=asked.handle,
            )  # fmt: skip

    async def look(self, asked: Asked) -> TurnAnswer | None:
        """How it stands; None where nobody said it."""
        found = await self.load(asked)
        return None if found is None else to_turn_answer(found, asked.user)

    async def load(self, asked: Asked) -> AskedTurn | None:
        """As `look`, as it stands in the store."""
        query = partial(api_turns.load_turn, address=asked.address, message_id=asked.message_id)
        return await self._store.read(query)

    async def look_back(
        self, address: Address, session: str, user: str, limit: int, *, begins: str = ""
    ) -> list[TurnAnswer]:
        """What was asked in a session under ids that begin so, newest first."""
        query = partial(api_turns.load_turns, address=address, prefix=f"{session}/{begins}", limit=limit)
        return [to_turn_answer(found, user) for found in await self._store.read(query)]

    async def is_quoting(self, asked: Asked, text: str) -> bool:
        """Return True if a text holds what its person said lately in any session, and much more."""
        heard = await self._store.read(partial(api_turns.last_texts, address=asked.address, limit=20))
        return any(_is_quoted(said, text) for said in heard)

    async def wait(self, asked: Asked, seconds: float, tell: Tell | None = None) -> TurnAnswer:
        """How it stands once it is settled, or after so long; `tell` hears of the answer while it grows.

        Raises:
            ApiRefusal: nobody said it, or too many wait already.
        """
        with self._seat(asked.key_id), self._channel.watch(asked.address) as watch:
            return await _Waiting(self, asked, watch, tell).until_settled(seconds)

    async def _find(self, asked: Asked) -> tuple[AskedRow | None, int]:
        query = partial(api_turns.find_asked, address=asked.address, message_id=asked.message_id)
        return await self._store.read(query)

    @contextmanager
    def _seat(self, key_id: str) -> Iterator[None]:
        if self._waiting.total() >= self._config.waiting or self._waiting[key_id] >= self._config.waiting_of_key:
            raise ApiRefusal(
                429, "too_many_waiting", "too many requests wait for an answer; this one goes on nevertheless",
                "Fetch its answer later, or ask again under the same Idempotency-Key.", retry_after_s=10.0,
            )  # fmt: skip
        self._waiting[key_id] += 1
        try:
            yield
        finally:
            self._waiting[key_id] -= 1
            if not self._waiting[key_id]:
                del self._waiting[key_id]


class _Waiting:
    """One request that waits."""

    def __init__(self, conversations: Conversations, asked: Asked, watch: AnswerWatch, tell: Tell | None) -> None:
        self._conversations = conversations
        self._asked = asked
        self._watch = watch
        self._tell = tell
        self._shown = ""
        self._turn_id: str | None = None  # its own, as soon as there is one
        self._other: str | None = None  # one that was being written at the last look, and was not its own

    async def until_settled(self, seconds: float) -> TurnAnswer:
        """How it stands then."""
        loop = asyncio.get_running_loop()
        deadline_s, look_at_s = loop.time() + seconds, float("-inf")
        while True:
            now_s = loop.time()
            if self._is_to_be_looked_at() or now_s >= min(look_at_s, deadline_s):
                answer = await self._look()
                if answer.is_settled or now_s >= deadline_s:
                    return answer
                look_at_s = loop.time() + LOOK_EVERY_S
            await self._show()
            await self._watch.wait(max(0.0, min(look_at_s, deadline_s) - loop.time()))

    def _is_to_be_looked_at(self) -> bool:
        """Whether something was said, or a turn is being written that may be its own."""
        return self._watch.said or self._watch.turn_id not in {None, self._turn_id, self._other}

    async def _look(self) -> TurnAnswer:
        self._watch.said, writing = False, self._watch.turn_id
        found = await self._conversations.load(self._asked)
        if found is None:
            raise ApiRefusal(404, "not_found", "nobody asked this", "Ask it first.")
        self._turn_id, self._other = found.row.turn_id, writing
        return to_turn_answer(found, self._asked.user)

    async def _show(self) -> None:
        if self._tell is None:
            return
        if self._turn_id is not None and self._watch.turn_id == self._turn_id:
            self._shown = self._watch.text
        await self._tell(self._shown)


def _is_over(row: AskedRow) -> bool:
    return row.outcome == Outcome.REFUSED and (row.detail or "").startswith(OVER)


def _is_quoted(said: str, text: str) -> bool:
    begin = said.strip().partition("\n")[0][:QUOTED_CHARS]
    is_short = " " not in begin or len(text) < len(begin) + MIN_AROUND_CHARS
    return not is_short and re.search(rf"(?<!\w){re.escape(begin)}", text) is not None


def _as_kept(text: str) -> str:
    """The text as the channel hands it on."""
    return clean(text).strip()
