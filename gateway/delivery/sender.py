"""One attempt: an outbox row to one call of its channel. What a failure leads to is decided by the lane's verdict."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from channels.base import Channel, EditsMessages
from channels.errors import Unknown
from channels.messages import OutboundPart, Receipt, Rendered
from gateway.delivery.compose import RECOVERED_MARK
from gateway.delivery.config import DeliveryConfig
from gateway.failpoints import failpoint
from gateway.store import attempts
from gateway.store.engine import Store
from gateway.store.outbox import Action, OutboxRow

FillSecret = Callable[[str, str], str]
"""From a secret's reference and a text to the text with the secret in it, at the moment of sending."""


class Sender:
    """Makes the calls of every lane."""

    def __init__(self, store: Store, config: DeliveryConfig, fill_secret: FillSecret) -> None:
        self._store = store
        self._config = config
        self._fill_secret = fill_secret
        self._sent_ids: dict[tuple[str, int], str] = {}  # platform ids of placeholders whose final edit is to come

    def placeholder_is(self, row: OutboxRow, platform_id: str) -> None:
        """Remember which message a placeholder became."""
        self._sent_ids[row.cause, row.part] = platform_id

    def forget(self, row: OutboxRow) -> None:
        """A row has its end."""
        if row.action is not Action.PLACEHOLDER:
            self._sent_ids.pop((row.cause, row.part), None)

    async def aimed(self, row: OutboxRow, channel: Channel) -> OutboxRow:
        """The row with the message it edits. Where there is none to edit it is a send, and no longer repeatable."""
        if row.action is not Action.EDIT or row.target is not None:
            return row
        target = await self._standing_id(row) if isinstance(channel, EditsMessages) else None
        return replace(row, action=Action.SEND) if target is None else replace(row, target=target)

    async def attempt(self, row: OutboxRow, channel: Channel) -> Receipt:
        """Say it once, as it is to be said this time.

        Raises:
            ChannelError: it was not said, or nobody knows.
        """
        part = OutboundPart(
            address=row.address, rendered=self._as_sent(row), idem_key=row.idem_key, reply_to=row.reply_to
        )
        try:
            async with asyncio.timeout(self._config.send_timeout_s):
                if row.action is Action.EDIT and row.target is not None and isinstance(channel, EditsMessages):
                    receipt = await channel.edit(part, row.target)
                    failpoint("edit_done")
                else:
                    receipt = await channel.send(part)
                    failpoint("placeholder_sent" if row.action is Action.PLACEHOLDER else "send_done")
        except TimeoutError:
            raise Unknown(f"no answer within {self._config.send_timeout_s:.0f} s") from None
        return receipt

    def _as_sent(self, row: OutboxRow) -> Rendered:
        rendered = row.rendered
        if row.secret_ref is not None:
            rendered = replace(rendered, text=self._fill_secret(row.secret_ref, rendered.text))
        if row.marked:
            rendered = replace(rendered, text=rendered.text + RECOVERED_MARK)
        return rendered

    async def _standing_id(self, row: OutboxRow) -> str | None:
        """The message that an edit is of: what the part's earlier operations left standing."""
        known = self._sent_ids.get((row.cause, row.part))
        if known is not None:
            return known
        return await self._store.read(partial(attempts.standing_id, cause=row.cause, part=row.part, op=row.op))
