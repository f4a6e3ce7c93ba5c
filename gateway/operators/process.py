"""The process that the operators' service runs in: a part of its commits, what follows them, and its own state."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from channels.messages import Address, InboundEvent
from gateway.access.policy import AccessSnapshot
from gateway.errors import GatewayError
from gateway.operators.models import BotLink, ConsoleLink, Reloaded, RotatedKeys, Status
from gateway.store.engine import Connection
from gateway.store.inbox import InboxRow
from gateway.store.people import Person
from gateway.store.tickets import Ticket


@dataclass(frozen=True, slots=True)
class AccessChange:
    """What a commit changed, for sessions, lanes and the snapshot of people."""

    person: Person | None = None  # as they are now
    told: Sequence[Address] = ()  # chats with new parts in the outbox
    row: InboxRow | None = None  # an earlier message of theirs, admitted now
    unparked: Collection[str] = ()  # turns that waited for a word that nobody gives any more


class OperatedProcess(Protocol):
    """What the service needs of a running gateway, or of a process without one."""

    @property
    def people(self) -> AccessSnapshot:
        """The snapshot of people, which also marks the senders who were forgotten."""
        ...

    def everybody(self, tenant: str | None) -> Sequence[Person] | None:
        """Return every person from memory; None if only the store knows them."""
        ...

    def say(self, connection: Connection, person: Person, where: Address, text: str, cause: str) -> None:
        """Put a message, in Markdown, into the outbox within a commit; the same cause again adds none.

        Raises:
            GatewayError: nothing can be said there now.
        """
        ...

    def take_up(
        self, connection: Connection, said: InboundEvent | None, person: Person, now: datetime
    ) -> InboxRow | None:
        """Admit within a commit what a person said while they waited; return the row, None if nothing is kept."""
        ...

    def show_verdict(self, connection: Connection, asked: Ticket, what: str, by: str) -> Sequence[Address]:
        """Show what became of a request (approved, denied, blocked) where owners were asked; return these chats."""
        ...

    def show_allowed(self, connection: Connection, group_id: str, by: str) -> Sequence[Address]:
        """Show who allowed a group where operators were asked whether it may be; return these chats."""
        ...

    def announce(self, change: AccessChange) -> None:
        """Tell sessions and lanes of a change, after its commit and in the order of commits."""
        ...

    async def status(self, tenant: str | None) -> Status | None:
        """Return the status of a tenant, or of the whole gateway; None if no gateway runs here."""
        ...

    async def reload(self) -> Reloaded:
        """Read the configuration and apply it."""
        ...

    async def rotate_keys(self) -> RotatedKeys:
        """Encrypt every secret of the database under a new key."""
        ...

    def end_cooldown(self, model: str) -> bool:
        """End the cooldown of a model; return whether there was one."""
        ...

    async def bot_links(self, code: str, tenant: str) -> Sequence[BotLink]:
        """Return the links that bring a code to the tenant's bots."""
        ...

    async def console_link(self, by: str) -> ConsoleLink:
        """Return a link that opens the console once for this actor."""
        ...


class DetachedProcess:
    """A process without a gateway: it says nothing to people and has nobody to tell of changes."""

    def __init__(self, people: AccessSnapshot | None = None) -> None:
        self.people = people or AccessSnapshot()

    def everybody(self, _tenant: str | None) -> Sequence[Person] | None:
        return None

    def say(self, connection: Connection, person: Person, where: Address, text: str, cause: str) -> None:
        pass

    def take_up(
        self, _connection: Connection, _said: InboundEvent | None, _person: Person, _now: datetime
    ) -> InboxRow | None:
        return None

    def show_verdict(self, _connection: Connection, _asked: Ticket, _what: str, _by: str) -> Sequence[Address]:
        return ()

    def show_allowed(self, _connection: Connection, _group_id: str, _by: str) -> Sequence[Address]:
        return ()

    def announce(self, change: AccessChange) -> None:
        pass

    async def status(self, _tenant: str | None) -> Status | None:
        return None

    async def reload(self) -> Reloaded:
        raise GatewayError("no gateway runs here: it reads the configuration when it starts")

    async def rotate_keys(self) -> RotatedKeys:
        raise GatewayError("this process does not have the database's keys")

    def end_cooldown(self, _model: str) -> bool:
        return False

    async def bot_links(self, _code: str, _tenant: str) -> Sequence[BotLink]:
        return ()

    async def console_link(self, _by: str) -> ConsoleLink:
        raise GatewayError("no gateway runs here, and the console is a page of its own")
