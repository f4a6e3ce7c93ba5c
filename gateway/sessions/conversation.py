"""What a session remembers between turns: its place in the store, its mode, its next journal number, its history."""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial

from agent.transcript import Item, JournalEvent, fold
from gateway.sessions.config import SessionsConfig
from gateway.store import journal
from gateway.store.engine import Connection, Store
from gateway.store.journal import SessionState

HISTORY_ITEMS = 400
"""Items kept in memory between turns; context trimming has its own, smaller bound."""


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
        self._seq = 0
        self.history: tuple[Item, ...] = ()

    @property
    def mode(self) -> str:
        """What a message does that arrives mid-turn."""
        return self._config.mode if self._state is None else self._state.mode

    async def loaded(self) -> SessionState:
        """The living generation; begun where there is none."""
        return self._state or await self.reload()

    async def reload(self) -> SessionState:
        """As `loaded`, read anew."""
        read = partial(journal.load_session, tenant=self._tenant, key=self._key, limit=self._config.history_events)
        state = await self._store.read(read)
        if state is None:
            state = await self._store.write(partial(self._open, generation=1))
        self._seq = state.next_seq
        self.history = fold(state.events)
        self.use(state)
        return state

    def _open(self, connection: Connection, generation: int) -> SessionState:
        return journal.open_session(connection, self._tenant, self._key, self._config.mode, generation, self._clock())

    def use(self, state: SessionState) -> None:
        """Go on in this generation and mode."""
        if self._state is not None and state.id != self._state.id:
            self._seq = state.next_seq
            self.history = ()
        self._state = state

    def forget(self) -> None:
        """Read it anew next time: somebody else may have written."""
        self._state = None

    def next_seq(self, count: int) -> int:
        """Reserve places in the journal; the first of them. A gap is harmless."""
        first, self._seq = self._seq, self._seq + count
        return first

    def remember(self, session_id: str, events: Iterable[JournalEvent]) -> None:
        """Add an ended turn to the history, unless the conversation has gone on to another generation."""
        if self._state is not None and self._state.id == session_id:
            self.history = (*self.history, *fold(events))[-HISTORY_ITEMS:]
