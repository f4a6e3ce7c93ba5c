"""What operators do, wired to a running gateway: the calls of the control socket, and what follows from each for
sessions, lanes and the terminal. Rules and rows are `gateway.access`'s.
"""

from collections.abc import Callable, Sequence
from functools import partial

import structlog

from channels.clocks import steady_now
from channels.messages import Address, Button
from gateway.access import tickets
from gateway.access.buttons import SealedButtons
from gateway.access.config import Policy, Role, Rules
from gateway.access.invites import FOUNDING, InviteOperations
from gateway.access.operations import AccessChange, AccessDeps, AccessOperations
from gateway.access.policy import AccessSnapshot
from gateway.access.ranks import BY_CLI
from gateway.command_line import of_process
from gateway.commands.linking import LinkDeps
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.errors import GatewayError
from gateway.failpoints import failpoint
from gateway.http.server import HttpServer
from gateway.inbound.manager import ChannelManager
from gateway.inbound.owner_cards import OwnerCards
from gateway.inbound.reception import take_up
from gateway.shared import Shared
from gateway.store import chats, erasure, groups, outbox, people
from gateway.store.engine import Connection, Store
from gateway.store.people import Person
from gateway.store.tickets import Ticket

log = structlog.get_logger()

EXPIRE_S = 60.0
LINK_S = 5.0  # the longest wait for one platform to say where its bot is found


def access_operations(store: Store, agent: str, shared: Shared) -> AccessOperations:
    """Make the operations on the people of a store; sessions and lanes hear of each after its commit."""
    manager, delivery, bus, snapshot = shared.channels, shared.delivery, shared.bus, shared.people

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
    return AccessOperations(store, shared.secrets.key, say, steady_now, on_change, deps)


def _put_words(
    manager: ChannelManager, connection: Connection, person: Person, where: Address, said: OutboundMessage
) -> None:
    channel = manager.now_loaded(where)
    if channel is None:
        raise GatewayError(f"the channel {where.channel}:{where.account} is not running; see `tenk status`")
    outbox.put(connection, person.tenant, to_parts(channel, said), steady_now())


def _show_verdict(
    manager: ChannelManager, connection: Connection, asked: Ticket, what: str, by: str
) -> Sequence[Address]:
    return OwnerCards(connection, manager.now_loaded, steady_now()).show_verdict(asked, what, by)


def _show_allowed(manager: ChannelManager, connection: Connection, group_id: str, by: str) -> Sequence[Address]:
    return OwnerCards(connection, manager.now_loaded, steady_now()).show_allowed(group_id, by)


def link_deps(shared: Shared) -> LinkDeps:
    """Make what linking works with; sessions and lanes hear of each step after its commit."""

    def tell(
        connection: Connection, person: Person, where: Address, cause: str, text: str, buttons: Sequence[Button]
    ) -> None:
        said = OutboundMessage(where, cause, text, buttons=tuple(buttons), locale=person.locale)
        _put_words(shared.channels, connection, person, where, said)

    def announce(people: Sequence[Person], told: Sequence[Address], unparked: Sequence[str]) -> None:
        for person in people:
            shared.people.put(person)
        shared.sessions.forget_all()  # what is whose has changed
        for where in told:
            shared.delivery.reread(where)
        shared.sessions.parking.release(unparked)

    seals = SealedButtons(shared.secrets.keys.buttons)
    return LinkDeps(shared.secrets.key, seals, tell, announce)


def expire_requests(connection: Connection) -> None:
    """End the requests, invitations and links that ran out; forget what ended long ago."""
    now = steady_now()
    tickets.expire(connection, now)
    tickets.forget(connection, now)
    groups.forget_kept(connection, before=now - groups.KEPT_FOR)


async def load_people(snapshot: AccessSnapshot, store: Store, key: bytes) -> None:
    """Know everybody, the chats that moved, and who was forgotten lately, by this key."""
    snapshot.replace(await store.read(people.everybody))
    snapshot.begin(key, await store.read(erasure.lately))
    for channel, old_chat, new_chat in await store.read(chats.load_moves):
        snapshot.chat_moved(channel, old_chat, new_chat)
    for group in await store.read(groups.GROUPS.find):
        snapshot.put_group(group)


async def show_founding_link(
    server: HttpServer, store: Store, rules: Rules, invites: InviteOperations, show: Callable[[str], None] | None
) -> None:
    """On loopback, while there is no owner, show the terminal a link that makes its visitor owner; never the log.

    It holds for an hour, once, and only while there is still no owner; the one of an earlier start is void.
    """
    await server.started.wait()
    if not server.on_loopback or rules.direct is not Policy.PAIRING:
        return
    if await store.read(lambda connection: people.has_owner(connection, store.home_tenant)):
        return
    if show is None:
        command = of_process().command("invite", "--role", Role.OWNER)
        log.info("no_owner_yet", mend=f"approve a pairing request, or open the link that `{command}` prints")
        return
    made = await invites.make_for(FOUNDING, BY_CLI)
    link = f"{server.public_url}?invite={made['code']}"
    show(f"This bot has no owner yet. Whoever opens this link first, within the hour, becomes it:\n    {link}")
