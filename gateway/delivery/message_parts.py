"""From an answer's Markdown to the outbox parts that say it. Pure; sending them is the lane's work."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from channels.base import Channel, DeletesMessages, EditsMessages
from channels.messages import Address, Button, Rendered
from gateway.delivery.splitter import MAX_PARTS, SplitPart, split
from gateway.store.outbox import Action, MediaRef, NewPart

RECOVERED_MARK = "\n\n(↻ sent again: an interruption left it unclear whether this arrived)"
"""Stands under a part that may have been said before; room for it is kept when splitting."""

WAITING_TEXT = "…"

NO_MORE = "–"
"""Stands where a live answer had a part too many, and nothing can be taken away."""


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """Something to be said, before it is parts."""

    address: Address
    cause: str  # turn id, or what else it answers: unique a thing said
    text: str  # Markdown
    reply_to: str | None = None
    secret_ref: str | None = None
    answers: int | None = None  # the inbox row whose own route may be used
    buttons: tuple[Button, ...] = ()  # under the last part of the text
    media: tuple[MediaRef, ...] = ()  # with the text, or behind it


@dataclass(frozen=True, slots=True)
class StandingPart:
    """What a live answer left in the chat for one part."""

    next_op: int  # of what is to be done with it
    rendered: Rendered | None = None  # what it was told to say for good; None: it does not say all of it yet
    again: bool = False  # a live edit of it may arrive late: the edit that fills it is made twice


def to_parts(
    channel: Channel,
    said: OutboundMessage,
    *,
    pieces: Sequence[SplitPart] | None = None,
    standing: Sequence[StandingPart] = (),
) -> list[NewPart]:
    """The parts that say it, in order. Pure; a long text takes its time, see `gateway.delivery.aside`.

    `pieces` is the text split already. What is `standing` is edited, where it does not say its piece yet, and taken
    away where the text did not come to it. Where the platform cannot tell a repeated send from a new one, an answer of
    several parts begins with a placeholder of its own, because an edit may be repeated.
    """
    pieces = split_text(channel, said.text) if pieces is None else pieces
    parts = [_part(said, index, piece.rendered, piece.plain) for index, piece in enumerate(pieces)]
    if parts:
        parts[-1] = replace(parts[-1], buttons=said.buttons)
    whole = len(parts) == 1 and not standing
    own = len(parts) > 1 and isinstance(channel, EditsMessages) and not channel.limits.idempotent_sends
    if own and not standing:
        parts[:1] = [waiting_part(channel, said), replace(parts[0], op=1, action=Action.EDIT)]
    elif standing:
        parts = [new for part in parts for new in _fill(part, standing)] + _surplus(channel, said, pieces, standing)
    return _with_files(channel, said, parts, max(len(pieces), len(standing)), captioned=whole) if said.media else parts


def split_text(channel: Channel, text: str, most: int = MAX_PARTS) -> tuple[SplitPart, ...]:
    """The text split for a channel, with room for the recovery mark in every part."""
    reserve = channel.limits.unit.measure(RECOVERED_MARK)
    return split(text, channel.renderer, channel.limits, reserve=reserve, most=most)


def _fill(part: NewPart, standing: Sequence[StandingPart]) -> list[NewPart]:
    """What makes the chat say a part: nothing, where it does."""
    if part.part >= len(standing):
        return [part]
    stands = standing[part.part]
    if stands.rendered == part.rendered and not stands.again and not part.buttons:
        return []
    ops = (stands.next_op, stands.next_op + 1) if stands.again else (stands.next_op,)
    return [replace(part, op=op, action=Action.EDIT) for op in ops]


def _surplus(
    channel: Channel, said: OutboundMessage, pieces: Sequence[SplitPart], standing: Sequence[StandingPart]
) -> list[NewPart]:
    """What becomes of parts that the answer did not come to: it was shorter in the end than while it was written."""
    empty = channel.renderer.plain(NO_MORE)
    action = Action.DELETE if isinstance(channel, DeletesMessages) else Action.EDIT
    return [
        replace(_part(said, index, empty, NO_MORE), op=standing[index].next_op, action=action)
        for index in range(len(pieces), len(standing))
    ]


def _with_files(
    channel: Channel, said: OutboundMessage, parts: list[NewPart], number: int, *, captioned: bool
) -> list[NewPart]:
    """Files go with the text where it is one short message of its own, else behind it as part `number` without text."""
    room = channel.limits.max_caption or channel.limits.max_text
    length = channel.limits.unit.measure(parts[0].rendered.text + RECOVERED_MARK) if parts else 0
    if captioned and parts[0].action is Action.SEND and length <= room and (len(said.media) == 1 or not said.buttons):
        return [replace(parts[0], media=said.media)]
    return [*parts, replace(_part(said, number, Rendered(""), ""), media=said.media)]


def _part(said: OutboundMessage, index: int, rendered: Rendered, plain: str) -> NewPart:
    reply_to = said.reply_to if index == 0 else None
    return NewPart(
        said.cause,
        index,
        0,
        Action.SEND,
        said.address,
        rendered,
        plain,
        reply_to,
        said.secret_ref,
        answers=said.answers,
    )


def waiting_part(channel: Channel, said: OutboundMessage, number: int = 0) -> NewPart:
    """The placeholder of an answer's part that is still being written."""
    return replace(_part(said, number, channel.renderer.plain(WAITING_TEXT), WAITING_TEXT), action=Action.PLACEHOLDER)


def filled_part(said: OutboundMessage, number: int, op: int, piece: SplitPart) -> NewPart:
    """A part that stands, to say its piece from now on."""
    return replace(_part(said, number, piece.rendered, piece.plain), op=op, action=Action.EDIT)
