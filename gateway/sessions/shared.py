"""What every session of a gateway shares, and what it needs of the people and the channels. Nothing happens here."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from agent.ports import Principal, Turn, TurnPort
from agent.transcript import EndReason
from channels.base import Channel
from channels.messages import Address
from gateway.delivery.growing import LiveTools
from gateway.sessions.config import SessionsConfig
from gateway.sessions.mailbox import KindOf
from gateway.sessions.signs import Reacts
from gateway.sessions.trials import Trials
from gateway.sessions.turn import TurnTools

RunTurn = Callable[[Turn, TurnPort], Awaitable[EndReason]]
"""What runs one kind of turn: `agent.loop.run_turn` with its agent."""


class People(Protocol):
    """Who a user is now."""

    def principal(self, user_id: str) -> Principal | None:
        """The person; None where they may not command the bot any more."""
        ...


class Channels(Reacts, Protocol):
    """What a session needs of the channels."""

    async def loaded(self, address: Address) -> Channel:
        """The channel of an address, as soon as it is loaded."""
        ...

    def configured(self, address: Address) -> bool:
        """Whether the account of an address is configured."""
        ...

    def hints(self, address: Address) -> str:
        """How text is formatted there, for the model."""
        ...


@dataclass(frozen=True, slots=True)
class SessionTools:
    """What every session of a gateway shares."""

    config: SessionsConfig
    turns: TurnTools
    live: LiveTools
    channels: Channels
    people: People
    agents: Mapping[str, RunTurn]  # by kind of turn
    kind_of: KindOf
    trials: Trials  # what every turn passes before it begins
    epoch: int
    sorry: Callable[[Principal], str]  # what a person reads when a turn failed for good
