"""Outbox parts of an answer, made from its Markdown. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from agent.catalogue import NAMES
from channels.base import Channel, DeletesMessages, EditsMessages, TextUnit
from channels.messages import Address, Button, Rendered
from gateway.access.buttons import deadline_of
from gateway.delivery.splitter import MAX_PARTS, SplitPart, split
from gateway.store.causes import Cause
from gateway.store.outbox import Action, MediaRef, OutboxPart
from gateway.texts import HARNESS

WAITING_TEXT = "…"

NO_MORE = "–"
"""Text of a surplus live part on platforms that cannot delete messages."""


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """Message before it is split into parts."""

    address: Address
    cause: Cause  # unique per message
    text: str  # Markdown
    reply_to: str | None = None
    secret_ref: str | None = None
    reply_route_of: int | None = None  # the inbox row whose reply token may be used
    buttons: tuple[Button, ...] = ()  # under the last text part
    buttons_of: str | None = None  # the user whose next words take them away; None: a decision does
    media: tuple[MediaRef, ...] = ()  # with the text, or after it
    locale: str | None = None  # BCP 47, for notices about the delivery


@dataclass(frozen=True, slots=True)
class LivePart:
    """State of one part of a live answer in the chat."""

    next_revision: int  # for its next row
    rendered: Rendered | None = None  # its final content; None: incomplete
    again: bool = False  # a live edit may arrive late, so the final edit is made twice


def to_parts(
    channel: Channel,
    message: OutboundMessage,
    *,
    pieces: Sequence[SplitPart] | None = None,
    standing: Sequence[LivePart] = (),
) -> list[OutboxPart]:
    """Return the parts of a message, in order. Run it through `LongTexts` for long texts.

    `pieces` is the text if it is split already. Parts in `standing` are edited if their content differs, and removed if
    the text is shorter now. If the platform cannot recognise a repeated send, a long answer begins with a placeholder,
    because edits can be repeated.
    """
    pieces = split_text(channel, message.text, locale=message.locale) if pieces is None else pieces
    parts = [_part(message, index, piece.rendered, piece.plain) for index, piece in enumerate(pieces)]
    if parts and message.buttons:
        parts[-1] = replace(parts[-1], buttons=message.buttons)
    whole = len(parts) == 1 and not standing
    own = len(parts) > 1 and isinstance(channel, EditsMessages) and not channel.limits.idempotent_sends
    if own and not standing:
        parts[:1] = [waiting_part(channel, message), replace(parts[0], revision=1, action=Action.EDIT)]
    elif standing:
        parts = [new for part in parts for new in _fill(part, standing)] + _surplus(channel, message, pieces, standing)
    return (
        _with_files(channel, message, parts, max(len(pieces), len(standing)), captioned=whole)
        if message.media
        else parts
    )


def split_text(
    channel: Channel, text: str, most: int = MAX_PARTS, *, locale: str | None = None
) -> tuple[SplitPart, ...]:
    """Split a text for a channel, with room for the recovery mark in every part."""
    reserve = _room_for_mark(channel.limits.unit)
    return split(text, channel.renderer, channel.limits, reserve=reserve, most=most, locale=locale)


def recovered_mark(locale: str | None) -> str:
    """Return the mark under a part that may have been sent before."""
    return f"\n\n{HARNESS.text(locale, 'delivery.sent_again')}"


@cache
def _room_for_mark(unit: TextUnit) -> int:
    """Return the room for the longest mark, so that an answer is cut at the same places in every language."""
    return max(unit.measure(recovered_mark(language)) for language in NAMES)


def _fill(part: OutboxPart, standing: Sequence[LivePart]) -> list[OutboxPart]:
    """Return the edits that complete a part in the chat; none if it is complete."""
    if part.number >= len(standing):
        return [part]
    stands = standing[part.number]
    if stands.rendered == part.rendered and not stands.again and not part.buttons:
        return []
    revisions = (stands.next_revision, stands.next_revision + 1) if stands.again else (stands.next_revision,)
    return [replace(part, revision=revision, action=Action.EDIT) for revision in revisions]


def _surplus(
    channel: Channel, message: OutboundMessage, pieces: Sequence[SplitPart], standing: Sequence[LivePart]
) -> list[OutboxPart]:
    """Remove the live parts that the final answer, now shorter, does not need."""
    empty = channel.renderer.plain(NO_MORE)
    action = Action.DELETE if isinstance(channel, DeletesMessages) else Action.EDIT
    return [
        replace(_part(message, index, empty, NO_MORE), revision=standing[index].next_revision, action=action)
        for index in range(len(pieces), len(standing))
    ]


def _with_files(
    channel: Channel, message: OutboundMessage, parts: list[OutboxPart], number: int, *, captioned: bool
) -> list[OutboxPart]:
    """Add files: to the text if it is one short message, else after it as part `number` without text."""
    room = channel.limits.max_caption or channel.limits.max_text
    unit = channel.limits.unit
    length = unit.measure(parts[0].rendered.text) + _room_for_mark(unit) if parts else 0
    if (
        captioned
        and parts[0].action is Action.SEND
        and length <= room
        and (len(message.media) == 1 or not message.buttons)
    ):
        return [replace(parts[0], media=message.media)]
    return [*parts, replace(_part(message, number, Rendered(""), ""), media=message.media)]


def _part(message: OutboundMessage, number: int, rendered: Rendered, plain: str) -> OutboxPart:
    reply_to = message.reply_to if number == 0 else None
    return OutboxPart(
        message.cause,
        number,
        0,
        Action.SEND,
        message.address,
        rendered,
        plain,
        reply_to,
        message.secret_ref,
        reply_route_of=message.reply_route_of,
        buttons_of=message.buttons_of,
        buttons_until=min(filter(None, map(deadline_of, (each.data for each in message.buttons))), default=None),
        locale=message.locale,
    )


def speech_part(message: OutboundMessage, number: int, voice: MediaRef) -> OutboxPart:
    """Return the part that speaks a message, behind its text."""
    return replace(_part(replace(message, buttons=()), number, Rendered(""), ""), media=(voice,))


def waiting_part(channel: Channel, message: OutboundMessage, number: int = 0) -> OutboxPart:
    """Return the placeholder of a part that is still being written."""
    return replace(
        _part(message, number, channel.renderer.plain(WAITING_TEXT), WAITING_TEXT), action=Action.PLACEHOLDER
    )


def filled_part(message: OutboundMessage, number: int, revision: int, piece: SplitPart) -> OutboxPart:
    """Return the row that gives a part its final content."""
    return replace(_part(message, number, piece.rendered, piece.plain), revision=revision, action=Action.EDIT)
