"""An answer's Markdown becomes the outbox parts that say it. Pure; sending them is the lane's work."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from agent.catalogue import NAMES
from channels.base import Channel, DeletesMessages, EditsMessages, TextUnit
from channels.messages import Address, Button, Rendered
from gateway.delivery.splitter import MAX_PARTS, SplitPart, split
from gateway.store.outbox import Action, MediaRef, OutboxPart
from gateway.texts import HARNESS

WAITING_TEXT = "…"

NO_MORE = "–"
"""Stands where a live answer had a part too many, and nothing can be taken away."""


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """Something to be said, before it is parts."""

    address: Address
    source_id: str  # turn id, or what else it answers: unique a thing said
    text: str  # Markdown
    reply_to: str | None = None
    secret_ref: str | None = None
    reply_route_of: int | None = None  # the inbox row whose own route may be used
    buttons: tuple[Button, ...] = ()  # under the last part of the text
    media: tuple[MediaRef, ...] = ()  # with the text, or behind it
    locale: str | None = None  # BCP 47; of what delivery says about it


@dataclass(frozen=True, slots=True)
class StandingPart:
    """What a live answer left in the chat for one part."""

    next_revision: int  # of what is to be done with it
    rendered: Rendered | None = None  # what it was told to say for good; None: it does not say all of it yet
    again: bool = False  # a live edit of it may arrive late: the edit that fills it is made twice


def to_parts(
    channel: Channel,
    message: OutboundMessage,
    *,
    pieces: Sequence[SplitPart] | None = None,
    standing: Sequence[StandingPart] = (),
) -> list[OutboxPart]:
    """The parts that say it, in order. Pure; a long text takes its time, see `LongTexts`.

    `pieces` is the text split already. What is `standing` is edited, where it does not say its piece yet, and taken
    away where the text did not come to it. Where the platform cannot tell a repeated send from a new one, an answer of
    several parts begins with a placeholder of its own, because an edit may be repeated.
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
    """The text split for a channel, with room for the recovery mark in every part."""
    reserve = _room_for_mark(channel.limits.unit)
    return split(text, channel.renderer, channel.limits, reserve=reserve, most=most, locale=locale)


def recovered_mark(locale: str | None) -> str:
    """What stands under a part that may have been said before."""
    return f"\n\n{HARNESS.text(locale, 'delivery.sent_again')}"


@cache
def _room_for_mark(unit: TextUnit) -> int:
    """The longest of them: an answer is cut in the same places in every language."""
    return max(unit.measure(recovered_mark(language)) for language in NAMES)


def _fill(part: OutboxPart, standing: Sequence[StandingPart]) -> list[OutboxPart]:
    """What makes the chat say a part: nothing, where it does."""
    if part.number >= len(standing):
        return [part]
    stands = standing[part.number]
    if stands.rendered == part.rendered and not stands.again and not part.buttons:
        return []
    revisions = (stands.next_revision, stands.next_revision + 1) if stands.again else (stands.next_revision,)
    return [replace(part, revision=revision, action=Action.EDIT) for revision in revisions]


def _surplus(
    channel: Channel, message: OutboundMessage, pieces: Sequence[SplitPart], standing: Sequence[StandingPart]
) -> list[OutboxPart]:
    """What becomes of parts that the answer did not come to: it was shorter in the end than while it was written."""
    empty = channel.renderer.plain(NO_MORE)
    action = Action.DELETE if isinstance(channel, DeletesMessages) else Action.EDIT
    return [
        replace(_part(message, index, empty, NO_MORE), revision=standing[index].next_revision, action=action)
        for index in range(len(pieces), len(standing))
    ]


def _with_files(
    channel: Channel, message: OutboundMessage, parts: list[OutboxPart], number: int, *, captioned: bool
) -> list[OutboxPart]:
    """Files go with the text where it is one short message of its own, else behind it as part `number` without text."""
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
        message.source_id, number, 0, Action.SEND, message.address, rendered, plain, reply_to, message.secret_ref,
        reply_route_of=message.reply_route_of, locale=message.locale,
    )  # fmt: skip


def waiting_part(channel: Channel, message: OutboundMessage, number: int = 0) -> OutboxPart:
    """The placeholder of an answer's part that is still being written."""
    return replace(
        _part(message, number, channel.renderer.plain(WAITING_TEXT), WAITING_TEXT), action=Action.PLACEHOLDER
    )


def filled_part(message: OutboundMessage, number: int, revision: int, piece: SplitPart) -> OutboxPart:
    """A part that stands, to say its piece from now on."""
    return replace(_part(message, number, piece.rendered, piece.plain), revision=revision, action=Action.EDIT)
