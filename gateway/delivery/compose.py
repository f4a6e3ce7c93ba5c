"""From an answer's Markdown to the outbox parts that say it. Pure; sending them is the lane's work."""

from channels.base import Channel, EditsMessages
from channels.messages import Address
from gateway.delivery.splitting import split
from gateway.store.outbox import Action, NewPart

RECOVERED_MARK = "\n\n(↻ sent again: an interruption left it unclear whether this arrived)"
"""Stands under a part that may have been said before; room for it is kept when splitting."""

WAITING_TEXT = "…"


def compose(
    channel: Channel,
    address: Address,
    cause: str,
    text: str,
    *,
    reply_to: str | None = None,
    placeholder: bool = False,
    again: bool = False,
    secret_ref: str | None = None,
) -> list[NewPart]:
    """The parts of one answer, in order.

    Where a placeholder stands (`placeholder`), the first part is its edit. Where the platform cannot tell a repeated
    send from a new one, an answer of several parts begins with a placeholder of its own, because an edit may be
    repeated. `again` repeats the final edit: a live edit that timed out may still arrive behind the first.
    """
    pieces = split(text, channel.renderer, channel.limits, reserve=channel.limits.unit.measure(RECOVERED_MARK))
    parts = [
        NewPart(
            cause, index, 0, Action.SEND, address, piece.rendered, piece.plain,
            reply_to if index == 0 else None, secret_ref,
        )
        for index, piece in enumerate(pieces)
    ]  # fmt: skip
    if not parts:
        return []
    first = parts[0]
    own = (
        not placeholder
        and len(parts) > 1
        and isinstance(channel, EditsMessages)
        and not channel.limits.idempotent_sends
    )
    if placeholder or own:
        edits = [
            NewPart(cause, 0, op, Action.EDIT, address, first.rendered, first.plain, reply_to, secret_ref)
            for op in ((1, 2) if again else (1,))
        ]
        parts[:1] = ([waiting_part(channel, address, cause, reply_to)] if own else []) + edits
    return parts


def waiting_part(channel: Channel, address: Address, cause: str, reply_to: str | None) -> NewPart:
    """The placeholder of an answer that is still being written."""
    return NewPart(
        cause, 0, 0, Action.PLACEHOLDER, address, channel.renderer.plain(WAITING_TEXT), WAITING_TEXT, reply_to
    )
