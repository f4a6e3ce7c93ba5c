"""Typed answers: "yes", "no" or a number as the press of a button under the last message of a chat."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from channels.messages import ButtonPressed, InboundEvent, InboundMessage
from gateway.access.buttons import ButtonContent, SealedButtons, short_id
from gateway.commands.decisions import DECLINE, NO_WORDS, SAY, YES_WORDS
from gateway.store import offers, standing_buttons
from gateway.store.engine import Connection
from gateway.store.standing_buttons import StandingButtons

YES, NO = frozenset({"yes", "sí", "si"}), frozenset({"no"})
MOST_CHARS = 8
HOLDS = timedelta(days=1)
"""Validity of the press that a typed answer is turned into."""


def may_answer(event: InboundEvent) -> bool:
    """Return True if a message has the form of an answer to buttons."""
    if not isinstance(event, InboundMessage) or len(event.text) > MOST_CHARS or event.edited or event.forwarded:
        return False
    return not event.attachments and _answer(event.text) != ""


def _answer(text: str) -> str:
    """Return "yes", "no" or the typed digit; "" for anything else."""
    said = text.strip().rstrip(".!").casefold()
    if said in YES | NO:
        return "yes" if said in YES else "no"
    return said if said.isdecimal() and len(said) == 1 and said != "0" else ""


@dataclass(frozen=True, slots=True)
class TypedAnswer:
    """A message that may answer a question, and what finds its button."""

    event: InboundMessage
    session_key: str
    user_id: str
    seals: SealedButtons
    now: datetime

    def to_press(self, connection: Connection) -> InboundEvent:
        """Return the press of the button that the answer names, or the message unchanged."""
        event, answer = self.event, _answer(self.event.text)
        asked = standing_buttons.last_said(connection, event.address, self.now)
        found = self._under_answer(connection, answer) if asked is None else self._under_reply(asked, answer)
        if found is None:
            return event
        data, message_id = found
        return ButtonPressed(
            event_id=event.event_id,
            address=event.address,
            sender=event.sender,
            received_at=event.received_at,
            tenant=event.tenant,
            message_id=message_id,
            kind=event.kind,
            data=data,
            locale=event.locale,
        )

    def _under_reply(self, asked: StandingButtons, answer: str) -> tuple[str, str] | None:
        """Return the button of a command's question that is meant, with its message; None if it asks no yes or no."""
        opened = [(self.seals.open(each.data, self.user_id, self._account, self.now), each) for each in asked.buttons]
        theirs = [(content.word, button) for content, button in opened if isinstance(content, ButtonContent)]
        if sum(word in YES_WORDS for word, _ in theirs) != 1:
            return None
        if answer == "no" and len(theirs) == 1:
            return self._seal(DECLINE, str(asked.id)), asked.platform_id
        wanted = {"yes": YES_WORDS, "no": NO_WORDS}.get(answer, frozenset())
        pressed = [button.data for word, button in theirs if word in wanted]
        return (pressed[0], asked.platform_id) if pressed else None

    def _under_answer(self, connection: Connection, answer: str) -> tuple[str, str] | None:
        """Return the suggestion of the newest answer that is meant, with its message, or None."""
        offer = offers.newest(connection, self.event.tenant, self.session_key, self.user_id)
        message = None if offer is None else offers.message_of(connection, offer.turn_id)
        if offer is None or message is None or answer == "no":
            return None
        said_yes = (at for at, reply in enumerate(offer.replies) if reply.is_yes)
        index = next(said_yes, -1) if answer == "yes" else int(answer) - 1
        if not 0 <= index < len(offer.replies):
            return None
        if not offers.is_last_word(connection, offer.turn_id, message[0], self.event.address):
            return None
        return self._seal(SAY, f"{short_id(offer.turn_id)}.{index}"), message[1]

    @property
    def _account(self) -> str:
        return f"{self.event.address.channel}:{self.event.address.account}"

    def _seal(self, word: str, subject: str) -> str:
        return self.seals.seal(word, subject, self.user_id, self._account, self.now + HOLDS)
