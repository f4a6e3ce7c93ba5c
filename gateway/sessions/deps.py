"""The objects that sessions share, in a process (`ProcessDeps`) and in a tenant (`SessionDeps`); and what of a session
its turns see (`SessionContext`).
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from agent.catalogue import Catalogue
from agent.loop import Agent, run_turn
from agent.memory.memory import MEMORY
from agent.ports import Principal, Turn, TurnEvent, TurnPorts
from agent.read_only_turn import run_read_only
from agent.schedules.prompts import SCHEDULE
from agent.transcript import EndReason, JournalEvent
from channels.clocks import Clocks
from channels.messages import Address
from gateway.delivery.delivery import Delivery
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.delivery.live_answer import LiveDeps
from gateway.inbound.session_key import agent_of, in_session
from gateway.ownership import Ownership
from gateway.safety.output import Scrubber
from gateway.sessions.config import SessionsConfig
from gateway.sessions.conversation import Conversation
from gateway.sessions.inbox_rules import CHAT, RowClassifier
from gateway.sessions.mailbox import Mailbox
from gateway.sessions.parking import Parking
from gateway.sessions.presses import SuggestedReplies
from gateway.sessions.prompt_hooks import NO_MEMORY, HeardItems, MemoryPort
from gateway.sessions.questions import Questions
from gateway.sessions.signs import StatusReactions
from gateway.sessions.turn_lifecycle import Cancellations
from gateway.sessions.turn_limit import TurnLimit
from gateway.store.children import READING
from gateway.store.engine import Store
from gateway.store.erasure import Forgotten
from gateway.store.journal import Fence, TurnRow
from gateway.store.people import Person
from gateway.store.schedules import HEARTBEAT, SCHEDULED

RunTurn = Callable[[Turn, TurnPorts, Agent], Awaitable[EndReason]]
"""A function that runs one kind of turn to its end, such as `agent.loop.run_turn`."""


async def run_scheduled(turn: Turn, ports: TurnPorts, agent: Agent) -> EndReason:
    """Run a turn that a schedule has started: it makes no schedules, and rules for people's words never answer it."""
    tools = tuple(tool for tool in agent.tools if tool.name != SCHEDULE)
    return await run_turn(turn, ports, replace(agent, is_products=False, tools=tools))


TURNS: Mapping[str, RunTurn] = {
    CHAT: run_turn,
    READING: run_read_only,
    SCHEDULED: run_scheduled,
    HEARTBEAT: run_scheduled,
}
"""Kinds of turns that every agent has."""


class PeopleDirectory(Protocol):
    """The users with access, as known in memory."""

    def principal(self, user_id: str) -> Principal | None:
        """Return the person; None if they may not command the bot any more."""
        ...

    def may_command(self, user_id: str, account: str) -> bool:
        """Return True if they may command the bot at this account (`telegram:main`)."""
        ...

    def put(self, person: Person) -> None:
        """Know this person as they are now."""
        ...

    def mark(self, tenant: str, sender_key: str) -> str:
        """Return the unreadable mark of a sender."""
        ...

    def forget(self, user_id: str, forgotten: Iterable[Forgotten]) -> None:
        """Forget this person, and remember these senders as forgotten."""
        ...


class TurnWatch(Protocol):
    """The measurements of a tenant's turns."""

    def note_event(self, event: TurnEvent) -> None:
        """Note what happens in a turn, at once."""
        ...

    def note_journaled(self, events: Iterable[JournalEvent]) -> None:
        """Note events that are durable."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessDeps:
    """The objects that the sessions and commands of all tenants share."""

    delivery: Delivery
    channels: ChannelDirectory
    people: PeopleDirectory
    clocks: Clocks
    scrubber: Scrubber
    parking: Parking
    turn_limit: TurnLimit
    ownership: Ownership  # which sessions are this process's


@dataclass(frozen=True, slots=True)
class Shown:
    """The objects that show a tenant's turns beside their answers, and measure them."""

    texts: Catalogue
    live: LiveDeps
    replies: SuggestedReplies
    questions: Questions
    signs: StatusReactions
    watch: TurnWatch
    speech_chars: int = 0  # longest answer that is spoken to people who want it; 0: none is


def _as_it_is(agent: Agent) -> Agent:
    return agent


@dataclass(slots=True, eq=False)
class AgentInForce:
    """The agents that a tenant's turns begin with."""

    agent: Agent
    """The tenant's own; it has all tools of the tenant."""
    others: Mapping[str, Agent] = field(default_factory=dict)
    """Those that files describe, by name."""
    _reshape: Callable[[Agent], Agent] = field(default=_as_it_is, init=False)

    def of(self, session_key: str) -> Agent:
        """Return the agent of a session; the tenant's own for an agent that no file describes any more."""
        return self.others.get(agent_of(session_key), self.agent) if self.others else self.agent

    def replace(self, agent: Agent, others: Mapping[str, Agent]) -> None:
        """Begin turns with these agents from now on; a running turn ends with the one it began with."""
        self.agent = self._reshape(agent)
        self.others = {name: self._reshape(other) for name, other in others.items()}

    def reshape(self, by: Callable[[Agent], Agent]) -> None:
        """Pass these agents, and those that replace them, through a function; call it once."""
        self._reshape = by
        self.replace(self.agent, self.others)

    def sees_images(self) -> bool:
        return self.agent.model.facts.sees_images


@dataclass(frozen=True, slots=True)
class SessionDeps:
    """The objects that every session of a tenant shares."""

    process: ProcessDeps
    store: Store
    config: SessionsConfig
    in_force: AgentInForce
    turns_of: Mapping[str, RunTurn]  # by kind of turn
    kinds: RowClassifier
    user_items: HeardItems
    shown: Shown

    def memory_of(self, session_key: str) -> MemoryPort:
        """Return the memory of a session's agent; an empty one if it lacks the tool."""
        has_memory = self.in_force.of(session_key).toolbox.find(MEMORY) is not None
        return self.user_items.memory if has_memory else NO_MEMORY

    def principal_of(self, turn: TurnRow, session_key: str) -> Principal:
        """Return the person of a turn as they speak in its session, also if they may not command the bot any more."""
        known = self.process.people.principal(turn.user_id) or Principal(turn.user_id, turn.tenant)
        return in_session(known, session_key)


class SessionContext(Protocol):
    """A session as its turns, and the questions beside them, see it."""

    key: str
    fence: Fence
    mailbox: Mailbox
    conversation: Conversation
    cancellations: Cancellations

    def may_command(self, user_id: str, where: Address) -> bool:
        """Return True if this person may command the bot there now."""
        ...

    def running_turn_of(self, user_id: str) -> TurnRow | None:
        """Return the running turn, if it is this person's."""
        ...
