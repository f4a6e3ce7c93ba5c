"""One attempt: an outbox row to one call of its channel. What a failure leads to is decided by the lane's verdict."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TypeVar

import structlog

from channels.base import Channel, DeletesMessages, EditsMessages, FindsSent
from channels.errors import ChannelError, ConfigRefused, Permanent, Retryable, Unknown
from channels.messages import OutboundMedia, OutboundPart, Receipt, Rendered
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.message_parts import RECOVERED_MARK
from gateway.failpoints import failpoint
from gateway.store import blobs, inbox, reply_routes, sends
from gateway.store.engine import Store
from gateway.store.outbox import Action, MediaRef, OutboxRow
from gateway.telemetry import FAULTS, series

log = structlog.get_logger()

T = TypeVar("T")

FillSecret = Callable[[str, str], str]
"""From a secret's reference and a text to the text with the secret in it, at the moment of sending."""

SAID = {
    Action.PLACEHOLDER: "placeholder_sent", Action.SEND: "send_done", Action.EDIT: "edit_done",
    Action.DELETE: "edit_done",
}  # fmt: skip
"""The failpoint behind each kind of call."""


class Sender:
    """Makes the calls of every lane."""

    def __init__(
        self, store: Store, config: DeliveryConfig, fill_secret: FillSecret, clock: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._clock = clock
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
        if row.action not in (Action.EDIT, Action.DELETE) or row.target is not None:
            return row
        target = await self._standing_id(row) if isinstance(channel, EditsMessages) else None
        if target is None and row.action is Action.EDIT:
            return replace(row, action=Action.SEND)
        return replace(row, target=target)

    async def attempt(self, row: OutboxRow, channel: Channel) -> Receipt:
        """Say it once, as it is to be said this time.

        Raises:
            ChannelError: it was not said, or nobody knows.
        """
        if row.action is Action.DELETE:
            said = self._delete(row, channel)
        else:
            said = self._say(row, channel, await self._part(row, channel))
        repeatable = row.action in (Action.EDIT, Action.DELETE)
        broken = Permanent if repeatable else Unknown  # what breaks and may be repeated would be repeated all day
        timeout_s = self._config.upload_timeout_s if row.media else self._config.send_timeout_s
        receipt = await call(said, timeout_s, broken=broken)
        failpoint(SAID[row.action])
        return receipt

    async def _delete(self, row: OutboxRow, channel: Channel) -> Receipt:
        if row.target is not None and isinstance(channel, DeletesMessages):
            await channel.delete(row.address, row.target)
        return Receipt(row.target or "")

    async def _say(self, row: OutboxRow, channel: Channel, part: OutboundPart) -> Receipt:
        if row.marked and row.action is not Action.EDIT and isinstance(channel, FindsSent):
            try:
                found = await channel.find_sent(part)
            except Unknown:  # it left no trace: only the mark can tell that it may be there already
                found, part = None, _add_mark(row, channel, part)
            if found is not None:
                return found
        if row.action is Action.EDIT and row.target is not None and isinstance(channel, EditsMessages):
            return await channel.edit(part, row.target)
        return await channel.send(part)

    async def _part(self, row: OutboxRow, channel: Channel) -> OutboundPart:
        route = None
        if row.answers is not None:
            now = self._clock()
            route = await self._store.write(partial(reply_routes.take_route, inbox_id=row.answers, now=now))
        return OutboundPart(
            address=row.address,
            rendered=self._as_sent(row, channel),
            idem_key=row.idem_key,
            reply_to=row.reply_to,
            route=route,
            buttons=row.buttons,
            media=tuple([await self._file(ref) for ref in row.media]),
            unfinished=row.action is Action.PLACEHOLDER,
            recipient=await self._recipient(row) if row.action is Action.PLACEHOLDER else None,
        )

    async def _recipient(self, row: OutboxRow) -> str | None:
        sender = await self._store.read(partial(inbox.sender_of_turn, turn_id=row.cause), lasting=True)
        return None if sender is None else sender.removeprefix(f"{row.address.channel}:")

    async def _file(self, ref: MediaRef) -> OutboundMedia:
        content = await self._store.read(partial(blobs.get, id_=ref.blob), lasting=True)
        if content is None:
            raise Permanent(f"the file {ref.name!r} is not kept any more")
        return OutboundMedia(ref.kind, ref.name, ref.mime, content)

    def _as_sent(self, row: OutboxRow, channel: Channel) -> Rendered:
        rendered = row.rendered
        if row.secret_ref is not None:
            rendered = replace(rendered, text=self._fill_secret(row.secret_ref, rendered.text))
        if row.marked and not channel.limits.idempotent_sends:
            rendered = replace(rendered, text=rendered.text + RECOVERED_MARK)
        return rendered

    async def _standing_id(self, row: OutboxRow) -> str | None:
        """The message that an edit is of: what the part's earlier operations left standing."""
        known = self._sent_ids.get((row.cause, row.part))
        if known is not None:
            return known
        query = partial(sends.standing_id, cause=row.cause, part=row.part, op=row.op)
        return await self._store.read(query, lasting=True)


def _add_mark(row: OutboxRow, channel: Channel, part: OutboundPart) -> OutboundPart:
    """The part under the mark, where it has none yet; a placeholder says nothing that could be doubled."""
    if row.action is Action.PLACEHOLDER or not channel.limits.idempotent_sends:
        return part
    return replace(part, rendered=replace(part.rendered, text=part.rendered.text + RECOVERED_MARK))


async def call(asked: Awaitable[T], timeout_s: float, *, broken: type[Unknown] | type[Permanent] = Unknown) -> T:
    """What the platform answered. An error in the adapter itself counts as `broken`, for this call alone.

    Raises:
        ChannelError: it did not happen, or nobody knows.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await asked
    except ChannelError:
        raise
    except TimeoutError:
        raise Unknown(f"no answer within {timeout_s:.0f} s") from None
    except ConfigRefused as refused:
        raise Retryable(str(refused)) from None  # it did not happen; it will once the operator mended it
    except Exception as error:  # noqa: BLE001  one call of one channel: recorded here, told by its failure
        series(FAULTS, "call").inc()
        log.exception("call_broken")
        raise broken(f"the channel broke: {type(error).__name__}: {error}") from error
