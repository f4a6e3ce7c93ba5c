"""A typed "yes" or number becomes the press of the button it names, if its offer is the last word in the chat."""

from datetime import datetime, timedelta

from channels.messages import ButtonPressed, InboundEvent, InboundMessage
from gateway.access.buttons import SealedButtons, short_id
from gateway.commands.decisions import SAY
from gateway.store import offers
from gateway.store.engine import Connection

YES = frozenset({"yes", "sí", "si"})
MOST_CHARS = 8
HOLDS = timedelta(days=1)
"""How long the press can be opened that is made of a typed answer."""


def may_answer(event: InboundEvent) -> bool:
    """Return whether a message has the form of an answer; nearly none has."""
    if not isinstance(event, InboundMessage) or len(event.text) > MOST_CHARS or event.edited or event.forwarded:
        return False
    return not event.attachments and _answer(event.text) is not None


def _answer(text: str) -> int | None:
    """Return the number that is typed, 0 for yes, None for anything else."""
    said = text.strip().rstrip(".!").casefold()
    if said in YES:
        return 0
    return int(said) if said.isdecimal() and len(said) == 1 and said != "0" else None


def to_press(
    connection: Connection, event: InboundEvent, session_key: str, user_id: str, seals: SealedButtons, now: datetime
) -> InboundEvent:
    """Return the press that a typed answer stands for, or the message as it is."""
    answer = _answer(event.text) if isinstance(event, InboundMessage) else None
    if answer is None or not isinstance(event, InboundMessage):
        return event
    offer = offers.newest(connection, event.tenant, session_key, user_id)
    message = None if offer is None else offers.message_of(connection, offer.turn_id)
    if offer is None or message is None:
        return event
    index = next((at for at, reply in enumerate(offer.replies) if reply.is_yes), -1) if answer == 0 else answer - 1
    if not 0 <= index < len(offer.replies):
        return event
    if not offers.is_last_word(connection, offer.turn_id, message[0], event.address):
        return event
    account = f"{event.address.channel}:{event.address.account}"
    data = seals.seal(SAY, f"{short_id(offer.turn_id)}.{index}", user_id, account, now + HOLDS)
    return ButtonPressed(
        event_id=event.event_id, address=event.address, sender=event.sender, received_at=event.received_at,
        tenant=event.tenant, message_id=message[1], kind=event.kind, data=data, locale=event.locale,
    )  # fmt: skip
