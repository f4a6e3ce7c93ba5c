"""A store and a platform as pure data: what outlives a process, for lanes that are driven step by step."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count

from channels.errors import ChannelError, Permanent, PermanentKind
from channels.messages import Address
from gateway.delivery.lane import SaveOutcome
from gateway.store.outbox import OPEN, Action, OutboxPart, OutboxRow, PartState, idem_key

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
MARK = "↻"


@dataclass(frozen=True)
class Fate:
    """How a call ends, and whether it has happened."""

    failure: Callable[[], ChannelError] | None = None
    happens: bool = True


FINE = Fate()


class World:
    """A platform that cannot tell a repeated send, and a store: what outlives a process."""

    def __init__(self) -> None:
        self.rows: dict[int, OutboxRow] = {}
        self.platform_ids: dict[int, str] = {}
        self.parked: set[str] = set()
        self.messages: dict[str, tuple[str, str]] = {}  # by id: chat and text
        self.moved_chats: dict[str, str] = {}
        self.numbers = count(1)  # of messages

    def put(self, parts: list[OutboxPart], *, first_claimed: bool) -> list[OutboxRow]:
        """Commit parts."""
        made = []
        for index, part in enumerate(parts):
            state = PartState.SENDING if first_claimed and index == 0 else PartState.READY
            id_ = len(self.rows) + 1
            self.rows[id_] = OutboxRow(id_, "default", part, idem_key(part), state, created_at=NOON)
            made.append(self.rows[id_])
        return made

    def oldest_open(self, lane: str) -> OutboxRow | None:
        """What a lane comes to next."""
        rows = (row for row in self.rows.values() if row.state in OPEN and row.part.address.lane == lane)
        return next(rows, None)

    def save(self, step: SaveOutcome) -> None:
        """As the commit of an outcome does."""
        row, stored = step.outcome.row, self.rows[step.row.id]
        part = replace(row.part, target=None, address=stored.part.address)
        self.rows[row.id] = replace(row, part=part, attempts=stored.attempts)
        if step.outcome.moved_to is not None:
            self.move(row.part.address, step.outcome.moved_to)
        if step.outcome.park:
            self.parked.add(row.part.address.lane)
        if step.outcome.drop_rest:
            for other in self.rows.values():
                if other.part.source_id == row.part.source_id and other.id > row.id and other.state in OPEN:
                    self.rows[other.id] = replace(other, state=PartState.DEAD)

    def move(self, old: Address, new_chat: str) -> None:
        """What waits for a chat, and what is being sent to it, belongs to another."""
        for row in self.rows.values():
            if row.state in OPEN and row.part.address.lane == old.lane:
                part = replace(row.part, address=replace(old, chat=new_chat))
                self.rows[row.id] = replace(row, part=part)
        self.parked.discard(old.lane)

    def find_target(self, part: OutboxPart) -> str | None:
        """The message that the part's earlier revisions left."""
        for row in self.rows.values():
            is_earlier = row.part.revision < part.revision and row.id in self.platform_ids
            if (row.part.source_id, row.part.number) == (part.source_id, part.number) and is_earlier:
                return self.platform_ids[row.id]
        return None

    def call(self, row: OutboxRow, fate: Fate) -> str | ChannelError:
        """One call of the platform."""
        part = row.part
        if (new_chat := self.moved_chats.get(part.address.chat)) is not None:
            return Permanent("moved", PermanentKind.MOVED, moved_to=new_chat)
        is_edit = part.action is Action.EDIT and part.target is not None
        id_ = part.target if is_edit and part.target is not None else f"m{next(self.numbers)}"
        if fate.happens:
            self.messages[id_] = (part.address.chat, part.plain + (MARK if row.maybe_duplicate else ""))
        if fate.failure is None:
            return id_
        failure = fate.failure()
        if isinstance(failure, Permanent) and failure.kind is PermanentKind.TARGET_GONE:
            self.messages.pop(id_, None)  # as the platform says
        return failure
