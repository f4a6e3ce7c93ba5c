"""One turn of a session to its end: attempted, taken up from its journal where it broke, apologised for after that.

What the turn may touch is `turn`'s matter, what it does the agent's; which message comes next is the session's.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

import structlog

from agent.answers import still_working
from agent.errors import Fenced
from agent.ports import Principal, Turn
from agent.transcript import EndReason, answer_text
from gateway.delivery.compose import Said
from gateway.delivery.drafts import LiveAnswer
from gateway.failpoints import failpoint
from gateway.sessions.rows import joins, missed, missed_text
from gateway.sessions.shared import SessionTools
from gateway.sessions.stops import Stops
from gateway.sessions.trials import Admitted
from gateway.sessions.turn import Begun, RunningTurn, Surroundings
from gateway.store import attempts, inbox, journal
from gateway.store.inbox import InboxRow
from gateway.store.journal import Fence, TurnRow
from gateway.telemetry import TURNS_RUNNING

log = structlog.get_logger()

MAX_ATTEMPTS = 3
"""Times a turn that breaks by itself is begun; after that it is failed and the person is told.

How often the process died around it is counted apart: see `gateway.sessions.trials`.
"""


class Owner(Surroundings, Protocol):
    """The session whose turns are run."""

    key: str


class TurnRunner:
    """Runs the turns of one session, one at a time, and knows which is to stop."""

    def __init__(self, tools: SessionTools, session: Owner, fence: Fence) -> None:
        self._tools = tools
        self._store = tools.turns.store
        self._session = session
        self._fence = fence
        self._stops = Stops()
        self.begun: Begun | None = None  # what is answered now, from its claim on
        self.turn: RunningTurn | None = None

    def takes(self, row: InboxRow) -> bool:
        """Whether a turn runs that a message joins."""
        return self.turn is not None and self.turn.steers and joins(row, self.turn.begun.turn)

    def stop(self, reason: EndReason, before_id: int, user_id: str | None) -> bool:
        """Ask the turn that answers an earlier message of a person (None: of anybody) to end; False: there is none."""
        self._stops.add(before_id, user_id)
        if self.begun is None or not self._stops.cover(self.begun.first_id, self.begun.turn.user_id):
            return False
        if self.turn is not None:
            self.turn.stop(reason)
        return True

    async def run(self, turn: TurnRow, begun: Begun | None, admitted: Admitted) -> None:
        """Run a turn to its end; an unexpected error begins it again from its journal, a few times."""
        attempts = min(turn.attempts, MAX_ATTEMPTS)  # one that was abandoned is apologised for at the next start
        broke = False
        while attempts <= MAX_ATTEMPTS + 1:
            try:
                begun = self.begun = begun or await self._take_up(turn, broke=broke)
                attempts = begun.turn.attempts
                with TURNS_RUNNING.track_inprogress():
                    await self._attempt(begun, admitted)
            except Fenced as fenced:
                log.error("turn_fenced", turn_id=turn.id, session=self._session.key, error=str(fenced))
                self._session.conversation.forget()
            except Exception:  # noqa: BLE001  one turn: recorded here, begun again, told after three times
                log.exception("turn_broken", turn_id=turn.id, attempts=attempts)
                attempts += 1
                begun, broke = None, True
                continue
            return
        log.error("turn_abandoned", turn_id=turn.id, session=self._session.key)

    async def _take_up(self, turn: TurnRow, *, broke: bool) -> Begun:
        """Read what the turn had come to; an attempt that broke it is counted."""
        attempts = turn.attempts
        if broke:
            attempts = await self._store.write(partial(journal.count_attempt, turn_id=turn.id))
        await self._session.conversation.reload()
        next_seq = await self._store.read(partial(journal.next_seq, session_id=turn.session_id), lasting=True)
        self._session.conversation.number_from(turn.session_id, next_seq)
        rows = await self._store.read(partial(inbox.rows_of_turn, turn_id=turn.id), lasting=True)
        events = await self._store.read(partial(journal.events_of_turn, turn_id=turn.id), lasting=True)
        first_id, event = rows[0]
        if await self._store.read(partial(inbox.is_settled, id_=first_id), lasting=True):
            self._stops.add(first_id + 1, turn.user_id)  # `/stop` was committed, the turn's own end was not
        answers = first_id if inbox.route_of(event) is not None else None
        message_id = getattr(event, "message_id", None)
        return Begun(replace(turn, attempts=attempts), first_id, message_id, answers, events, resumed=True)

    async def _attempt(self, begun: Begun, admitted: Admitted) -> None:
        if not begun.resumed:
            failpoint("claim_post")
        tools, turn = self._tools, begun.turn
        principal = tools.people.principal(turn.user_id) or Principal(turn.user_id, turn.tenant)
        channel = await tools.channels.loaded(turn.address)
        answer = Said(turn.address, turn.id, "", turn.reply_to, answers=begun.answers)
        live = LiveAnswer(tools.live, channel, turn.tenant, answer, still_working(principal.locale))
        port = RunningTurn(tools.turns, self._session, channel, live, begun, self._fence, principal)
        port.steers = self._session.conversation.mode == "steer" and admitted is Admitted.BESIDE
        self.turn = port
        if self._stops.cover(begun.first_id, turn.user_id):
            port.stop(EndReason.STOPPED)
        try:
            live.start(begun.message_id, await self._standing(begun))
            live.go_on_from(answer_text(begun.events))
            if turn.attempts > MAX_ATTEMPTS or admitted is Admitted.GIVEN_UP:
                await port.finish(EndReason.MODEL_ERROR, tools.sorry(principal), None)
            elif missed(turn.started_at, now := tools.turns.clock(), tools.config):
                await port.finish(EndReason.TIMEOUT, missed_text(now - turn.started_at), None)
            else:
                failpoint("model_asked")
                hints = tools.channels.hints(turn.address)
                history = self._session.conversation.history_of(turn.session_id, turn.user_id)
                await tools.agents[turn.kind](
                    Turn(turn.id, principal, history, begun.events, turn.started_at, hints), port
                )
        finally:
            self.turn = None
            live.cancel()
        self._session.conversation.remember(turn.session_id, turn.user_id, port.events)

    async def _standing(self, begun: Begun) -> Sequence[attempts.Standing]:
        if not begun.resumed:
            return ()
        return await self._store.read(partial(attempts.standing_of, cause=begun.turn.id), lasting=True)
