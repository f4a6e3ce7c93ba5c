"""The running gateway as the process of the operators' service, and its start-up work about people."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import structlog

from channels.clocks import steady_now
from channels.messages import Address, Button, InboundEvent
from gateway.access import tickets
from gateway.access.agents import AgentChoice
from gateway.access.buttons import SealedButtons
from gateway.access.policy import AccessSnapshot
from gateway.commands.linking import LinkDeps
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.errors import GatewayError
from gateway.inbound.manager import ChannelManager
from gateway.inbound.owner_cards import OwnerCards
from gateway.inbound.reception import take_up
from gateway.operators.models import BotLink, ConsoleLink, Reloaded, RotatedKeys, Status, Stopping, TriedModel
from gateway.operators.process import AccessChange, ReplayedRun
from gateway.operators.replay_models import ReplayWish
from gateway.operators.service import Operators
from gateway.ops.key_rotation import KeyRotation
from gateway.ops.model_trials import ModelTrials
from gateway.ops.status import GatewayStatus
from gateway.shared import Shared
from gateway.store import chats, erasure, groups, outbox, people
from gateway.store.causes import Notice
from gateway.store.engine import Connection, Store
from gateway.store.inbox import InboxRow
from gateway.store.people import Person
from gateway.store.recorded import StoredTurn
from gateway.store.tickets import Ticket

log = structlog.get_logger()

EXPIRE_S = 60.0


class Links(Protocol):
    """The maker of links to invitations and to the console."""

    async def bot_links(self, code: str, tenant: str) -> Sequence[BotLink]:
        """Return the links that open the tenant's bots with a code."""
        ...

    async def console_link(self, by: str) -> ConsoleLink:
        """Return a link that opens the console once for this actor."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessParts:
    """The parts of a running gateway that operators use, beside the shared ones."""

    status: GatewayStatus
    rotation: KeyRotation
    trials: ModelTrials
    links: Links
    reload_trust: Callable[[], Awaitable[None]]
    """Reads what operators trust."""
    replay: Callable[[StoredTurn, ReplayWish], Awaitable[ReplayedRun]]
    """Runs a recorded turn again."""
    reload: Callable[[], Awaitable[Reloaded]] | None = None
    """Applies the configuration; None for one tenant, which has no configuration file of its own."""
    change_setting: Callable[[str, str], Awaitable[Reloaded]] | None = None
    """Changes a setting in its file and applies it; None as `reload`."""
    stop: Callable[[], Stopping] | None = None
    """Begins the gateway's stop; None as `reload`."""


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """A running gateway, as the operators' service uses it."""

    agents: AgentChoice
    shared: Shared
    parts: ProcessParts

    @property
    def people(self) -> AccessSnapshot:
        return self.shared.people

    def everybody(self, tenant: str | None) -> Sequence[Person]:
        return self.shared.people.everybody(tenant)

    def say(self, connection: Connection, person: Person, where: Address, text: str, cause: Notice) -> None:
        said = OutboundMessage(where, cause, text, locale=person.locale)
        _put_message(self.shared.channels, connection, person, where, said)

    def take_up(
        self, connection: Connection, said: InboundEvent | None, person: Person, now: datetime
    ) -> InboxRow | None:
        return take_up(connection, said, person, now, self.agents)

    def show_verdict(self, connection: Connection, asked: Ticket, what: str, by: str) -> None:
        self._cards(connection).show_verdict(asked, what, by)

    def show_allowed(self, connection: Connection, group_id: str, by: str) -> None:
        self._cards(connection).show_allowed(group_id, by)

    def _cards(self, connection: Connection) -> OwnerCards:
        return OwnerCards(connection, self.shared.channels.now_loaded, steady_now())

    def announce(self, change: AccessChange) -> None:
        shared = self.shared
        if change.person is not None:
            shared.people.put(change.person)
        if change.row is not None:
            shared.bus.publish(change.row)
        elif change.person is not None:
            shared.bus.reread()  # an earlier attempt of this commit may have admitted a row without our knowing
        shared.sessions.parking.release(change.unparked)

    async def status(self, tenant: str | None) -> Status:
        return await self.parts.status.of(tenant).status(steady_now())

    async def reload(self) -> Reloaded:
        if self.parts.reload is None:
            raise GatewayError("all tenants share one configuration: reload it without --tenant")
        return await self.parts.reload()

    async def change_setting(self, key: str, text: str) -> Reloaded:
        if self.parts.change_setting is None:
            raise GatewayError("all tenants share one configuration: change it without --tenant")
        return await self.parts.change_setting(key, text)

    async def rotate_keys(self) -> RotatedKeys:
        return await self.parts.rotation.rotate()

    async def reload_trust(self) -> None:
        await self.parts.reload_trust()

    def stop(self) -> Stopping:
        if self.parts.stop is None:
            raise GatewayError("all tenants share one gateway: stop it without --tenant; `tenk pause` takes a tenant")
        return self.parts.stop()

    async def reload_pauses(self, tenant: str) -> bool:
        pauses = self.shared.sessions.turn_limit.pauses
        await pauses.load()
        return pauses.of(tenant) is not None

    async def try_model(self, model: str) -> TriedModel:
        return await self.parts.trials.attempt(model)

    async def replay(self, turn: StoredTurn, wish: ReplayWish) -> ReplayedRun:
        return await self.parts.replay(turn, wish)

    async def bot_links(self, code: str, tenant: str) -> Sequence[BotLink]:
        return await self.parts.links.bot_links(code, tenant)

    async def console_link(self, by: str) -> ConsoleLink:
        return await self.parts.links.console_link(by)


def operators_of(store: Store, agents: AgentChoice, shared: Shared, parts: ProcessParts) -> Operators:
    """Make the operators' service on this store. It tells sessions and lanes about each change."""
    return Operators(store, shared.secrets.key, steady_now, RunningProcess(agents, shared, parts))


def _put_message(
    manager: ChannelManager, connection: Connection, person: Person, where: Address, said: OutboundMessage
) -> None:
    channel = manager.now_loaded(where)
    if channel is None:
        raise GatewayError(f"the channel {where.channel}:{where.account} is not running; see `tenk status`")
    outbox.put(connection, person.tenant, to_parts(channel, said), steady_now())


def link_deps(shared: Shared) -> LinkDeps:
    """Make the dependencies of linking. Sessions are told about each step after its commit."""

    def tell(
        connection: Connection, person: Person, where: Address, cause: Notice, text: str, buttons: Sequence[Button]
    ) -> None:
        said = OutboundMessage(where, cause, text, buttons=tuple(buttons), locale=person.locale)
        _put_message(shared.channels, connection, person, where, said)

    def announce(people: Sequence[Person], unparked: Sequence[str]) -> None:
        for person in people:
            shared.people.put(person)
        shared.sessions.forget_all()  # owners of conversations have changed
        shared.sessions.parking.release(unparked)

    seals = SealedButtons(shared.secrets.keys.buttons)
    return LinkDeps(shared.secrets.key, seals, tell, announce)


def expire_requests(connection: Connection) -> None:
    """Expire overdue requests, invitations and links, and delete those that ended long ago."""
    now = steady_now()
    tickets.expire(connection, now)
    tickets.forget(connection, now)
    groups.forget_kept(connection, before=now - groups.KEPT_FOR)


async def load_people(snapshot: AccessSnapshot, store: Store, key: bytes) -> None:
    """Load people, groups, moved chats and recently deleted senders into the snapshot."""
    snapshot.replace(await store.read(people.everybody))
    snapshot.begin(key, await store.read(erasure.lately))
    for channel, old_chat, new_chat in await store.read(chats.load_moves):
        snapshot.chat_moved(channel, old_chat, new_chat)
    for group in await store.read(groups.GROUPS.find):
        snapshot.put_group(group)
