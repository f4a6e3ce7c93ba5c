"""Says something to every owner, where each last talked to the bot alone. What is said, and when, others decide."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from functools import partial

from channels.messages import DEFAULT_TENANT
from gateway.access.roles import Role
from gateway.delivery.delivery import Delivery
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.store import chats, outbox, people
from gateway.store.engine import Store
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
        await self._store.write(
            lambda connection: outbox.put(connection, DEFAULT_TENANT, parts, self._clock()), then=self._delivery.publish
        )

    async def parts(self, tenant: str, cause: str, text_of: Callable[[Person], str]) -> list[OutboxPart]:
        """What each owner would be told; nothing where a channel does not load, which the log has said."""
        parts: list[OutboxPart] = []
        known = await self._store.read(people.everybody, lasting=True)
        for owner in (person for person in known if (person.tenant, person.role) == (tenant, Role.OWNER)):
            where = await self._store.read(partial(chats.own_chat, tenant=tenant, user_id=owner.user_id), lasting=True)
            if where is None or not self._channels.is_configured(where):
                continue
            said = OutboundMessage(where, f"{cause}:{owner.user_id[-8:]}", text_of(owner), locale=owner.locale)
            try:
                async with asyncio.timeout(LOADS_S):
                    parts += to_parts(await self._channels.when_loaded(where), said)
            except TimeoutError:
                continue
        return parts
