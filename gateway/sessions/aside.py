"""A question beside the turn (`/btw`): answered from a snapshot of the conversation, and never part of it.

The same loop runs with tools that only read, over a journal in memory. Only what it cost is kept.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from agent.fallbacks import ResponseDiscarded
from agent.ports import LocalEffect, Principal, Spent, Summary, Turn, TurnPorts
from agent.tools.base import Effect
from agent.transcript import (
    EndReason,
    Item,
    JournalEvent,
    ModelResponded,
    NoteItem,
    ToolReturned,
    TurnStarted,
    UserItem,
    fold,
)
from agent.unattended import NoConsents, NoWatchers
from channels.messages import CommandInvoked, InboundEvent, InboundMessage
from gateway.inbound.session_key import in_session
from gateway.sessions.budgets import note_spender
from gateway.sessions.deps import SessionContext, SessionDeps
from gateway.sessions.inbox_rules import CHAT, new_turn
from gateway.sessions.prompt_hooks import MessageRefusal
from gateway.store import journal, usage
from gateway.store.inbox import InboxRow
from gateway.store.journal import TurnRow
from gateway.store.outbox import files_of

ASIDE_S = 90.0
"""The time limit of such a question."""

BESIDE = NoteItem(
    "What stands above is a copy of the conversation; its last turn may still be at work. The next message is a "
    "question beside it: answer that alone and briefly. It is no part of the conversation; nothing may be changed."
)


async def answer_aside(
    deps: SessionDeps, session: SessionContext, row: InboxRow, question: str, principal: Principal
) -> str:
    """Return the answer to a question beside the turn, or the reason for a refusal. It changes nothing."""
    channel = await deps.process.channels.when_loaded(row.event.address)
    item = await deps.user_items.build(_as_said(row.event, question), channel)
    if isinstance(item, MessageRefusal):
        return item.told.text(deps.shown.texts, principal.locale)
    state = await session.conversation.load()
    turn = new_turn(row, state.id, CHAT, deps.process.clocks.now())
    known = session.conversation.recall(state.id, row.user_id)
    history = (*known.history, *await _said_in_turn(deps, session, row.user_id), BESIDE)
    agent = deps.in_force.of(session.key)
    readers = [tool for tool in agent.tools if tool.effect is Effect.NONE]
    limits = agent.limits.model_copy(update={"deadline_s": min(ASIDE_S, agent.limits.deadline_s)})
    principal = in_session(principal, session.key)
    note_spender(turn, principal)
    started = TurnStarted((item,))
    aside = AsideJournal(deps, turn, started)
    ports = TurnPorts(aside, NoConsents(), NoWatchers())
    hints = deps.process.channels.hints(turn.address)
    asked = Turn(
        turn.id,
        principal,
        history,
        (started,),
        turn.started_at,
        hints,
        known.starts,
        known.summary,
        permissions=session.conversation.permissions_of(state.id, row.user_id),
        memory=await deps.memory_of(session.key).read_memory(principal),
    )
    await deps.turns_of[CHAT](asked, ports, replace(agent, tools=readers, limits=limits))
    return deps.process.scrubber.last_look(aside.said).strip()


async def _said_in_turn(deps: SessionDeps, session: SessionContext, user_id: str) -> Sequence[Item]:
    """Return the state of the running turn, if it is the same person's."""
    turn = session.running_turn_of(user_id)
    if turn is None:
        return ()
    return fold(await deps.store.read(partial(journal.events_of_turn, turn_id=turn.id), lasting=True))


def _as_said(event: InboundEvent, question: str) -> InboundEvent:
    """Return the command as a message with nothing but the question."""
    if isinstance(event, InboundMessage):
        return replace(event, text=question)
    if not isinstance(event, CommandInvoked):
        raise TypeError(f"no question comes with a {event.type}")
    return InboundMessage(
        event_id=event.event_id,
        message_id="",
        address=event.address,
        sender=event.sender,
        kind=event.kind,
        received_at=event.received_at,
        text=question,
        mentions_bot=True,
        tenant=event.tenant,
    )


class AsideJournal:
    """The journal of one question, in memory; only what it cost is kept."""

    def __init__(self, deps: SessionDeps, turn: TurnRow, started: TurnStarted) -> None:
        """Nothing was asked yet."""
        self._deps = deps
        self._turn = turn
        self.events: list[JournalEvent] = [started]
        self.said = ""

    async def record(self, *events: JournalEvent) -> None:
        """Only what it cost is kept."""
        self.events += events
        for event in events:
            if isinstance(event, ModelResponded | ResponseDiscarded):
                await self.note_cost(event)

    async def note_cost(self, response: Spent) -> None:
        """Count a model call."""
        note = partial(usage.note_call, turn=self._turn, response=response, now=self._deps.process.clocks.now())
        await self._deps.store.commit(note)

    async def apply(self, effect: LocalEffect, returned: ToolReturned) -> ToolReturned:
        """No tool that only reads has an effect."""
        raise RuntimeError(f"a question beside the turn changes nothing: {effect}")

    async def steer(self, step: int, overtaken: Sequence[ToolReturned]) -> tuple[UserItem, ...]:
        return ()

    async def keep_summary(self, summary: Summary, responses: Sequence[Spent]) -> None:
        """Count what the notes cost; they are not kept."""
        for response in responses:
            await self.note_cost(response)

    def scrub(self, text: str) -> str:
        return self._deps.process.scrubber.scrub(text)

    async def whole_result(self, handle: str) -> str | None:
        """As in any turn of this conversation and person."""
        turn = self._turn
        look = partial(journal.whole_result, session_id=turn.session_id, user_id=turn.user_id, call_key=handle)
        return await self._deps.store.read(look)

    async def load_pictures(self, ids: Sequence[str]) -> dict[str, bytes]:
        """As in any turn of this conversation."""
        return await self._deps.store.read(partial(files_of, ids=ids), lasting=True)

    def steering_waits(self, *, by_person: bool = False) -> bool:
        return False

    async def finish(
        self,
        reason: EndReason,
        text: str,
        response: ModelResponded | None,
        note: str = "",
        *,
        busy_s: float | None = None,
        why: str = "",
    ) -> bool:
        if response is not None:
            await self.record(response)
        self.said = text
        return True
