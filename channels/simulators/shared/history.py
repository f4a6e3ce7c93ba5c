"""Every simulator remembers in the same way the calls that arrived, and the changes of a message.

Ids are numbers on one platform and words on another, hence `Id`. What else there is to remember is each platform's.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Generic, TypeVar

Id = TypeVar("Id")  # int or str

HISTORY_KEPT = 200_000  # calls remembered; older ones are forgotten


class Refused(Exception):
    """A call that is not carried out. Each platform has its own, with what its answer says."""


@dataclass(slots=True)
class Edit:
    """One change of a message."""

    text: str
    at_s: float  # time.monotonic() of the simulator


@dataclass(frozen=True, slots=True)
class Arrived(Generic[Id]):
    """One call that arrived, whatever became of it (plain reads are not kept)."""

    seq: int  # ascending over the whole simulator
    bot_id: Id
    method: str  # as the platform spells it
    chat_id: Id | None
    message_id: Id | None  # the message sent, edited, deleted or reacted to
    text: str | None
    status: int  # HTTP status of the answer; 0: the connection was cut
    applied: bool  # whether it took effect
    description: str  # of a refusal
    at_s: float  # time.monotonic() of the simulator


class CallLog(Generic[Id]):
    """The calls that came in, oldest first."""

    def __init__(self) -> None:
        self._calls: deque[Arrived[Id]] = deque(maxlen=HISTORY_KEPT)
        self._seq = 0

    @property
    def newest_seq(self) -> int:
        """The `seq` of the newest call; 0 before the first."""
        return self._seq

    def record(
        self,
        bot_id: Id,
        method: str,
        *,
        chat_id: Id | None,
        message_id: Id | None,
        text: str | None,
        status: int,
        applied: bool,
        description: str = "",
    ) -> None:
        """Remember a call that came in."""
        self._seq += 1
        at_s = time.monotonic()
        self._calls.append(
            Arrived(self._seq, bot_id, method, chat_id, message_id, text, status, applied, description, at_s)
        )

    def history(self, chat_id: Id | None = None, *, after: int = 0) -> list[Arrived[Id]]:
        """The calls with a `seq` above `after`; with `chat_id` only those for this chat."""
        newest_first = takewhile(lambda call: call.seq > after, reversed(self._calls))
        return [call for call in newest_first if chat_id is None or call.chat_id == chat_id][::-1]


B = TypeVar("B")  # a platform's bot
P = TypeVar("P")  # a platform's person


class BotWorld(CallLog[int], Generic[B, P]):
    """Who is there, and the calls the bots made."""

    def __init__(self, new_person: Callable[[int, str], P]) -> None:
        """`new_person` makes somebody of a number and a name."""
        super().__init__()
        self.bots: dict[str, B] = {}  # by token
        self.people: dict[int, P] = {}
        self._new_person = new_person

    def bot(self, token: str | None = None) -> B:
        """The bot of `token`, or the first one.

        Raises:
            LookupError: there is none yet.
        """
        if token is not None:
            return self.bots[token]
        if not self.bots:
            raise LookupError("no bot yet: add_bot(token) first, or let a bot call in")
        return next(iter(self.bots.values()))

    def person(self, person_id: int) -> P:
        """Somebody by id; a new one is called Person and their number."""
        if person_id not in self.people:
            self.people[person_id] = self._new_person(person_id, f"Person {person_id}")
        return self.people[person_id]
