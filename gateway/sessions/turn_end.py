"""The final text of a turn and the parts that say it. Pure: a long text is composed in a thread."""

from collections.abc import Sequence
from dataclasses import replace

from agent.transcript import EndReason
from channels.base import Channel
from gateway.delivery.message_parts import LivePart, OutboundMessage, to_parts
from gateway.delivery.pages import AnswerPages
from gateway.store.outbox import OutboxPart

STOPPED_SIGN = "⏹"
"""Stands for an empty answer that was stopped; the command tells the person."""


def final_text(reason: EndReason, text: str, *, alone_stopped: str, nothing_left: str, is_shown: bool) -> str:
    """Return the text that the turn ends with; "" for a stopped turn of which nothing is shown yet.

    `alone_stopped` and `nothing_left` are the texts of a stopped and of an empty answer.
    """
    if reason is not EndReason.STOPPED:
        return text or nothing_left
    if not is_shown:
        return ""  # the command tells the person who stopped it
    return STOPPED_SIGN if text in {"", alone_stopped} else text


def final_parts(
    channel: Channel,
    answer: OutboundMessage,
    *,
    lines: str,
    nothing_left: str,
    pages: AnswerPages,
    standing: Sequence[LivePart],
) -> list[OutboxPart]:
    """Return the parts of the answer, with its suggested replies as `lines` under it; none of an empty text.

    An answer of which nothing can be shown becomes `nothing_left`, without buttons.
    """
    if not answer.text:
        return []
    is_empty = answer.text == nothing_left
    shown = f"{answer.text}\n\n{lines}" if lines and not is_empty else answer.text
    pieces, buttons = pages.all_of(shown), answer.buttons
    if is_empty or not pieces:
        pieces, buttons = pages.all_of(nothing_left), ()
    return to_parts(channel, replace(answer, text=shown, buttons=buttons), pieces=pieces, standing=standing)
