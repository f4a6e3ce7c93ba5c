"""Notices to owners, each in the chat where they last talked to the bot alone."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial

from channels.base import Channel
from channels.messages import DEFAULT_TENANT, Address
from gateway.access.config import Role
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.store import chats, outbox, people
from gateway.store.causes import Notice
from gateway.store.engine import Connection, Store
from gateway.store.outbox import OutboxPart
from gateway.store.people import Person

LOADS_S = 30.0


class OwnerNotices:
    """Sender of the gateway's own notices to owners."""

    def __init__(self, store: Store, channels: ChannelDirectory, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._channels = channels
        self._clock = clock

    async def say(self, cause: Notice, text_of: Callable[[str | None], str]) -> None:
        """Send each owner a text in their language, once per cause."""
        parts = await self.parts(DEFAULT_TENANT, cause, lambda owner: text_of(owner.locale))
        await self._store.commit(outbox.put, DEFAULT_TENANT, parts, self._clock())

    async def parts(
        self, tenant: str, cause: Notice, text_of: Callable[[Person], str], down: str = ""
    ) -> list[OutboxPart]:
        """Return the notices, without owners whose channel does not load.

        `down`: an account (`CHANNEL:ACCOUNT`) that is not used.
        """
        parts: list[OutboxPart] = []
        known = self._channels.is_configured
        query = partial(owner_chats, tenant=tenant, down=down, is_known=known)
        for owner, where in await self._store.read(query, lasting=True):
            own = replace(cause, key=f"{cause.key}:{owner.user_id[-8:]}")
            said = OutboundMessage(where, own, text_of(owner), locale=owner.locale)
            channel = await self._load(where)
            if channel is not None:
                parts += to_parts(channel, said)
        return parts

    async def _load(self, where: Address) -> Channel | None:
        try:
            async with asyncio.timeout(LOADS_S):
                return await self._channels.when_loaded(where)
        except TimeoutError:
            return None


def owner_chats(
    connection: Connection, tenant: str, down: str = "", is_known: Callable[[Address], bool] = lambda _: True
) -> list[tuple[Person, Address]]:
    """Return each owner with their latest private chat on a known account other than `down`."""
    found = []
    for owner in people.holding(connection, tenant, Role.OWNER):
        own = chats.own_chats(connection, tenant, owner.user_id)
        found += [(owner, where) for where in own if f"{where.channel}:{where.account}" != down and is_known(where)][:1]
    return found
