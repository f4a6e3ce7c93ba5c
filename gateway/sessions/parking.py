"""Turns that wait for their person's approval or for a task: nothing of them runs, and no message waits behind them.

The store has them too, so that a restart finds them. A question without an answer in time expires, and its turn
resumes. After a restart a turn that waits for a task resumes at once, and waits again.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog

from agent.consent import Consent
from gateway.sessions.inbox_rules import joins
from gateway.store import approvals, journal
from gateway.store.approvals import Approval
from gateway.store.engine import Store
from gateway.store.inbox import InboxRow
from gateway.store.journal import OpenTurn

log = structlog.get_logger()

LOOK_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class ParkedTurn:
    """A turn with what it waits for."""

    open_turn: OpenTurn
    approval: Approval | None  # None: it waits for a task


@dataclass(frozen=True, slots=True)
class AskingTurn:
    """A turn that waits for an approval."""

    open_turn: OpenTurn
    approval: Approval


class Parking:
    """The waiting turns of a gateway."""

    def __init__(self, store: Store, clock: Callable[[], datetime], take_up: Callable[[OpenTurn], None]) -> None:
        """`take_up` resumes a turn that waits no more."""
        self._store = store
        self._clock = clock
        self._waiting: dict[str, ParkedTurn] = {}  # by turn
        self._take_up = take_up

    def add(self, parked: ParkedTurn) -> None:
        """Add a turn that waits from now on."""
        self._waiting[parked.open_turn.turn.id] = parked

    async def recover(self, open_turns: Iterable[OpenTurn]) -> None:
        """Know the turns that waited when the process ended."""
        for open_turn in open_turns:
            find = partial(approvals.pending, turn_id=open_turn.turn.id)
            approval = await self._store.read(find, lasting=True)
            if approval is None:  # no person can answer any more, or its task may have ended
                self._take_up(open_turn)
            else:
                self.add(ParkedTurn(open_turn, approval))

    def forget(self, shards: Collection[int]) -> None:
        """Those of these shards wait elsewhere."""
        self._waiting = {
            id_: parked
            for id_, parked in self._waiting.items()
            if journal.shard_of(parked.open_turn.session_key) not in shards
        }

    async def look(self) -> None:
        """Go on with those that wait no more in the store: their answer was taken by another process."""
        if known := [asking.open_turn.turn.id for asking in self._asking()]:
            open_still = await self._store.read(partial(approvals.still_pending, turn_ids=known))
            self.release([id_ for id_ in known if id_ not in open_still])

    def _asking(self) -> Iterator[AskingTurn]:
        for parked in self._waiting.values():
            if parked.approval is not None:
                yield AskingTurn(parked.open_turn, parked.approval)

    def joined_by(self, tenant: str, session_key: str, row: InboxRow) -> AskingTurn | None:
        """Return the asking turn of the session that a message is about: of its person, in the chat where it answers.

        It may be the turn of a task that the session has begun. Of several the one with the newest question.
        """
        if not self._waiting:
            return None

        def is_meant(open_turn: OpenTurn) -> bool:
            where = open_turn.turn.tenant, journal.root_of(open_turn.session_key)
            return where == (tenant, session_key) and joins(row, open_turn.turn)

        meant = (asking for asking in self._asking() if is_meant(asking.open_turn))
        return max(meant, key=lambda asking: (asking.approval.asked_at, asking.approval.id), default=None)

    def waits_for_task(self, tenant: str, session_key: str, row: InboxRow) -> bool:
        """Return True if a turn of the session waits for a task and a message is of its person, in the same chat."""
        return any(
            parked.approval is None
            and (parked.open_turn.turn.tenant, parked.open_turn.session_key) == (tenant, session_key)
            and joins(row, parked.open_turn.turn)
            for parked in self._waiting.values()
        )

    def release(self, turn_ids: Iterable[str]) -> None:
        """Resume these turns, which the store has released."""
        for turn_id in turn_ids:
            if (parked := self._waiting.pop(turn_id, None)) is not None:
                self._take_up(parked.open_turn)

    def drop(self, turn_id: str) -> OpenTurn | None:
        """As `release`, for a caller that goes on with it; None where it waits no more."""
        parked = self._waiting.pop(turn_id, None)
        return None if parked is None else parked.open_turn

    async def expire(self) -> None:
        """End the questions whose time is over."""
        now = self._clock()
        for asking in [asking for asking in self._asking() if asking.approval.until <= now]:
            settle = partial(approvals.settle, approval=asking.approval, state=Consent.EXPIRED, now=now)
            await self._store.commit(settle)
            log.info("approval_expired", turn_id=asking.open_turn.turn.id, tool=asking.approval.tool)
            self.release([asking.open_turn.turn.id])
