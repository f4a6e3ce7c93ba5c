"""A turn's claim, state and cancellation. Pure: the rules are tested without a store, a model or a clock.

    CLAIMED ── begin ──▶ RUNNING ── begin_end ──▶ ENDING

`turn` is the turn that runs by these rules; a failed attempt is followed by a new object, read from the journal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from agent.consent import Parked
from agent.transcript import EndReason, JournalEvent
from gateway.sessions.inbox_rules import joins
from gateway.store.causes import AnswerOf
from gateway.store.inbox import InboxRow
from gateway.store.journal import TurnRow


@dataclass(frozen=True, slots=True)
class Claim:
    """The rows that a turn answers, and how far earlier attempts came."""

    turn: TurnRow
    first_id: int  # the inbox row that it answers
    message_id: str | None
    answers: int | None  # the inbox row whose reply route it may use
    events: tuple[JournalEvent, ...]
    attempts: int = 1  # since its last journaled step, this one included
    resumed: bool = False  # True: an earlier attempt may have left traces
    waited: timedelta = timedelta()  # for its person's approval: no part of its time

    def time_since_start(self, now: datetime) -> timedelta:
        """Return the running time, without the time it waited for its person."""
        return now - self.turn.started_at - self.waited

    @property
    def answer(self) -> AnswerOf:
        """Return the cause of its answer; another one after each wait, so that the question is not overwritten."""
        waits = sum(isinstance(event, Parked) and event.asks for event in self.events) if self.resumed else 0
        return AnswerOf(self.turn.id, waits)


class Cancellations:
    """The cancelled rows of a session. It remembers them longer than a turn: a cancelled row may not be claimed yet."""

    def __init__(self) -> None:
        self._before: dict[str | None, int] = {}  # the first row that is not cancelled, by person; None: of everybody

    def note(self, before_id: int, user_id: str | None) -> None:
        """Cancel the rows before this one, of one person (None: of everybody)."""
        self._before[user_id] = max(before_id, self._before.get(user_id, 0))

    def cover(self, claim: Claim) -> bool:
        """Return True if the row that a turn answers is cancelled."""
        return claim.first_id < max(self._before.get(None, 0), self._before.get(claim.turn.user_id, 0))


class TurnState(Enum):
    """The states of a turn."""

    CLAIMED = "claimed"  # its claim is being committed, or was: nothing runs yet
    RUNNING = "running"  # the agent works: messages may join, a cancellation ends it at its next checkpoint
    ENDING = "ending"  # its end is being committed: a cancellation comes too late


class TurnLifecycle:
    """The life of one turn. A cancellation may come at any time."""

    def __init__(self, claim: Claim, cancellations: Cancellations, on_cancelled: Callable[[EndReason], None]) -> None:
        """Call `on_cancelled` once, when the turn is cancelled while it runs, or begins although it was cancelled."""
        self.claim = claim
        self.state = TurnState.CLAIMED
        self.cancelled: EndReason | None = None  # why the running turn is to end
        self._cancellations = cancellations
        self._on_cancelled = on_cancelled

    @property
    def is_live(self) -> bool:
        """Return True if the agent runs."""
        return self.state is not TurnState.CLAIMED

    def takes(self, row: InboxRow, mode: str) -> bool:
        """Return True if this message may join the running turn; otherwise it waits for a turn of its own."""
        return self.is_live and mode == "steer" and joins(row, self.claim.turn)

    def may_steer(self, mode: str) -> bool:
        """Return True if a message could join it now."""
        return self.state is TurnState.RUNNING and mode == "steer" and self.cancelled is None

    def begin(self) -> None:
        """Enter RUNNING; a turn that is cancelled by now is told so at once."""
        self._enter(TurnState.RUNNING, TurnState.CLAIMED)
        if self._cancellations.cover(self.claim):
            self.interrupt(EndReason.STOPPED)

    def begin_end(self) -> None:
        """Enter ENDING: its end is committed now."""
        self._enter(TurnState.ENDING, TurnState.RUNNING)

    def cancel(self, reason: EndReason) -> bool:
        """End it if the row that it answers is cancelled; return False if that row is not.

        A claimed turn ends as soon as it runs, a running one at its next checkpoint, an ending one as it is about to.
        """
        if not self._cancellations.cover(self.claim):
            return False
        self.interrupt(reason)
        return True

    def interrupt(self, reason: EndReason) -> None:
        """End it if it runs, also if its row is not cancelled: its person interrupts it, or another process has it."""
        if self.state is TurnState.RUNNING and self.cancelled is None:
            self.cancelled = reason
            self._on_cancelled(reason)

    def interrupt_for(self, row: InboxRow) -> None:
        """End it for this message, if its own person sent it in the same chat."""
        turn = self.claim.turn
        if turn.user_id == row.user_id and turn.address == row.event.address:
            self.interrupt(EndReason.STOPPED)

    def _enter(self, state: TurnState, before: TurnState) -> None:
        if self.state is not before:
            raise RuntimeError(f"a turn cannot go from {self.state.value} to {state.value}")
        self.state = state
