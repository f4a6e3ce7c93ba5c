"""Every session and turn of a gateway shares these, and needs this of people and channels. No behaviour."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from agent.loop import Agent
from agent.ports import LocalCommand, Principal, Turn, TurnPort
from agent.transcript import EndReason, JournalEvent
from channels.base import Channel, Sign
from channels.messages import Address
from gateway.delivery.delivery import Delivery
from gateway.delivery.growing_answer import LiveDeps
from gateway.sessions.config import SessionsConfig
from gateway.sessions.mailbox import KindOf
from gateway.sessions.presses import SuggestedReplies
from gateway.sessions.trials import Trials
from gateway.sessions.user_items import UserItemBuilder
from gateway.store.engine import Connection, Store
from gateway.store.people import Person

RunTurn = Callable[[Turn, TurnPort, Agent], Awaitable[EndReason]]
"""What takes one kind of turn to its end; `agent.loop.run_turn` is one."""

ApplyCommand = Callable[[Connection, Principal, LocalCommand, str, datetime], str]
"""Apply a local command within a commit, once a key; its result as a JSON object {"success", "data", "error"}."""


class PeopleDirectory(Protocol):
    """Who a user is now, and what became of them."""

    def principal(self, user_id: str) -> Principal | None:
        """The person; None where they may not command the bot any more."""
        ...

    def put(self, person: Person) -> None:
        """Know this person as they are now."""
        ...


class ChannelDirectory(Protocol):
    """What sessions and commands need of the channels."""

    async def when_loaded(self, address: Address) -> Channel:
        """The channel of an address, as soon as it is loaded."""
        ...

    def is_configured(self, address: Address) -> bool:
        """Whether the account of an address is configured."""
        ...

    def hints(self, address: Address) -> str:
        """How text is formatted there, for the model."""
        ...

    def react(self, address: Address, message_id: str, sign: Sign | None) -> None:
        """Show a sign, or None of them, sooner or later, if the channel can; on one message in the order of calls."""
        ...


@dataclass(frozen=True, slots=True)
class TurnDeps:
    """What every turn of a gateway shares."""

    store: Store
    delivery: Delivery
    apply: ApplyCommand
    clean: Callable[[str], str]  # model text to what a person may see
    user_items: UserItemBuilder
    clock: Callable[[], datetime]
    on_journaled: Callable[[Iterable[JournalEvent]], None]  # told of every event that is durable
    replies: SuggestedReplies


@dataclass(frozen=True, slots=True)
class SessionDeps:
    """What every session of a gateway shares."""

    config: SessionsConfig
    turns: TurnDeps
    live: LiveDeps
    channels: ChannelDirectory
    people: PeopleDirectory
    agent: Agent
    turns_of: Mapping[str, RunTurn]  # by kind of turn
    kind_of: KindOf
    trials: Trials  # what every turn passes before it begins
    epoch: int
    sorry: Callable[[Principal], str]  # what a person reads when a turn failed for good
