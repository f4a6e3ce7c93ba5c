"""One attempt to send an outbox row, as one call of its channel."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TypeVar

import structlog

from agent.voice.sounds import OGG, sound_kind
from channels.base import Channel, DeletesMessages, EditsMessages, FindsSent
from channels.errors import ChannelError, ConfigRefused, Permanent, Retryable, Unknown
from channels.messages import AttachmentKind, OutboundMedia, OutboundPart, Receipt, Rendered, Route
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.message_parts import recovered_mark
from gateway.failpoints import failpoint
from gateway.safety.vault import CannotOpen, SecretOf, Vault, is_sealed
from gateway.store import inbox, outbox, reply_routes
from gateway.store.causes import AnswerOf
from gateway.store.engine import Store
from gateway.store.outbox import Action, MediaRef, OutboxPart, OutboxRow
from gateway.telemetry import FAULTS, series

T = TypeVar("T")

log = structlog.get_logger()

FillSecret = Callable[[str, str], str]
"""Function of a secret's reference and a text that returns the text with the secret, at the moment of sending."""

Speak = Callable[[OutboxRow, MediaRef], Awaitable[bytes]]
"""Function that returns the voice of an answer as a sound file, or raises `Permanent`."""


async def speak_nothing(_row: OutboxRow, _ref: MediaRef) -> bytes:
    raise Permanent("answers are not spoken here")


@dataclass(frozen=True, slots=True)
class SendTimeContent:
    """Functions for content that exists only when a part is sent."""

    fill_secret: FillSecret
    speak: Speak = speak_nothing


SPEAK_S = 330.0
"""Longer than the longest `speech_timeout_s`."""

AFTER_CALL = {
    Action.PLACEHOLDER: "placeholder_sent",
    Action.SEND: "send_done",
    Action.EDIT: "edit_done",
    Action.DELETE: "edit_done",
}
"""Failpoint after each kind of call."""


class PartSender:
    """Maker of the calls of all lanes."""

    def __init__(
        self,
        store: Store,
        config: DeliveryConfig,
        content: SendTimeContent,
        clock: Callable[[], datetime],
        vault: Vault,
    ) -> None:
        self._store = store
        self._vault = vault
        self._config = config
        self._content = content
        self._clock = clock

    async def attempt(self, row: OutboxRow, channel: Channel) -> Receipt:
        """Send, edit or delete once.

        Raises:
            ChannelError: it was not done, or the result is unknown.
        """
        action, target = row.part.action, row.part.target
        timeout_s = self._config.upload_timeout_s if row.part.media else self._config.send_timeout_s
        if action is Action.DELETE:
            receipt = await call_within(timeout_s, _delete(row.part, channel), broken=Permanent)
        elif action is Action.EDIT and target is not None and isinstance(channel, EditsMessages):
            part = await self._to_outbound(row, channel)
            receipt = await call_within(timeout_s, channel.edit(part, target), broken=Permanent)
        else:
            part = await self._to_outbound(row, channel)
            said = _say_again(row, channel, part) if row.maybe_duplicate else channel.send(part)
            receipt = await call_within(timeout_s, said, broken=Permanent if action is Action.EDIT else Unknown)
        failpoint(AFTER_CALL[action])
        return _to_receipt(receipt)

    async def _to_outbound(self, row: OutboxRow, channel: Channel) -> OutboundPart:
        part, route = row.part, None
        if part.reply_route_of is not None:
            take = partial(reply_routes.take_route, inbox_id=part.reply_route_of, now=self._clock())
            taken = await self._store.commit(take)
            route = None if taken is None else self._with_token(*taken)
        is_placeholder = part.action is Action.PLACEHOLDER
        return OutboundPart(
            address=part.address,
            rendered=self._render(row, channel),
            idem_key=row.idem_key,
            reply_to=part.reply_to,
            route=route,
            buttons=part.buttons,
            media=tuple([await self._load_file(row, ref) for ref in part.media]) if part.media else (),
            unfinished=is_placeholder,
            recipient=await self._find_recipient(part) if is_placeholder else None,
        )

    def _with_token(self, route: Route, whose: SecretOf) -> Route:
        """Return the route with its token opened.

        Raises:
            Permanent: the token cannot be opened; sending to the chat instead could show it to others.
        """
        if not is_sealed(route.token):
            return route  # stored by a version that did not seal
        try:
            return replace(route, token=self._vault.open(route.token, whose))
        except CannotOpen as refusal:
            raise Permanent(f"its own way to be answered: {refusal}") from None

    async def _find_recipient(self, part: OutboxPart) -> str | None:
        if not isinstance(part.cause, AnswerOf):
            return None
        sender = await self._store.read(partial(inbox.sender_of_turn, turn_id=part.cause.turn_id), lasting=True)
        return None if sender is None else sender.removeprefix(f"{part.address.channel}:")

    async def _load_file(self, row: OutboxRow, ref: MediaRef) -> OutboundMedia:
        content = await self._store.read(partial(outbox.file_of, id_=ref.blob), lasting=True)
        if ref.kind is AttachmentKind.VOICE:
            if content is None:
                content = await call_within(SPEAK_S, self._content.speak(row, ref), broken=Permanent)
            kind = sound_kind(content) or OGG
            return OutboundMedia(ref.kind, f"{ref.name}{kind.suffix}", kind.mime, content)
        if content is None:
            raise Permanent(f"the file {ref.name!r} is not kept any more")
        return OutboundMedia(ref.kind, ref.name, ref.mime, content, ref.description)

    def _render(self, row: OutboxRow, channel: Channel) -> Rendered:
        rendered = row.part.rendered
        if row.part.secret_ref is not None:
            rendered = replace(rendered, text=self._content.fill_secret(row.part.secret_ref, rendered.text))
        if row.maybe_duplicate and not channel.limits.idempotent_sends:
            rendered = replace(rendered, text=rendered.text + recovered_mark(row.part.locale))
        return rendered


def _to_receipt(returned: object) -> Receipt:
    """Return what a channel returned, if it is a receipt.

    Raises:
        Unknown: it is something else.
    """
    if isinstance(returned, Receipt):
        return returned
    raise Unknown(f"the channel returned no Receipt but a {type(returned).__name__}: correct its code")


async def _delete(part: OutboxPart, channel: Channel) -> Receipt:
    if part.target is not None and isinstance(channel, DeletesMessages):
        await channel.delete(part.address, part.target)
    return Receipt(part.target or "")


async def _say_again(row: OutboxRow, channel: Channel, part: OutboundPart) -> Receipt:
    """Return the receipt of an earlier attempt if the message is there; else send it."""
    found = None
    if row.part.action is not Action.EDIT and isinstance(channel, FindsSent):
        try:
            found = await channel.find_sent(part)
        except Unknown:  # no trace; only the mark can say that it may be a repetition
            part = _add_mark(row, channel, part)
    return found or await channel.send(part)


def _add_mark(row: OutboxRow, channel: Channel, part: OutboundPart) -> OutboundPart:
    """Add the recovery mark if the part has none; placeholders need none."""
    if row.part.action is Action.PLACEHOLDER or not channel.limits.idempotent_sends:
        return part
    marked = part.rendered.text + recovered_mark(row.part.locale)
    return replace(part, rendered=replace(part.rendered, text=marked))


async def call_within(timeout_s: float, call: Awaitable[T], *, broken: type[Unknown] | type[Permanent] = Unknown) -> T:
    """Await one platform call within a deadline. An error in the adapter itself is raised as `broken`.

    Raises:
        ChannelError: it was not done, or the result is unknown.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await call
    except ChannelError:
        raise
    except TimeoutError:
        raise Unknown(f"no answer within {timeout_s:.0f} s") from None
    except ConfigRefused as refused:
        raise Retryable(str(refused)) from None  # not done; it will be once the operator mends the settings
    except Exception as error:  # noqa: BLE001  one call of one channel: logged, raised as its failure
        series(FAULTS, "call").inc()
        log.exception("call_broken")
        raise broken(f"the channel broke: {type(error).__name__}: {error}") from error
