"""Messages from programs: each is stored once, and requests wait for its answer.

A turn goes on if its client disconnects; the answer can be fetched later.
"""

import asyncio
import hashlib
import re
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from agent.catalogue import language_of
from channels.api.adapter import AnswerWatch, ApiChannel, address_of_session
from channels.api.config import ApiAccount
from channels.base import CommandSpec
from channels.markdown.tree import clean
from channels.messages import Address
from channels.turn_steps import TurnStep
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.turns import TurnAnswer, to_turn_answer
from gateway.store import api_turns
from gateway.store.api_turns import AskedRow, AskedTurn
from gateway.store.engine import Store
from gateway.store.inbox import Outcome

LOOK_EVERY_S = 2.0
"""Seconds between two looks at the store for turns that end without a wake-up."""

OVER = "over the "
"""Begin of the detail of rows refused by a person's message limit."""

QUOTED_CHARS = 80
"""Characters of a message's first line to look for, as front ends shorten quotations; a single word is none."""

MIN_AROUND_CHARS = 60
"""Fewest extra characters of a program's prompt beside its quotation."""

Tell = Callable[[str], Awaitable[None]]
"""Receives the whole growing answer each time, now and then unchanged."""


TellStep = Callable[[TurnStep], Awaitable[None]]
"""Receives each step of the turn once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A message in a session with its own id."""

    key_id: str
    user: str
    session: str
    handle: str

    @property
    def address(self) -> Address:
        """Return the address of the session."""
        return address_of_session(self.key_id, self.user, self.session)

    @property
    def message_id(self) -> str:
        """Return the message's id within the person's chat."""
        return f"{self.session}/{self.handle}"


def new_handle(idempotency_key: str | None) -> str:
    """Return the id of a request: derived from its Idempotency-Key, else new."""
    if idempotency_key is None:
        return f"t-{secrets.token_hex(12)}"
    return f"i-{hashlib.sha256(idempotency_key.encode()).hexdigest()[:24]}"


class KnowsPauses(Protocol):
    """The pauses of agents by operators."""

    def of(self, tenant: str) -> object | None:
        """Return the pause of a tenant's agents; None if they are not paused."""
        ...


class Conversations:
    """The messages of programs over one API channel, and the requests that wait for answers."""

    def __init__(self, store: Store, channel: ApiChannel, config: ApiAccount, pauses: KnowsPauses) -> None:
        self._store = store
        self._pauses = pauses
        self._channel = channel
        self._config = config
        self._waiting: Counter[str] = Counter()  # waiting requests by key

    async def say(
        self, asked: Asked, text: str, locale: str | None, *, again: bool = False, only_reads: bool = False
    ) -> None:
        """Store a message and return once it is committed. Repeat an id only with `again`.

        With `only_reads` the turn may not change anything.

        Raises:
            ApiRefusal: the id has another message, the message is empty or over a limit, or the agents are paused.
            NotPersisted, StoreUnavailable: it cannot be stored now.
        """
        if not _as_kept(text):
            raise ApiRefusal(422, "empty_message", "the message is empty", "Send some text.", param="message")
        before, count = await self._find(asked)
        if before is not None and not again and not _is_over(before):
            if before.text is not None and before.text != _as_kept(text):
                raise ApiRefusal(
                    422,
                    "idempotency_mismatch",
                    "this Idempotency-Key was used with another message",
                    "Send a new one with each new request.",
                    param="Idempotency-Key",
                    turn=asked.handle,
                )
            return
        if self._pauses.of(self._store.home_tenant) is not None:  # a program can wait better than its request
            raise ApiRefusal(503, "not_now", "the agents are paused", "Send it again later.", retry_after_s=60.0)
        event_id = api_turns.event_id_of(asked.address, asked.message_id) + (f"~{count}" if count else "")
        tenant = self._store.home_tenant
        await self._channel.hear(asked.address, asked.message_id, event_id, text, locale, tenant, only_reads=only_reads)
        taken, _ = await self._find(asked)
        if taken is None:
            raise ApiRefusal(403, "not_let_in", "this person has no access", "Ask the operator of the gateway.")
        if _is_over(taken):
            raise ApiRefusal(
                429,
                "too_many_messages",
                "this person has sent too many messages",
                "Wait, and send it again.",
                retry_after_s=60.0,
                turn=asked.handle,
            )

    def commands(self, locale: str | None) -> Sequence[CommandSpec]:
        """Return the commands that a person can send, in their language."""
        return [command for command in self._channel.menus.get(language_of(locale), ()) if not command.talks]

    async def look(self, asked: Asked) -> TurnAnswer | None:
        """Return the request's state, or None if it is unknown."""
        found = await self.load(asked)
        return None if found is None else to_turn_answer(found, asked.user)

    async def load(self, asked: Asked, *, brief: bool = False) -> AskedTurn | None:
        """Return the request's state from the store, or None if it is unknown. `brief` omits what is not finished."""
        query = partial(api_turns.load_turn, address=asked.address, message_id=asked.message_id, brief=brief)
        return await self._store.read(query)

    async def look_back(
        self, address: Address, session: str, user: str, limit: int, *, begins: str = ""
    ) -> list[TurnAnswer]:
        """Return the requests of a session whose ids begin with a prefix, newest first."""
        query = partial(api_turns.load_turns, address=address, prefix=f"{session}/{begins}", limit=limit)
        return [to_turn_answer(found, user) for found in await self._store.read(query)]

    async def is_quoting(self, asked: Asked, text: str) -> bool:
        """Return True if a text quotes a recent message of the person and is much longer."""
        heard = await self._store.read(partial(api_turns.last_texts, address=asked.address, limit=20))
        return any(_is_quoted(said, text) for said in heard)

    async def wait(
        self, asked: Asked, seconds: float, tell: Tell | None = None, tell_step: TellStep | None = None
    ) -> TurnAnswer:
        """Return the request's state once it is settled or the time is over. Pass the growing answer to `tell`.

        Raises:
            ApiRefusal: the request is unknown, or too many requests wait.
        """
        with self._seat(asked.key_id), self._channel.watch(asked.address) as watch:
            return await _Waiting(self, asked, watch, tell, tell_step).until_settled(seconds)

    async def _find(self, asked: Asked) -> tuple[AskedRow | None, int]:
        query = partial(api_turns.find_asked, address=asked.address, message_id=asked.message_id)
        return await self._store.read(query)

    @contextmanager
    def _seat(self, key_id: str) -> Iterator[None]:
        if self._waiting.total() >= self._config.waiting or self._waiting[key_id] >= self._config.waiting_of_key:
            raise ApiRefusal(
                429,
                "too_many_waiting",
                "too many requests wait for an answer; the turn of this one goes on",
                "Fetch its answer later, or ask again under the same Idempotency-Key.",
                retry_after_s=10.0,
            )
        self._waiting[key_id] += 1
        try:
            yield
        finally:
            self._waiting[key_id] -= 1
            if not self._waiting[key_id]:
                del self._waiting[key_id]


class _Waiting:
    """One waiting request."""

    def __init__(
        self,
        conversations: Conversations,
        asked: Asked,
        watch: AnswerWatch,
        tell: Tell | None,
        tell_step: TellStep | None,
    ) -> None:
        self._conversations = conversations
        self._asked = asked
        self._watch = watch
        self._tell = tell
        self._tell_step = tell_step
        self._shown = ""
        self._turn_id: str | None = None  # the request's turn, once known
        self._other: str | None = None  # a turn of another request that was growing at the last look

    async def until_settled(self, seconds: float) -> TurnAnswer:
        """Wait, and return the request's state."""
        loop = asyncio.get_running_loop()
        deadline_s, look_at_s = loop.time() + seconds, float("-inf")
        while True:
            now_s = loop.time()
            if self._is_to_be_looked_at() or now_s >= min(look_at_s, deadline_s):
                answer = await self._look(brief=now_s < deadline_s)
                if answer.is_settled or now_s >= deadline_s:
                    await self._show_steps()
                    return answer
                look_at_s = loop.time() + LOOK_EVERY_S
            await self._show_steps()
            await self._show()
            await self._watch.wait(max(0.0, min(look_at_s, deadline_s) - loop.time()))

    def _is_to_be_looked_at(self) -> bool:
        """Return True if there is news: a message was sent, or a turn grows that may be its own."""
        return self._watch.said or self._watch.turn_id not in {None, self._turn_id, self._other}

    async def _look(self, *, brief: bool) -> TurnAnswer:
        self._watch.said, writing = False, self._watch.turn_id
        found = await self._conversations.load(self._asked, brief=brief)
        if found is None:
            raise ApiRefusal(404, "not_found", "there is no such request", "Send the message first.")
        self._turn_id, self._other = found.row.turn_id, writing
        return to_turn_answer(found, self._asked.user)

    async def _show_steps(self) -> None:
        """Pass on the unread steps of the request's turn; what came before it is another's."""
        while self._watch.steps:
            turn_id, step = self._watch.steps.popleft()
            if self._tell_step is not None and turn_id == self._turn_id:
                await self._tell_step(step)

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
    """Return the text as the channel passes it on."""
    return clean(text).strip()
