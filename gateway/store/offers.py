"""Offers: what an answer suggests to say or to do next, read from the journal. The newest one of a person holds."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from agent.journal import suggested_replies
from agent.transcript import SuggestedReply
from channels.messages import INBOUND_EVENT, Address, InboundEvent
from gateway.store import journal
from gateway.store.tables.traffic import inbox, outbox

MOST_TURNS = 20
"""Ended turns of a person that are looked at; an offer behind more is outdated."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The suggestions of one answer."""

    turn_id: str
    replies: tuple[SuggestedReply, ...]


def of_turn(connection: sa.Connection, turn_id: str) -> Offer:
    """Return what the answer of a turn offered."""
    return Offer(turn_id, suggested_replies(journal.events_of_turn(connection, turn_id)))


def suggestion(connection: sa.Connection, turn_id: str, index: int) -> SuggestedReply | None:
    """Return one suggestion of an answer, or None."""
    replies = of_turn(connection, turn_id).replies
    return replies[index] if index < len(replies) else None


def newest(connection: sa.Connection, tenant: str, key: str, user_id: str) -> Offer | None:
    """Return the newest offer to a person in the living conversation of a key, or None."""
    for turn_id in journal.ended_of(connection, tenant, key, user_id, MOST_TURNS):
        offer = of_turn(connection, turn_id)
        if offer.replies:
            return offer
    return None


def message_of(connection: sa.Connection, turn_id: str) -> tuple[int, str] | None:
    """Return the outbox id and the platform's id of the last message of a turn's answer, or None."""
    ours = sa.and_(outbox.c.cause >= turn_id, outbox.c.cause < f"{turn_id}/")  # the turn's, and "turn.2" behind a wait
    query = sa.select(outbox.c.id, outbox.c.platform_id).where(ours, outbox.c.platform_id.is_not(None))
    found = connection.execute(query.order_by(outbox.c.part.desc(), outbox.c.id.desc()).limit(1)).first()
    return None if found is None else (found.id, found.platform_id)


def is_last_word(connection: sa.Connection, turn_id: str, outbox_id: int, address: Address) -> bool:
    """Return whether nothing was said in the chat since this answer, by anybody."""
    rows = sa.select(sa.func.max(inbox.c.id)).where(inbox.c.turn_id == turn_id)
    last_id = connection.execute(rows).scalar() or 0
    here = (inbox.c.channel == address.channel, inbox.c.account == address.account, inbox.c.chat == address.chat)
    heard = sa.select(inbox.c.id).where(inbox.c.id > last_id, *here).limit(1)
    said = sa.select(outbox.c.id).where(outbox.c.id > outbox_id, outbox.c.lane == address.lane, outbox.c.op == 0)
    return connection.execute(heard).first() is None and connection.execute(said.limit(1)).first() is None


def taken_words(connection: sa.Connection, event: InboundEvent) -> str:
    """Return the words that an earlier press under the same answer chose; "" if they are not kept."""
    same = (
        inbox.c.channel == event.address.channel,
        inbox.c.account == event.address.account,
        inbox.c.event_id == event.event_id,
    )
    payload = connection.execute(sa.select(inbox.c.payload).where(*same)).scalar()
    if not payload:
        return ""
    taken = INBOUND_EVENT.validate_json(payload)
    return str(getattr(taken, "text", None) or getattr(taken, "arguments", ""))


def label_of(replies: Sequence[SuggestedReply], words: str) -> str:
    """Return what the button with these words says; "" if there is none."""
    return next((reply.label for reply in replies if reply.words == words), "")
