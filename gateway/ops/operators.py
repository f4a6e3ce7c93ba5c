"""What operators do, wired to a running gateway: the calls of the control socket, and what follows from each for
sessions, lanes and the terminal. Rules and rows are `gateway.access`'s.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import structlog
from pydantic import JsonValue

from channels.base import LinksInvites
from channels.clocks import steady_now
from channels.errors import ChannelError
from channels.messages import Address, Button
from gateway.access import invites, linking, pairing
from gateway.access.api_keys import KeyOperations
from gateway.access.buttons import SealedButtons
from gateway.access.calls import access_calls, invite_calls, key_calls
from gateway.access.codes import AccessKeys
from gateway.access.config import AccessConfig, Policy
from gateway.access.invites import FOUNDING_VALID, Terms
from gateway.access.inviting import InviteOperations
from gateway.access.operations import AccessChange, AccessDeps, AccessOperations
from gateway.access.policy import AccessSnapshot
from gateway.access.ranks import BY_CLI
from gateway.access.roles import Role
from gateway.commands.linking import LinkDeps
from gateway.commands.people import OperatorDesk
from gateway.delivery.dead_letters import DeadLetters
from gateway.delivery.delivery import Delivery
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.errors import GatewayError
from gateway.failpoints import failpoint
from gateway.http.server import HttpServer
from gateway.inbound.bus import Bus
from gateway.inbound.manager import ChannelManager
from gateway.inbound.owner_cards import OwnerCards
from gateway.inbound.reception import Doorway, take_up
from gateway.ops.control_client import Handler
from gateway.ops.key_rotation import KeyRotation
from gateway.ops.personal_data import PersonalData
from gateway.ops.reports import letter_calls
from gateway.ops.status import GatewayStatus, recorded_calls
from gateway.sessions.parking import Parking
from gateway.store import chats, erasure, groups, outbox, people
from gateway.store.engine import Connection, Store
from gateway.store.pairing import PairingRequest
from gateway.store.people import Person

log = structlog.get_logger()

EXPIRE_S = 60.0
LINK_S = 5.0  # the longest wait for one platform to say where its bot is found


def access_operations(
    store: Store,
    key: bytes,
    manager: ChannelManager,
    delivery: Delivery,
    bus: Bus,
    snapshot: AccessSnapshot,
    agent: str,
) -> AccessOperations:
    """The operations, each of which sessions and lanes hear of after its commit."""

    def say(connection: Connection, person: Person, where: Address, text: str, cause: str) -> None:
        _put_words(manager, connection, person, where, OutboundMessage(where, cause, text, locale=person.locale))

    def on_change(change: AccessChange) -> None:
        if change.person is not None:
            snapshot.put(change.person)
        for where in change.told:
            delivery.reread(where)
        if change.row is not None:
            bus.publish(change.row)
        elif change.told:
            bus.reread()  # an earlier try of this commit, whose outcome nobody heard, may have taken something in
        failpoint("pairing_approved")

    verdict, allowed = partial(_show_verdict, manager), partial(_show_allowed, manager)
    everybody = partial(snapshot.everybody, store.tenant)
    deps = AccessDeps(partial(take_up, agent=agent), verdict, allowed, everybody)
    return AccessOperations(store, key, say, steady_now, on_change, deps)


def _put_words(
    manager: ChannelManager, connection: Connection, person: Person, where: Address, said: OutboundMessage
) -> None:
    channel = manager.now_loaded(where)
    if channel is None:
        raise GatewayError(f"the channel {where.channel}:{where.account} is not running; see `tenk status`")
    outbox.put(connection, person.tenant, to_parts(channel, said), steady_now())


def _show_verdict(
    manager: ChannelManager, connection: Connection, asked: PairingRequest, what: str, by: str
) -> Sequence[Address]:
    return OwnerCards(connection, manager.now_loaded, steady_now()).show_verdict(asked, what, by)


def _show_allowed(manager: ChannelManager, connection: Connection, group_id: str, by: str) -> Sequence[Address]:
    return OwnerCards(connection, manager.now_loaded, steady_now()).show_allowed(group_id, by)


def link_deps(
    store: Store,
    key: bytes,
    manager: ChannelManager,
    delivery: Delivery,
    parking: Parking,
    snapshot: AccessSnapshot,
    forget: Callable[[], None],
) -> LinkDeps:
    """What linking works with; sessions and lanes hear of each step after its commit.

    `forget` lets sessions read anew what is whose.
    """

    def tell(
        connection: Connection, person: Person, where: Address, cause: str, text: str, buttons: Sequence[Button]
    ) -> None:
        said = OutboundMessage(where, cause, text, buttons=tuple(buttons), locale=person.locale)
        _put_words(manager, connection, person, where, said)

    def announce(people: Sequence[Person], told: Sequence[Address], unparked: Sequence[str]) -> None:
        for person in people:
            snapshot.put(person)
        forget()
        for where in told:
            delivery.reread(where)
        parking.release(unparked)

    seals = SealedButtons(AccessKeys.derive_from(key).buttons)
    return LinkDeps(store, key, seals, steady_now, tell, announce)


def expire_requests(connection: Connection) -> None:
    """End the requests, invitations and links that ran out; forget what ended long ago."""
    now = steady_now()
    pairing.expire(connection, now)
    pairing.forget(connection, now)
    invites.expire(connection, now)
    linking.expire(connection, now)
    groups.forget_kept(connection, before=now - groups.KEPT_FOR)


async def load_people(snapshot: AccessSnapshot, store: Store, key: bytes) -> None:
    """Know everybody, the chats that moved, and who was forgotten lately, by this key."""
    snapshot.replace(await store.read(people.everybody))
    snapshot.begin(key, await store.read(erasure.lately))
    for channel, old_chat, new_chat in await store.read(chats.load_moves):
        snapshot.chat_moved(channel, old_chat, new_chat)
    for group in await store.read(groups.GROUPS.find):
        snapshot.put_group(group)


class InviteLinks:
    """Where an invitation leads: a link for each channel that has one."""

    def __init__(self, manager: ChannelManager, server: HttpServer) -> None:
        self._manager = manager
        self._server = server

    async def ways(self, code: str, tenant: str) -> list[JsonValue]:
        """Links that bring a code to one of the bots, each with its account; a platform that is slow has none."""
        found: list[JsonValue] = []
        own = self._manager.states(tenant)
        for channel in self._manager.now_ready():
            if not isinstance(channel, LinksInvites) or f"{channel.name}:{channel.account}" not in own:
                continue
            try:
                async with asyncio.timeout(LINK_S):
                    link = await channel.invite_link(code)
            except (ChannelError, TimeoutError) as failure:
                log.info("invite_link_unknown", channel=channel.name, account=channel.account, error=str(failure))
                continue
            if link is not None:
                found.append({"account": f"{channel.name}:{channel.account}", "link": self._absolute(link)})
        return found

    def _absolute(self, link: str) -> str:
        return self._server.public_url.rstrip("/") + link if link.startswith("/") else link


@dataclass(frozen=True, slots=True)
class OperatorDeps:
    """What operators reach in a running gateway."""

    store: Store
    operations: AccessOperations
    keys: AccessKeys
    links: InviteLinks
    api_keys: KeyOperations
    rotation: KeyRotation
    letters: DeadLetters
    standing: GatewayStatus
    desk: OperatorDesk  # where commands find the same
    data: PersonalData


def calls_as(
    by: str, store: Store, operations: AccessOperations, letters: DeadLetters, standing: GatewayStatus
) -> dict[str, Handler]:
    """What is read and done in the name of an actor: from the machine's terminal, and from the console."""

    async def status(_arguments: dict[str, JsonValue]) -> JsonValue:
        return await standing.status(steady_now())

    return {
        **access_calls(operations, by), **recorded_calls(store, steady_now, operations), **letter_calls(letters, by),
        "status": status,
    }  # fmt: skip


def operator_calls(deps: OperatorDeps) -> dict[str, Handler]:
    """Handlers of the control socket by name; an invitation comes with where it leads."""
    store, desk, inviting = deps.store, deps.desk, InviteOperations(deps.store, deps.keys.invites, steady_now)
    calls = dict(invite_calls(inviting))
    make = calls["invite.make"]

    async def make_with_ways(arguments: dict[str, JsonValue]) -> JsonValue:
        made = await make(arguments)
        if not isinstance(made, dict):
            return made
        return {**made, "ways": await deps.links.ways(str(made["code"]), store.home_tenant)}

    async def console_link(_arguments: dict[str, JsonValue]) -> JsonValue:
        return {"link": desk.link_for(BY_CLI)[0]}

    return {
        **calls_as(BY_CLI, store, deps.operations, deps.letters, deps.standing), **calls,
        "invite.make": make_with_ways, **deps.data.calls(), **key_calls(deps.api_keys),
        "keys.rotate": deps.rotation.call, "console.link": console_link,
    }  # fmt: skip


def calls_by_tenant(calls_of: Callable[[str | None], Mapping[str, Handler]]) -> dict[str, Handler]:
    """The calls of the whole gateway; one whose arguments name a `tenant` is made among its rows alone.

    `calls_of` raises GatewayError where there is none of a name.
    """
    made: dict[str | None, Mapping[str, Handler]] = {None: calls_of(None)}

    async def call(name: str, arguments: dict[str, JsonValue]) -> JsonValue:
        given = dict(arguments)
        named = given.pop("tenant", None)
        whose = None if named is None else str(named)
        if whose not in made:
            made[whose] = calls_of(whose)
        return await made[whose][name](given)

    return {name: partial(call, name) for name in made[None]}


async def show_founding_link(server: HttpServer, store: Store, access: AccessConfig, doorway: Doorway) -> None:
    """On loopback, while there is no owner, show the terminal a link that makes its visitor owner; never the log.

    It holds for an hour, once, and only while there is still no owner; the one of an earlier start is void.
    """
    await server.started.wait()
    by_code = access.rules_of("web", "main").direct is Policy.PAIRING
    if not server.on_loopback or not by_code:
        return
    if await store.read(lambda connection: people.has_owner(connection, store.home_tenant)):
        return
    if doorway.show is None:
        command = doorway.tenk.command("invite", "--role", Role.OWNER)
        log.info("no_owner_yet", mend=f"approve a pairing request, or open the link that `{command}` prints")
        return
    terms = Terms(Role.OWNER, FOUNDING_VALID, founding=True)
    made = await InviteOperations(store, doorway.keys.invites, steady_now).make_for(terms, BY_CLI)
    link = f"{server.public_url}?invite={made['code']}"
    doorway.show(f"This bot has no owner yet. Whoever opens this link first, within the hour, becomes it:\n    {link}")
