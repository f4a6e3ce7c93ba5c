"""A conversation that has grown long is condensed between its turns, beside whatever comes next; its person is told.

`agent.context` decides what is condensed and how. A message that comes meanwhile is answered with all that was
said; the summary holds from the turn on that begins after it. A failure leaves everything as it was, for another try.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from agent.context.window import condense_ended, is_long
from agent.errors import Fenced
from agent.ports import ModelRequest, Principal, Spent, Summary, Turn
from channels.base import Channel
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.errors import StoreUnavailable
from gateway.failpoints import failpoint
from gateway.sessions import commits
from gateway.sessions.commits import CostsBeside
from gateway.sessions.deps import SessionContext, SessionDeps
from gateway.sessions.turn_lifecycle import Claim
from gateway.store.causes import Notice
from gateway.store.children import SUBAGENT
from gateway.telemetry import SUMMARIES, series

log = structlog.get_logger()

TURNS_BETWEEN_TRIES = 5
"""After a summary that failed, however it did."""


@dataclass(frozen=True, slots=True)
class SummaryKeeper:
    """Keeps the summaries that turns of one person make, and says so in their chat."""

    deps: SessionDeps
    session: SessionContext
    channel: Channel
    claim: Claim
    locale: str | None

    def still_fits(self, before: Summary | None) -> bool:
        """Return True if notes made beside turns are still current: no turn made newer ones, and the conversation is
        the same.
        """
        turn, conversation = self.claim.turn, self.session.conversation
        known = conversation.recall(turn.session_id, turn.user_id)
        return conversation.is_living(turn.session_id) and known.summary == before

    async def keep(self, summary: Summary, responses: Sequence[Spent]) -> None:
        """Replace the summary before, record its cost, and tell the chat the first time, in one commit.

        Raises:
            Fenced: another process owns the session now; nothing was written.
        """
        turn = self.claim.turn
        key, count = (
            ("answer.left_out", summary.left_out) if summary.left_out else ("answer.condensed", summary.condensed)
        )
        said = OutboundMessage(
            turn.address,
            Notice("summary", turn.id),
            self.deps.shown.texts.text(self.locale, key, count=count),
            reply_route_of=self.claim.answers,
            locale=self.locale,
        )
        keep = partial(
            commits.keep_summary,
            fence=self.session.fence,
            turn=turn,
            summary=summary,
            costs=CostsBeside(responses),
            parts=to_parts(self.channel, said) if turn.kind != SUBAGENT else (),
            clock=self.deps.process.clocks.now,
        )
        before = self.session.conversation.recall(turn.session_id, turn.user_id).summary
        is_made = summary.condensed > (0 if before is None else before.condensed)
        failpoint("summary_pre")
        await self.deps.store.commit(keep)
        self.session.conversation.summarise(turn.session_id, turn.user_id, summary)
        series(SUMMARIES, "notes" if is_made else "left_out").inc()

    async def note_cost(self, responses: Sequence[Spent]) -> None:
        """Count what was spent on a summary that is not kept.

        Raises:
            Fenced: another process owns the session now; nothing was written.
        """
        fence, turn, clock = self.session.fence, self.claim.turn, self.deps.process.clocks.now
        note = partial(commits.note_cost, fence=fence, turn=turn, costs=CostsBeside(responses), clock=clock)
        await self.deps.store.commit(note)


class Condenser:
    """Condenses one session's conversation, one summary at a time."""

    def __init__(self, deps: SessionDeps, tasks: asyncio.TaskGroup) -> None:
        """Nothing is done before a turn has ended."""
        self._deps = deps
        self._tasks = tasks
        self._is_at_work = False
        self._turns_to_wait = 0

    def consider(self, session: SessionContext, claim: Claim, principal: Principal, channel: Channel) -> None:
        """Condense the beginning of the person's next turn, if it is long."""
        self._turns_to_wait -= 1
        if self._is_at_work or self._turns_to_wait > 0:
            return
        agent, turn = self._deps.in_force.of(session.key), claim.turn
        known = session.conversation.recall(turn.session_id, turn.user_id)

        def without_talk() -> ModelRequest:
            hints = self._deps.process.channels.hints(turn.address)
            return ModelRequest(agent.system_prompt(principal, agent.clock(), hints), (), agent.toolbox.specs)

        items = len(known.history)
        if is_long(items, known.tokens, agent.model, agent.limits, without_talk, agent.calibration):
            self._is_at_work = True
            now, hints = self._deps.process.clocks.now(), self._deps.process.channels.hints(turn.address)
            ended = Turn("", principal, known.history, (), now, hints, known.starts, known.summary)
            keeper = SummaryKeeper(self._deps, session, channel, claim, principal.locale)
            self._tasks.create_task(self._condense(ended, keeper))

    async def _condense(self, ended: Turn, keeper: SummaryKeeper) -> None:
        agent = self._deps.in_force.of(keeper.session.key)
        spent: list[Spent] = []
        self._turns_to_wait = TURNS_BETWEEN_TRIES  # unless it goes well: each try costs a call
        try:
            also = await agent.hooks.pre_compact(ended.principal)
            summary = await condense_ended(ended, agent.model, agent.limits, spent, also)
            if summary is not None:
                self._turns_to_wait = 0
            if summary is not None and keeper.still_fits(ended.summary):
                await keeper.keep(summary, spent)
            elif spent:
                await keeper.note_cost(spent)
        except (Fenced, StoreUnavailable) as lost:
            log.warning("summary_not_kept", error=str(lost))
        finally:
            self._is_at_work = False
