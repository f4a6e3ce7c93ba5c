"""From an answer's Markdown to the outbox parts that say it. Pure; sending them is the lane's work."""

from dataclasses import dataclass, replace

from channels.base import Channel, EditsMessages
from channels.messages import Address, Button, Rendered
from gateway.delivery.splitting import split
from gateway.store.outbox import Action, MediaRef, NewPart

RECOVERED_MARK = "\n\n(↻ sent again: an interruption left it unclear whether this arrived)"
"""Stands under a part that may have been said before; room for it is kept when splitting."""

WAITING_TEXT = "…"


@dataclass(frozen=True, slots=True)
class Said:
    """Something to be said, before it is parts."""

    address: Address
    cause: str  # turn id, or what else it answers: unique a thing said
    text: str  # Markdown
    reply_to: str | None = None
    secret_ref: str | None = None
    answers: int | None = None  # the inbox row whose own route may be used
    buttons: tuple[Button, ...] = ()  # under the last part of the text
    media: tuple[MediaRef, ...] = ()  # with the text, or behind it


def compose(channel: Channel, said: Said, *, placeholder: bool = False, again: bool = False) -> list[NewPart]:
    """The parts that say it, in order.

    Where a placeholder stands (`placeholder`), the first part is its edit. Where the platform cannot tell a repeated
    send from a new one, an answer of several parts begins with a placeholder of its own, because an edit may be
    repeated. `again` repeats the final edit: a live edit that timed out may still arrive behind the first.
    """
    pieces = split(said.text, channel.renderer, channel.limits, reserve=channel.limits.unit.measure(RECOVERED_MARK))
    parts = [_part(said, index, piece.rendered, piece.plain) for index, piece in enumerate(pieces)]
    if parts:
        parts[-1] = replace(parts[-1], buttons=said.buttons)
    own = len(parts) > 1 and isinstance(channel, EditsMessages) and not channel.limits.idempotent_sends
    if placeholder or own:
        edits = [replace(parts[0], op=op, action=Action.EDIT) for op in ((1, 2) if again else (1,))]
        parts[:1] = edits if placeholder else [waiting_part(channel, said), *edits]
    return _with_files(channel, said, parts, captioned=len(parts) == 1) if said.media else parts


def _with_files(channel: Channel, said: Said, parts: list[NewPart], *, captioned: bool) -> list[NewPart]:
    """Files go with the text where it is one short message of its own, else behind it as a part without text."""
    room = channel.limits.max_caption or channel.limits.max_text
    length = channel.limits.unit.measure(parts[0].rendered.text + RECOVERED_MARK) if parts else 0
    if captioned and parts[0].action is Action.SEND and length <= room and (len(said.media) == 1 or not said.buttons):
        return [replace(parts[0], media=said.media)]
    number = parts[-1].part + 1 if parts else 0
    return [*parts, replace(_part(said, number, Rendered(""), ""), media=said.media)]


def _part(said: Said, index: int, rendered: Rendered, plain: str) -> NewPart:
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


def waiting_part(channel: Channel, said: Said) -> NewPart:
    """The placeholder of an answer that is still being written."""
    return replace(_part(said, 0, channel.renderer.plain(WAITING_TEXT), WAITING_TEXT), action=Action.PLACEHOLDER)
