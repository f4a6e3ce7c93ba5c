"""An answer is told word by word to a channel that follows it: a program that streams. Nothing of it is stored.

What is told is the answer so far as a person may see it, so that what turns out to be void can be taken back. The final
comes by the outbox as everywhere, and is the truth.
"""

import asyncio
from collections.abc import Callable

from channels.base import FollowsAnswers
from channels.messages import Address

EVERY_S = 0.05
"""Least time between two looks: nobody reads faster, and each look is at the whole text."""

MOST_CHARS = 20_000
"""Beyond this the rest comes with the final: a look at so much costs milliseconds."""


class FollowedAnswer:
    """The text of one turn so far, told to who follows it."""

    def __init__(self, channel: FollowsAnswers, address: Address, turn_id: str, clean: Callable[[str], str]) -> None:
        """Nothing is written yet."""
        self._channel = channel
        self._address = address
        self._turn_id = turn_id
        self._clean = clean
        self._pieces: list[str] = []
        self._chars = 0
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, text: str) -> None:
        """More of the answer."""
        self._pieces.append(text)
        self._chars += len(text)
        self._plan()

    def begin_anew(self, text: str) -> None:
        """All there is of the answer is this."""
        self._pieces, self._chars = [text], len(text)
        self._plan()

    def end(self) -> None:
        """Tell what was not told yet, and no more after it."""
        if self._timer is not None:
            self._tell()

    def cancel(self) -> None:
        """Tell no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _plan(self) -> None:
        if self._timer is None and self._chars <= MOST_CHARS and self._channel.is_followed(self._address):
            self._timer = asyncio.get_running_loop().call_later(EVERY_S, self._tell)

    def _tell(self) -> None:
        self.cancel()
        if self._chars > MOST_CHARS:
            return
        self._pieces = ["".join(self._pieces)]
        self._channel.follow(self._address, self._turn_id, self._clean(self._pieces[0]).strip())
