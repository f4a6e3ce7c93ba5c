"""A question beside the turn (`/btw`): answered from a snapshot of the conversation, and never part of it.

The same loop runs with tools that only read, over a journal in memory. Only what it cost is kept.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from agent.ports import Principal, Turn, TurnPorts
from agent.tools.base import Effect
from agent.transcript import Item, NoteItem, TurnEnded, TurnStarted, fold
from agent.unattended import MemoryJournal, NoConsents, NoWatchers
from channels.messages import CommandInvoked, InboundEvent, InboundMessage
from gateway.inbound.session_key import in_session
from gateway.sessions.budgets import note_spender
from gateway.sessions.deps import SessionContext, SessionDeps
from gateway.sessions.inbox_rules import CHAT, new_turn
from gateway.sessions.prompt_hooks import MessageRefusal
from gateway.sessions.surroundings import StoredSurroundings
from gateway.store import journal
from gateway.store.inbox import InboxRow

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
    around = StoredSurroundings(deps.store, turn, turn, deps.process.clocks.now, deps.process.scrubber.scrub)
    aside = MemoryJournal((started,), around)
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
    ended = aside.events[-1]
    assert isinstance(ended, TurnEnded), "a turn ends with its end"
    return deps.process.scrubber.last_look(ended.text).strip()


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
