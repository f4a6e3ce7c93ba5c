"""The text of an answer so far, for channels on which people follow it word by word."""

import asyncio
from collections.abc import Callable

from agent.ports import TextDelta, TextDiscarded, TurnEvent
from agent.turn_events import Watcher
from agent.turn_progress import TurnFinished
from channels.base import Channel, FollowsAnswers
from channels.messages import Address
from gateway.store.journal import TurnRow

EVERY_S = 0.05
"""Least time between two looks: nobody reads faster, and each look is at the whole text."""

MOST_CHARS = 20_000
"""Beyond this the rest comes with the final: a look at so much costs milliseconds."""


class FollowedAnswer:
    """The text of one turn so far, told to who follows it."""

    def __init__(self, channel: FollowsAnswers, address: Address, turn_id: str, clean: Callable[[str], str]) -> None:
        """Nothing is written yet. `clean` makes of a model's text what a person may see."""
        self._channel = channel
        self._address = address
        self._turn_id = turn_id
        self._clean = clean
        self._pieces: list[str] = []
        self._chars = 0
        self._timer: asyncio.TimerHandle | None = None

    def note(self, event: TurnEvent) -> None:
        """What happened in the turn; it never waits."""
        if isinstance(event, TextDelta):
            self._pieces.append(event.text)
            self._chars += len(event.text)
            self._plan()
        elif isinstance(event, TextDiscarded):
            self._pieces, self._chars = [event.stands], len(event.stands)
            self._plan()
        elif isinstance(event, TurnFinished) and self._timer is not None:
            self._timer.cancel()  # the final is on its way

    def _plan(self) -> None:
        if self._timer is None and self._chars <= MOST_CHARS and self._channel.is_followed(self._address):
            self._timer = asyncio.get_running_loop().call_later(EVERY_S, self._tell)

    def _tell(self) -> None:
        self._timer = None
        if self._chars <= MOST_CHARS:
            self._pieces = ["".join(self._pieces)]
            self._channel.follow(self._address, self._turn_id, self._clean(self._pieces[0]).strip())


def followers(channel: Channel, turn: TurnRow, clean: Callable[[str], str]) -> tuple[Watcher, ...]:
    """Who reads along in the place where a turn answers: nobody, unless its channel follows answers."""
    if not isinstance(channel, FollowsAnswers):
        return ()
    return (FollowedAnswer(channel, turn.address, turn.id, clean).note,)
