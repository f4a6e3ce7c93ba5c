"""The stored surroundings of a turn beside conversations: results and pictures to read, and the usage of its calls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from agent.ports import Spent
from channels.clocks import Clock
from gateway.store import journal, usage
from gateway.store.engine import Connection, Store
from gateway.store.journal import TurnRow
from gateway.store.outbox import files_of


@dataclass(frozen=True, slots=True)
class StoredSurroundings:
    """The stored parts of a conversation that such a turn reads, and the counting of its model calls."""

    store: Store
    turn: TurnRow  # whose conversation and person are read
    counted_as: TurnRow  # the turn to which usage is counted; it need not be stored
    clock: Clock
    scrub: Callable[[str], str]

    async def note_cost(self, response: Spent) -> None:
        """Count a model call."""

        def note(connection: Connection) -> None:
            placed = replace(response, step=usage.step_beside(connection, self.counted_as.id))
            usage.note_call(connection, self.counted_as, placed, self.clock())

        await self.store.commit(note)

    async def whole_result(self, handle: str) -> str | None:
        """Return the whole result of a call of an earlier turn of this conversation and person."""
        turn = self.turn
        look = partial(journal.whole_result, session_id=turn.session_id, user_id=turn.user_id, call_key=handle)
        return await self.store.read(look)

    async def load_pictures(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        """Return the bytes of those of these pictures that are still kept."""
        return await self.store.read(partial(files_of, ids=ids), lasting=True)
