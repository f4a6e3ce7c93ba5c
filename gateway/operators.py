"""What operators do and read, of one tenant or of the whole gateway: the control socket's calls and the console's."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import structlog
from pydantic import JsonValue

from channels.base import LinksInvites
from channels.clocks import steady_now
from channels.errors import ChannelError
from channels.messages import DEFAULT_TENANT
from gateway.access.api_keys import KeyOperations
from gateway.access.calls import access_calls, invite_calls, key_calls
from gateway.access.invites import InviteOperations
from gateway.access.operations import AccessOperations
from gateway.access.ranks import BY_CLI
from gateway.console.console import Console
from gateway.delivery.dead_letters import DeadLetters
from gateway.errors import GatewayError, unknown_tenant
from gateway.http.server import HttpServer
from gateway.inbound.manager import ChannelManager
from gateway.ops.control_client import Handler
from gateway.ops.key_rotation import KeyRotation
from gateway.ops.operators import access_operations
from gateway.ops.personal_data import PersonalData
from gateway.ops.reports import letter_calls
from gateway.ops.status import GatewayStatus, recorded_calls
from gateway.shared import Shared
from gateway.tenant import Tenant

log = structlog.get_logger()

LINK_S = 5.0
"""The longest wait for one platform to say where its bot is found."""


@dataclass(frozen=True, slots=True)
class PublicLinks:
    """Where people open an invitation, and operators the console."""

    channels: ChannelManager
    server: HttpServer
    console: Console

    async def ways(self, code: str, tenant: str) -> list[JsonValue]:
        """Return a link to each of the tenant's bots that brings the code; a platform that is slow has none."""
        found: list[JsonValue] = []
        own = self.channels.states(tenant)
        for channel in self.channels.now_ready():
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

    async def console_link(self, by: str) -> tuple[str, str]:
        """Return an address that opens the console once for this actor, and the ref of the secret in it."""
        return await self.console.link(self.server.public_url, by)

    def _absolute(self, link: str) -> str:
        return self.server.public_url.rstrip("/") + link if link.startswith("/") else link


@dataclass(frozen=True, slots=True)
class Operators:
    """The operators' calls, for one tenant, or for all tenants if no name is given."""

    shared: Shared
    tenants: Mapping[str, Tenant]
    rotation: KeyRotation
    status: GatewayStatus

    def console_calls(self, by: str, name: str | None) -> dict[str, Handler]:
        """Return what is read and done in the name of an actor: on the machine's terminal, and in the console.

        Raises:
            GatewayError: there is no such tenant.
        """
        store, operations = self.shared.store.of(name), self._operations(name)
        letters = DeadLetters(store, steady_now, self.shared.delivery.reread)
        status = self.status if name in (None, DEFAULT_TENANT) else self.status.of(name)

        async def show_status(_arguments: dict[str, JsonValue]) -> JsonValue:
            return await status.status(steady_now())

        return {
            **access_calls(operations, by),
            **recorded_calls(store, steady_now, operations),
            **letter_calls(letters, by),
            "status": show_status,
        }

    def control_calls(self, links: PublicLinks, name: str | None) -> dict[str, Handler]:
        """Return the control socket's calls.

        Raises:
            GatewayError: there is no such tenant.
        """
        store, people = self.shared.store.of(name), self.shared.people
        invites = invite_calls(InviteOperations(store, self.shared.secrets.keys.invites, steady_now))
        make = invites["invite.make"]

        async def make_invite(arguments: dict[str, JsonValue]) -> JsonValue:
            made = await make(arguments)
            if not isinstance(made, dict):
                return made
            return {**made, "ways": await links.ways(str(made["code"]), store.home_tenant)}

        async def console_link(_arguments: dict[str, JsonValue]) -> JsonValue:
            return {"link": (await links.console_link(BY_CLI))[0]}

        return {
            **self.console_calls(BY_CLI, name),
            **invites,
            "invite.make": make_invite,
            **PersonalData(store, people, steady_now, self.shared.sessions.parking.release).calls(),
            **key_calls(KeyOperations(store, steady_now, people.put)),
            "keys.rotate": self.rotation.call,
            "console.link": console_link,
        }

    def calls(self, links: PublicLinks) -> dict[str, Handler]:
        """Return the control socket's calls; one whose arguments name a `tenant` is about its rows alone."""

        async def call(name: str, arguments: dict[str, JsonValue]) -> JsonValue:
            given = dict(arguments)
            named = given.pop("tenant", None)
            return await self.control_calls(links, None if named is None else str(named))[name](given)

        return {name: partial(call, name) for name in self.control_calls(links, None)}

    def _operations(self, name: str | None) -> AccessOperations:
        wanted = name or DEFAULT_TENANT
        if wanted not in self.tenants:
            raise GatewayError(unknown_tenant(wanted, [*self.tenants]))
        tenant = self.tenants[wanted]
        if name is None:
            return access_operations(self.shared.store, tenant.product.name, self.shared)
        return tenant.access
