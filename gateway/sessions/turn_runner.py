"""Runs one turn to its end: attempts it, resumes it from its journal if it broke, apologises after the last attempt.

`journaled_turn` decides what the turn may touch, the agent what it does, and the session which message comes next.
"""

import asyncio
from functools import partial

import structlog

from agent.consent import TurnParked
from agent.errors import Fenced
from agent.foreign_code import contain_exits
from agent.ports import Principal, Turn, TurnPorts
from agent.transcript import EndReason
from gateway.failpoints import failpoint
from gateway.sessions import commits
from gateway.sessions.budgets import note_spender
from gateway.sessions.condensing import Condenser
from gateway.sessions.deps import SessionContext, SessionDeps
from gateway.sessions.inbox_rules import is_missed, missed_text
from gateway.sessions.journaled_turn import JournaledTurn
from gateway.sessions.turn import ClaimedTurn
from gateway.sessions.turn_limit import MAX_ATTEMPTS
from gateway.store import approvals, inbox, journal
from gateway.store.journal import TurnRow

log = structlog.get_logger()


class TurnRunner:
    """Runs the turns of one session, one at a time."""

    def __init__(self, deps: SessionDeps, session: SessionContext, tasks: asyncio.TaskGroup) -> None:
        self._deps = deps
        self._process = deps.process
        self._store = deps.store
        self._session = session
        self._condenser = Condenser(deps, session, tasks)

    async def run(self, turn: TurnRow, claimed: ClaimedTurn | None) -> None:
        """Run a turn to its end; an unexpected error begins it again from its journal, a few times.

        Without `claimed` it is one of an earlier process, read from its journal.
        """
        attempts = 0
        while attempts <= MAX_ATTEMPTS:
            attempts += 1
            try:
                if claimed is None:
                    claimed = await self._read(turn)
                    self._session.turn.claim(claimed)
                attempts = max(attempts, claimed.attempts)
                with contain_exits():
                    await self._attempt(claimed, gives_up=attempts > MAX_ATTEMPTS)
            except TurnParked:
                log.info("turn_parked", turn_id=turn.id)
            except Fenced as fenced:
                log.error("turn_fenced", session=self._session.key, error=str(fenced))
                self._session.conversation.forget()
                self._process.ownership.note_fenced()
            except Exception:  # noqa: BLE001  one turn: recorded here, begun again, told after three times
                log.exception("turn_broken", attempts=attempts)
                claimed = None
                self._session.turn.retry()
                continue
            return
        log.error("turn_abandoned", session=self._session.key)

    async def _read(self, turn: TurnRow) -> ClaimedTurn:
        """Count an attempt at a turn that was begun before, and read its journal."""
        store, conversation = self._store, self._session.conversation
        attempts = await store.commit(commits.count_attempt, self._session.fence, turn.id)
        await conversation.reload()
        next_seq = await store.read(partial(journal.next_seq, session_id=turn.session_id), lasting=True)
        conversation.number_from(turn.session_id, next_seq)
        rows = await store.read(partial(inbox.rows_of_turn, turn_id=turn.id), lasting=True)
        events = await store.read(partial(journal.events_of_turn, turn_id=turn.id), lasting=True)
        waited = await store.read(partial(approvals.waiting_time, turn_id=turn.id), lasting=True)
        first_id, event = rows[0]
        if await store.read(partial(inbox.is_settled, id_=first_id), lasting=True):
            # `/stop` was committed, the turn's own end was not
            self._session.turn.cancel(EndReason.STOPPED, first_id + 1, turn.user_id)
        answers = first_id if inbox.route_of(event) is not None else None
        message_id = getattr(event, "message_id", None)
        return ClaimedTurn(turn, first_id, message_id, answers, events, attempts, resumed=True, waited=waited)

    async def _attempt(self, claimed: ClaimedTurn, *, gives_up: bool) -> None:
        deps, turn, conversation = self._deps, claimed.turn, self._session.conversation
        texts = deps.shown.texts
        principal = self._process.people.principal(turn.user_id) or Principal(turn.user_id, turn.tenant)
        note_spender(turn, principal)
        channel = await self._process.channels.when_loaded(turn.address)
        log.debug("turn_started", kind=turn.kind, attempt=claimed.attempts, resumed=claimed.resumed)
        async with JournaledTurn(deps, self._session, channel, claimed, principal) as port:
            if gives_up:
                broken = texts.text(principal.locale, "answer.broken")
                await port.finish(EndReason.MODEL_ERROR, broken, None, broken)
            elif is_missed(behind := claimed.time_since_start(self._process.clocks.now()), deps.config):
                missed = missed_text(texts, behind, principal.locale)
                await port.finish(EndReason.TIMEOUT, missed, None, missed)
            else:
                failpoint("model_asked")
                await conversation.load()  # it may have been told to forget what it knew
                hints = self._process.channels.hints(turn.address)
                known = conversation.recall(turn.session_id, turn.user_id, turn.id)
                asked = Turn(
                    turn.id,
                    principal,
                    known.history,
                    claimed.events,
                    turn.started_at,
                    hints,
                    known.starts,
                    known.summary,
                    conversation.prefix,
                    conversation.pieces,
                    known.tokens,
                )
                await deps.turns_of[turn.kind](asked, TurnPorts(port, port, port), deps.in_force.agent)
        conversation.note_ended(turn.session_id, turn.user_id, turn.id, port.events)
        self._condenser.consider(claimed, principal, channel)
