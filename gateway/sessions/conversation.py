"""A session remembers between turns its place in the store, its mode, its next journal number, its history."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial

from agent.context.history import PastTurn, Remembered, kept_whole, remember
from agent.encoded_pieces import EncodedPieces
from agent.permission_rules import PermissionRule, TurnPermissions
from agent.ports import Prefix, Summary
from agent.transcript import JournalEvent
from gateway.sessions.config import SessionsConfig
from gateway.store import conversations, journal, session_rules
from gateway.store.engine import Connection, Store
from gateway.store.journal import SessionState


class Conversation:
    """The living generation of a session, read from the store when it is first needed."""

    def __init__(
        self, store: Store, config: SessionsConfig, tenant: str, key: str, clock: Callable[[], datetime]
    ) -> None:
        """Nothing is read yet."""
        self._clock = clock
        self._store = store
        self._config = config
        self._tenant = tenant
        self._key = key
        self._state: SessionState | None = None
        self._mode: str = config.mode  # as it was known last
        self._reading = asyncio.Lock()
        self._seqs: dict[str, int] = {}  # next place in the journal, by generation: a turn may outlive its own
        self._past: tuple[PastTurn, ...] = ()
        self._past_events = 0  # of all of these
        self._summaries: dict[str, Summary] = {}  # by whose prompts they stand in
        self._rules: Mapping[str, tuple[PermissionRule, ...]] = {}  # by the person for whom they hold
        self._recalled: tuple[object, Remembered] | None = None  # what was recalled last, and of what
        self.prefix = Prefix()
        self.pieces = EncodedPieces()

    @property
    def mode(self) -> str:
        """Return the mode for messages that arrive mid-turn: steer, followup, collect or interrupt."""
        return self._mode

    async def load(self) -> SessionState:
        """Return the living generation; begin one if there is none."""
        if self._state is None:
            async with self._reading:
                if self._state is None:
                    return await self._read()
        return self._state

    async def reload(self) -> SessionState:
        """As `load`, read anew."""
        async with self._reading:
            return await self._read()

    async def _read(self) -> SessionState:
        read = partial(journal.load_session, tenant=self._tenant, key=self._key, limit=self._config.history_events)
        state, kept, rules = await self._store.read(lambda connection: _load(connection, read), lasting=True)
        if state is None:
            state = await self._store.commit(self._open, generation=1)
        if self._state is not None and self._state.generation > state.generation:
            return self._state  # `/new` went through meanwhile
        self.use(state)
        self._summaries, self._rules = kept, rules
        self._keep(state.past)
        return state

    def _open(self, connection: Connection, generation: int) -> SessionState:
        mode = "steer" if journal.CHILD_MARK in self._key else self._config.mode  # messages join a task that runs
        return journal.open_session(connection, self._tenant, self._key, mode, generation, self._clock())

    def use(self, state: SessionState) -> None:
        """Go on in this generation and mode."""
        if self._state is not None and state.id != self._state.id:
            self._summaries, self._rules = {}, {}
            self._keep(())
            self.prefix.release()
            self.pieces = EncodedPieces()
        self.number_from(state.id, state.next_seq)
        self._state, self._mode = state, state.mode

    def recall(self, session_id: str, user_id: str, turn_id: str = "") -> Remembered:
        """Return the history for a turn of this person and generation; an empty one if `/new` ended the generation."""
        if not self.is_living(session_id):
            return Remembered(())
        summary = self._summaries.get(user_id)
        key = (self._past, user_id, summary, summary is not None and turn_id == summary.turn_id)
        if self._recalled is None or self._recalled[0] != key:
            self._recalled = key, remember(self._past, user_id, summary, turn_id)
        return self._recalled[1]

    def permissions_of(self, session_id: str, user_id: str) -> TurnPermissions:
        """Return the rules and the mode for a turn of this person and generation."""
        mode = None if self._state is None else self._state.permission_mode
        rules = self._rules.get(user_id, ()) if self.is_living(session_id) else ()
        return TurnPermissions(rules, mode)

    def is_living(self, session_id: str) -> bool:
        """Return True if this generation is the living one."""
        return self._state is not None and self._state.id == session_id

    def summarise(self, session_id: str, user_id: str, summary: Summary) -> None:
        """Let this stand for the older part in this person's prompts, as the store has it by now."""
        if self.is_living(session_id):
            self._summaries[user_id] = replace(summary, kept_at=self._clock())
            self.prefix.release()
            self._keep(_drop_condensed(self._past, self._summaries))

    def forget(self) -> None:
        """Read it anew next time: another process may have written."""
        self._state = None

    def is_new(self, session_id: str) -> bool:
        """Return True if a generation has no event yet."""
        return self._seqs.get(session_id, 0) == 0

    def number_from(self, session_id: str, seq: int) -> None:
        """Reserve no place before this one in the journal of a generation."""
        self._seqs[session_id] = max(seq, self._seqs.get(session_id, 0))

    def next_seq(self, session_id: str, count: int) -> int:
        """Reserve places in the journal of a generation; the first of them. A gap is harmless."""
        first = self._seqs.get(session_id, 0)
        self._seqs[session_id] = first + count
        return first

    def note_ended(self, session_id: str, user_id: str, turn_id: str, events: Iterable[JournalEvent]) -> None:
        """Add a person's ended turn to the history, unless the conversation has gone on to another generation."""
        if self._state is None or self._state.id != session_id:
            return
        ended = PastTurn(user_id, tuple(events), turn_id, self._clock())
        past, count, start = self._past, self._past_events + len(ended.events), 0
        while start < len(past) and count >= self._config.history_events:
            count -= len(past[start].events)
            start += 1
        self._past, self._past_events = (*past[start:], ended), count

    def _keep(self, past: tuple[PastTurn, ...]) -> None:
        self._past, self._past_events = past, sum(len(turn.events) for turn in past)


def _drop_condensed(past: tuple[PastTurn, ...], kept: Mapping[str, Summary]) -> tuple[PastTurn, ...]:
    """Return the turns that any prompt still holds whole; all of them while one of the people has no notes."""
    if not {turn.user_id for turn in past} <= kept.keys():
        return past
    whole = {turn.id for summary in kept.values() for turn in kept_whole(past, summary)}
    return tuple(turn for turn in past if turn.id in whole)


def _load(
    connection: Connection, read: Callable[[Connection], SessionState | None]
) -> tuple[SessionState | None, dict[str, Summary], Mapping[str, tuple[PermissionRule, ...]]]:
    state = read(connection)
    if state is None:
        return None, {}, {}
    summaries = conversations.find_summaries(connection, state.id)
    return state, summaries, session_rules.of_session(connection, state.id)
