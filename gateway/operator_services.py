"""The operators' service of each tenant and of the installation, and its links."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from channels.base import LinksInvites
from channels.errors import ChannelError
from channels.messages import DEFAULT_TENANT
from gateway.console.console import Console
from gateway.errors import GatewayError, unknown_tenant
from gateway.http.server import HttpServer
from gateway.inbound.manager import ChannelManager
from gateway.operators.models import BotLink, ConsoleLink
from gateway.operators.service import Operators
from gateway.ops.operators import ProcessParts, operators_of
from gateway.shared import Shared
from gateway.tenant import Tenant

log = structlog.get_logger()

LINK_S = 5.0
"""Longest wait for a platform to tell its bot's address."""


@dataclass(frozen=True, slots=True)
class PublicLinks:
    """Links to invitations and to the console."""

    channels: ChannelManager
    server: HttpServer
    console: Console

    async def bot_links(self, code: str, tenant: str) -> Sequence[BotLink]:
        """Return links to the tenant's bots that carry the code, without platforms that are slow."""
        found: list[BotLink] = []
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
                found.append(BotLink(account=f"{channel.name}:{channel.account}", link=self._absolute(link)))
        return found

    async def console_link(self, by: str) -> ConsoleLink:
        """Return a link that opens the console once for this actor."""
        link, ref = await self.console.link(self.server.public_url, by)
        return ConsoleLink(link=link, ref=ref)

    def _absolute(self, link: str) -> str:
        return self.server.public_url.rstrip("/") + link if link.startswith("/") else link


class NoLinks:
    """No links: the console neither invites people nor opens another console."""

    async def bot_links(self, _code: str, _tenant: str) -> Sequence[BotLink]:
        return ()

    async def console_link(self, _by: str) -> ConsoleLink:
        raise GatewayError("the console is open already")


@dataclass(frozen=True, slots=True)
class OperatorServices:
    """The operators' service, for one tenant or for all."""

    shared: Shared
    tenants: Mapping[str, Tenant]
    parts: ProcessParts

    def of(self, name: str | None) -> Operators:
        """Return the service over a tenant's rows; None: over those of all.

        Raises:
            GatewayError: there is no such tenant.
        """
        tenant = name or DEFAULT_TENANT
        if tenant not in self.tenants:
            raise GatewayError(unknown_tenant(tenant, [*self.tenants]))
        return operators_of(self.shared.store.of(name), self.tenants[tenant].agents, self.shared, self.parts)
