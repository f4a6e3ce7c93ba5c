"""Puts together what a client split by itself: an album, or a paste longer than one message. Pure, over admitted rows.

Whether two rows belong together depends on the rows alone, so that a restart joins as the first life would have.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

from channels.base import Limits
from channels.messages import InboundMessage
from gateway.store.inbox import InboxRow

JOIN_WITHIN = timedelta(seconds=1.5)
NEAR_LIMIT = 100
"""Units below a platform's limit from which on a text is taken for the beginning of a longer one."""


def open_until(row: InboxRow, limits: Limits) -> datetime | None:
    """Until when more of this message may come; None where it is whole."""
    event = row.event
    if not isinstance(event, InboundMessage) or event.edited:
        return None
    if event.album is None and limits.unit.measure(event.text) < limits.max_text - NEAR_LIMIT:
        return None
    return row.admitted_at + JOIN_WITHIN


def belongs(last: InboxRow, following: InboxRow, limits: Limits) -> bool:
    """Whether a row goes on with the message that `last` ends, so far."""
    until = open_until(last, limits)
    first, more = last.event, following.event
    if until is None or following.admitted_at > until or following.user_id != last.user_id:
        return False
    if not isinstance(first, InboundMessage) or not isinstance(more, InboundMessage) or more.edited:
        return False
    if (first.forwarded, first.forwarded_from) != (more.forwarded, more.forwarded_from):
        return False  # own words beside somebody else's
    return first.album == more.album and more.quoted in ((), first.quoted)


def joined(rows: Sequence[InboxRow]) -> InboxRow:
    """The rows as one, under the first one's id: texts put together, files side by side."""
    messages = [row.event for row in rows if isinstance(row.event, InboundMessage)]
    if len(rows) == 1 or len(messages) != len(rows):
        return rows[0]
    text = messages[0].text
    for before, after in pairwise(messages):
        text += after.text if not before.text or before.text[-1:].isspace() else f"\n{after.text}"
    files = tuple(file for message in messages for file in message.attachments)
    return replace(rows[0], event=replace(messages[0], text=text.strip(), attachments=files))
