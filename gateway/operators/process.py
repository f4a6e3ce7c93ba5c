"""The interface between the operators' service and the process it runs in."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from agent.replay.steps import TurnSteps
from channels.messages import Address, InboundEvent
from gateway.access.policy import AccessSnapshot
from gateway.errors import GatewayError
from gateway.operators.models import BotLink, ConsoleLink, Reloaded, RotatedKeys, Status, Stopping, TriedModel
from gateway.operators.replay_models import ReplayWish
from gateway.store.causes import Notice
from gateway.store.engine import Connection
from gateway.store.inbox import InboxRow
from gateway.store.people import Person
from gateway.store.recorded import StoredTurn
from gateway.store.tickets import Ticket


@dataclass(frozen=True, slots=True)
class AccessChange:
    """The changes of a commit that sessions and the snapshot of people need to know."""

    person: Person | None = None  # the changed person
    row: InboxRow | None = None  # the person's earlier message, admitted now
    unparked: Collection[str] = ()  # ids of turns whose pending approval was cancelled


@dataclass(frozen=True, slots=True)
class ReplayedRun:
    """A turn as it ran again."""

    agent: str
    model: str
    notes: tuple[str, ...]  # what the record does not keep
    run: TurnSteps


class OperatedProcess(Protocol):
    """A running gateway, or a process without one, as the service uses it."""

    @property
    def people(self) -> AccessSnapshot:
        """Return the snapshot of people, which also marks deleted senders."""
        ...

    def everybody(self, tenant: str | None) -> Sequence[Person] | None:
        """Return all people from memory, or None if only the store has them."""
        ...

    def say(self, connection: Connection, person: Person, where: Address, text: str, cause: Notice) -> None:
        """Put a Markdown message into the outbox within a commit, once per cause.

        Raises:
            GatewayError: the channel is not running.
        """
        ...

    def take_up(
        self, connection: Connection, said: InboundEvent | None, person: Person, now: datetime
    ) -> InboxRow | None:
        """Admit, within a commit, the message that a person sent while they waited. Return its row, or None."""
        ...

    def show_verdict(self, connection: Connection, asked: Ticket, what: str, by: str) -> None:
        """Show the decision about a request on the owners' cards."""
        ...

    def show_allowed(self, connection: Connection, group_id: str, by: str) -> None:
        """Show who allowed a group on the operators' cards."""
        ...

    def announce(self, change: AccessChange) -> None:
        """Tell sessions about a change, after its commit and in the order of commits."""
        ...

    async def status(self, tenant: str | None) -> Status | None:
        """Return the status of a tenant, or of the whole gateway; None if no gateway runs here."""
        ...

    async def reload(self) -> Reloaded:
        """Read the configuration and apply it."""
        ...

    async def change_setting(self, key: str, text: str) -> Reloaded:
        """Change a setting in its file and apply it; an empty text removes it."""
        ...

    async def rotate_keys(self) -> RotatedKeys:
        """Encrypt every secret of the database under a new key."""
        ...

    async def reload_trust(self) -> None:
        """Apply what operators trust now."""
        ...

    def stop(self) -> Stopping:
        """Stop the gateway after this call is answered.

        Raises:
            GatewayError: no gateway runs here, or the call is about one tenant.
        """
        ...

    async def reload_pauses(self, tenant: str) -> bool:
        """Apply pauses as they are now. Return True if this tenant's agents are paused; False if no gateway runs."""
        ...

    async def try_model(self, model: str) -> TriedModel:
        """Ask a model a short question; if it answers, end what kept the gateway from asking it.

        Raises:
            GatewayError: it is not configured, or no gateway runs here.
        """
        ...

    async def replay(self, turn: StoredTurn, wish: ReplayWish) -> ReplayedRun:
        """Run a recorded turn again, without effects.

        Raises:
            GatewayError: it cannot run again, its model did not answer, or no gateway runs here.
        """
        ...

    async def bot_links(self, code: str, tenant: str) -> Sequence[BotLink]:
        """Return the links that open the tenant's bots with a code."""
        ...

    async def console_link(self, by: str) -> ConsoleLink:
        """Return a link that opens the console once for this actor."""
        ...


class DetachedProcess:
    """A process without a gateway: it sends no messages and notifies no sessions."""

    def __init__(self, people: AccessSnapshot | None = None) -> None:
        self.people = people or AccessSnapshot()

    def everybody(self, _tenant: str | None) -> Sequence[Person] | None:
        return None

    def say(self, connection: Connection, person: Person, where: Address, text: str, cause: Notice) -> None:
        pass

    def take_up(
        self, _connection: Connection, _said: InboundEvent | None, _person: Person, _now: datetime
    ) -> InboxRow | None:
        return None

    def show_verdict(self, _connection: Connection, _asked: Ticket, _what: str, _by: str) -> None:
        pass

    def show_allowed(self, _connection: Connection, _group_id: str, _by: str) -> None:
        pass

    def announce(self, change: AccessChange) -> None:
        pass

    async def status(self, _tenant: str | None) -> Status | None:
        return None

    async def reload(self) -> Reloaded:
        raise GatewayError("no gateway is running here: it reads the configuration when it starts")

    async def change_setting(self, _key: str, _text: str) -> Reloaded:
        raise GatewayError("no gateway is running here: `tenk config set` changes settings")

    async def rotate_keys(self) -> RotatedKeys:
        raise GatewayError("this process does not have the database's keys")

    async def reload_trust(self) -> None:
        pass

    def stop(self) -> Stopping:
        raise GatewayError("no gateway is running here")

    async def reload_pauses(self, _tenant: str) -> bool:
        return False

    async def try_model(self, _model: str) -> TriedModel:
        raise GatewayError("no gateway is running here: `tenk doctor` tries the models")

    async def replay(self, _turn: StoredTurn, _wish: ReplayWish) -> ReplayedRun:
        raise GatewayError("no gateway is running here: start it, a replay asks its models")

    async def bot_links(self, _code: str, _tenant: str) -> Sequence[BotLink]:
        return ()

    async def console_link(self, _by: str) -> ConsoleLink:
        raise GatewayError("no gateway is running here to serve the console")
