"""Watchers that pass a running turn to terminals and programs: its growing text and its steps, none of them stored."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from agent.catalogue import Catalogue
from agent.ports import TextDelta, TextDiscarded, TurnEvent
from agent.turn_events import Watcher
from agent.turn_progress import ModelAnswered, ToolEnded, ToolProgress, ToolStarted, TurnFinished
from agent.wellformed import cut_text
from channels.base import Channel, FollowsAnswers, FollowsSteps
from channels.messages import Address
from channels.turn_steps import MAX_STEP_CHARS, TasksListed, TokensSpent, ToolAnswered, ToolCalled, TurnClosed, TurnStep
from gateway.delivery.live_answer import pinned_text
from gateway.store.journal import TurnRow

EVERY_S = 0.05
"""Seconds between two updates for followers; each processes the whole text."""

MOST_CHARS = 20_000
"""Longer texts come with the final answer only, because each update would cost milliseconds."""


class FollowedAnswer:
    """The growing text of one turn, for viewers that follow it."""

    def __init__(self, channel: FollowsAnswers, address: Address, turn_id: str, clean: Callable[[str], str]) -> None:
        """Take the function that turns model text into what a person may see."""
        self._channel = channel
        self._address = address
        self._turn_id = turn_id
        self._clean = clean
        self._pieces: list[str] = []
        self._chars = 0
        self._timer: asyncio.TimerHandle | None = None

    def note(self, event: TurnEvent) -> None:
        """Process an event of the turn, without waiting."""
        if isinstance(event, TextDelta):
            self._pieces.append(event.text)
            self._chars += len(event.text)
            self._plan()
        elif isinstance(event, TextDiscarded):
            self._pieces, self._chars = [event.kept_text], len(event.kept_text)
            self._plan()
        elif isinstance(event, TurnFinished) and self._timer is not None:
            self._timer.cancel()  # the final answer is on its way

    def _plan(self) -> None:
        if self._timer is None and self._chars <= MOST_CHARS and self._channel.is_followed(self._address):
            self._timer = asyncio.get_running_loop().call_later(EVERY_S, self._tell)

    def _tell(self) -> None:
        self._timer = None
        if self._chars <= MOST_CHARS:
            self._pieces = ["".join(self._pieces)]
            self._channel.follow(self._address, self._turn_id, self._clean(self._pieces[0]).strip())


@dataclass(frozen=True, slots=True)
class FollowedSteps:
    """The steps of one turn, for viewers that follow it."""

    channel: FollowsSteps
    turn: TurnRow
    clean: Callable[[str], str]  # from the agent's text to what a person may see
    texts: Catalogue
    locale: str | None

    def note(self, event: TurnEvent) -> None:
        """Process an event of the turn, without waiting."""
        if self.channel.is_followed(self.turn.address) and (step := self._to_step(event)) is not None:
            self.channel.follow_step(self.turn.address, self.turn.id, step)

    def _to_step(self, event: TurnEvent) -> TurnStep | None:
        match event:
            case ToolStarted():
                return ToolCalled(event.call_key, event.name, self._shorten(event.arguments))
            case ToolEnded():
                result = self._shorten(event.content)
                return ToolAnswered(event.call_key, event.name, event.outcome.value, result, event.took_s)
            case ModelAnswered(model, usage):
                cost_usd = None if usage.cost_microusd is None else usage.cost_microusd / 1_000_000
                return TokensSpent(model, usage.input_tokens, usage.output_tokens, cost_usd)
            case ToolProgress(stays=True):
                return TasksListed(self.clean(pinned_text(self.texts, self.locale, event)))
            case TurnFinished(reason):
                return TurnClosed(reason.value)
            case _:
                return None

    def _shorten(self, text: str) -> str:
        return cut_text(self.clean(text), MAX_STEP_CHARS)


def followers(
    channel: Channel, turn: TurnRow, clean: Callable[[str], str], texts: Catalogue, locale: str | None
) -> tuple[Watcher, ...]:
    """Return watchers for the turn's channel: those of what it follows."""
    found: list[Watcher] = []
    if isinstance(channel, FollowsAnswers):
        found.append(FollowedAnswer(channel, turn.address, turn.id, clean).note)
    if isinstance(channel, FollowsSteps):
        found.append(FollowedSteps(channel, turn, clean, texts, locale).note)
    return tuple(found)
