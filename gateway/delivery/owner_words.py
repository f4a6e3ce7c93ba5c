"""Says something to every owner, where each last talked to the bot alone. What is said, and when, others decide."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from functools import partial

from channels.base import Channel
from channels.messages import DEFAULT_TENANT, Address
from gateway.access.config import Role
from gateway.delivery.delivery import Delivery
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.store import chats, outbox, people
from gateway.store.engine import Connection, Store
from gateway.store.outbox import OutboxPart
from gateway.store.people import Person

LOADS_S = 30.0


class OwnerWords:
    """What the gateway tells its owners by itself."""

    def __init__(
        self, store: Store, channels: ChannelDirectory, delivery: Delivery, clock: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._channels = channels
        self._delivery = delivery
        self._clock = clock

    async def say(self, cause: str, text_of: Callable[[str | None], str]) -> None:
        """Say a text, by an owner's locale, to each; once for a cause, however often it is said."""
        parts = await self.parts(DEFAULT_TENANT, cause, lambda owner: text_of(owner.locale))
        self._delivery.publish(await self._store.commit(outbox.put, DEFAULT_TENANT, parts, self._clock()))

    async def parts(
        self, tenant: str, cause: str, text_of: Callable[[Person], str], down: str = ""
    ) -> list[OutboxPart]:
        """What each owner would be told; nothing where a channel does not load, which the log has said.

        Nobody is told through the account that is `down`, `CHANNEL:ACCOUNT`.
        """
        parts: list[OutboxPart] = []
        known = self._channels.is_configured
        query = partial(owner_chats, tenant=tenant, down=down, is_known=known)
        for owner, where in await self._store.read(query, lasting=True):
            said = OutboundMessage(where, f"{cause}:{owner.user_id[-8:]}", text_of(owner), locale=owner.locale)
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
    """Each owner with the chat they were heard in last, on a known account other than the one that is `down`."""
    found = []
    for owner in people.holding(connection, tenant, Role.OWNER):
        own = chats.own_chats(connection, tenant, owner.user_id)
        found += [(owner, where) for where in own if f"{where.channel}:{where.account}" != down and is_known(where)][:1]
    return found
