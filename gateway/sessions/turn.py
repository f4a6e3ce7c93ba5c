"""A session is at one turn at a time, drawn as states. Pure: its rules are tested without a store, a model or a clock.

    ENDED ── begin ──▶ CLAIMING ── run ──▶ RUNNING ── finish ──▶ FINISHING
      ▲                 │  ▲ ▲                │                     │
      │                 │  │ └──── retry ─────┘                     │
      │                 │  └──────────────── retry ────────────────┤
      └────── end ──────┴────────────── end ────────────────────────┘

`commits` says what is written where, `journaled_turn` what the agent may do meanwhile.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from agent.consent import Parked
from agent.transcript import EndReason, JournalEvent
from gateway.sessions.inbox_rules import joins
from gateway.store.inbox import InboxRow
from gateway.store.journal import TurnRow


@dataclass(frozen=True, slots=True)
class ClaimedTurn:
    """A turn with its rows, and where it stands."""

    turn: TurnRow
    first_id: int  # the inbox row that it answers
    message_id: str | None
    answers: int | None  # the inbox row whose own way to answer it may use
    events: tuple[JournalEvent, ...]
    attempts: int = 1  # since its last journaled step, this one included
    resumed: bool = False  # whether an earlier attempt may have left traces
    waited: timedelta = timedelta()  # for its person's word: no part of its time

    def time_since_start(self, now: datetime) -> timedelta:
        """Return the running time, without the time it waited for its person."""
        return now - self.turn.started_at - self.waited

    @property
    def source_id(self) -> str:
        """Return the outbox source id of its answer; another one after each wait, so that the question is not
        overwritten.
        """
        waits = sum(isinstance(event, Parked) for event in self.events) if self.resumed else 0
        return self.turn.id if not waits else f"{self.turn.id}.{waits}"


class TurnState(Enum):
    """The states of a turn."""

    CLAIMING = "claiming"  # rows are taken, or a turn of an earlier attempt is read; nothing runs yet
    RUNNING = "running"  # the agent is at it: messages may join, a cancellation ends it at its next checkpoint
    FINISHING = "finishing"  # its end is being committed: a cancellation comes too late
    ENDED = "ended"  # nothing is at work


class SessionTurn:
    """The turn of a session. One object serves one turn after another; a cancellation may come at any time."""

    def __init__(self) -> None:
        """Nothing is at work."""
        self.state = TurnState.ENDED
        self.rows: list[InboxRow] = []  # taken from the mailbox, not claimed yet: an edit may still replace them
        self.claimed: ClaimedTurn | None = None  # what is answered now, from the moment its claim is tried
        self.steers = False  # whether messages of its person join it; mode followup turns this off
        self.cancelled: EndReason | None = None  # why the running turn is to end
        self._before: dict[str | None, int] = {}  # up to which row everything is cancelled, of one person or of all
        self._on_cancel: Callable[[EndReason], None] | None = None

    @property
    def is_live(self) -> bool:
        """Return True if the agent runs."""
        return self.state in {TurnState.RUNNING, TurnState.FINISHING}

    @property
    def may_steer(self) -> bool:
        """Return True if a message could join it now."""
        return self.state is TurnState.RUNNING and self.steers and self.cancelled is None

    def takes(self, row: InboxRow) -> bool:
        """Return True if this message joins the running turn; otherwise it waits for a turn of its own."""
        return self.is_live and self.claimed is not None and self.steers and joins(row, self.claimed.turn)

    # ------------------------------------------------------------ its life

    def begin(self) -> None:
        """Enter CLAIMING from ENDED: rows are to be claimed, or an earlier turn is read."""
        self._enter(TurnState.CLAIMING, TurnState.ENDED)

    def claim(self, claimed: ClaimedTurn) -> None:
        """Its claim is tried, or known to hold: from here on the turn can be cancelled."""
        self._enter(TurnState.CLAIMING, TurnState.CLAIMING)
        self.claimed, self.rows = claimed, []

    def run(self, *, steers: bool, on_cancel: Callable[[EndReason], None]) -> None:
        """CLAIMING → RUNNING; what was cancelled before it ran is told of it at once."""
        self._enter(TurnState.RUNNING, TurnState.CLAIMING)
        self.steers, self._on_cancel, self.cancelled = steers, on_cancel, None
        if self._is_covered():
            self._interrupt(EndReason.STOPPED)

    def finish(self) -> None:
        """Enter FINISHING: its end is committed now."""
        self._enter(TurnState.FINISHING, TurnState.RUNNING)

    def retry(self) -> None:
        """Return to CLAIMING after a failed attempt, with its claim as it was."""
        self._enter(TurnState.CLAIMING, TurnState.CLAIMING, TurnState.RUNNING, TurnState.FINISHING)

    def end(self) -> None:
        """Nothing is at work any more, however it came to that."""
        self.state, self.claimed, self.cancelled, self._on_cancel = TurnState.ENDED, None, None, None

    def cancel(self, reason: EndReason, before_id: int, user_id: str | None) -> bool:
        """End what answers a message before this one, of one person (None: of anybody); whether such a turn is at work.

        In CLAIMING it is told as soon as it runs, in RUNNING at once, in FINISHING it ends as it is about to. What has
        not begun yet is remembered, so that it does not run.
        """
        self._before[user_id] = max(before_id, self._before.get(user_id, 0))
        if not self._is_covered():
            return False
        self._interrupt(reason)
        return True

    def abandon(self) -> None:
        """End what runs: it is another process's."""
        self._interrupt(EndReason.STOPPED)

    def interrupt(self, row: InboxRow) -> None:
        """Cancel the running turn for its person's new message; a turn that starts later finds it in the mailbox."""
        turn = None if self.claimed is None else self.claimed.turn
        if turn is not None and turn.user_id == row.user_id and turn.address == row.event.address:
            self._interrupt(EndReason.STOPPED)

    def _is_covered(self) -> bool:
        if self.claimed is None:
            return False
        cancelled_before = max(self._before.get(None, 0), self._before.get(self.claimed.turn.user_id, 0))
        return self.claimed.first_id < cancelled_before

    def _interrupt(self, reason: EndReason) -> None:
        if self.state is TurnState.RUNNING and self.cancelled is None and self._on_cancel is not None:
            self.cancelled = reason
            self._on_cancel(reason)

    def _enter(self, state: TurnState, *sources: TurnState) -> None:
        if self.state not in sources:
            raise RuntimeError(f"a turn cannot go from {self.state.value} to {state.value}")
        self.state = state
