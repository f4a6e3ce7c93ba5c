"""Every simulator remembers in the same way the calls that arrived, and the changes of a message.

Ids are numbers on one platform and words on another, hence `Id`. What else there is to remember is each platform's.
"""

import time
from collections import deque
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
