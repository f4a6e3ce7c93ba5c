"""Causes of messages in chats, by kind: a message is said once for its cause.

Messages to other sessions are events of the channel `system`, see `handover`.
"""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class AnswerOf:
    """The answer of a turn, from its placeholder on."""

    kind: ClassVar[str] = "answer"
    turn_id: str
    waits: int = 0  # how often the turn has waited for its person: what it said before is not overwritten

    def __str__(self) -> str:
        return f"{self.turn_id}.{self.waits}" if self.waits else self.turn_id


@dataclass(frozen=True, slots=True)
class QuestionOf(AnswerOf):
    """The question of a turn if a tool may run; it takes the place of the answer so far."""

    kind: ClassVar[str] = "question"


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """The reply to a command, a button or a message that becomes no turn."""

    kind: ClassVar[str] = "reply"
    inbox_id: int

    def __str__(self) -> str:
        return f"inbox:{self.inbox_id}"


@dataclass(frozen=True, slots=True)
class DueReply(ReplyTo):
    """The words of a command that the gateway itself asked for."""

    kind: ClassVar[str] = "reminder"


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice of the gateway's own."""

    kind: ClassVar[str] = "notice"
    name: str
    key: str

    def __str__(self) -> str:
        return f"{self.name}:{self.key}"


@dataclass(frozen=True, slots=True)
class Undelivered:
    """The notice that something could not be delivered, in the chat where it should have been."""

    kind: ClassVar[str] = "undelivered"
    of: str

    def __str__(self) -> str:
        return f"dead:{self.of}"


HEARD = "heard"
"""Name of the notices that show what was heard in a voice message; its inbox row's id is their key."""

Cause = AnswerOf | QuestionOf | ReplyTo | DueReply | Notice | Undelivered

_OF_TURNS = {each.kind: each for each in (AnswerOf, QuestionOf)}
_OF_ROWS = {each.kind: each for each in (ReplyTo, DueReply)}


def read_cause(kind: str, text: str) -> Cause:
    """Return a cause as its row keeps it.

    Raises:
        ValueError: there is no such kind.
    """
    if (of_turn := _OF_TURNS.get(kind)) is not None:
        turn_id, _, waits = text.partition(".")
        return of_turn(turn_id, int(waits or 0))
    if (of_row := _OF_ROWS.get(kind)) is not None:
        return of_row(int(text.removeprefix("inbox:")))
    name, _, key = text.partition(":")
    if kind == Undelivered.kind:
        return Undelivered(key)
    if kind == Notice.kind:
        return Notice(name, key)
    raise ValueError(f"nothing is said of the kind {kind!r}")
