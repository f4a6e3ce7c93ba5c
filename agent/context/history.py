"""What stands in a prompt of earlier turns: all of the person's own, of others' what all could read; pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from agent.transcript import (
    AssistantItem,
    JournalEvent,
    Steered,
    Transcript,
    TurnEnded,
    TurnStarted,
    UserItem,
    fold,
)


@dataclass(frozen=True)
class PastTurn:
    """One ended turn of a session."""

    user_id: str  # whom it acted for
    events: tuple[JournalEvent, ...]

    def events_for(self, user_id: str) -> Iterable[JournalEvent]:
        """What of the turn may stand in a prompt of this person."""
        return self.events if self.user_id == user_id else _seen_by_all(self.events)

    def items_for(self, user_id: str) -> Transcript:
        """The same, folded; worked out once."""
        return self._own if self.user_id == user_id else self._public

    @cached_property
    def _own(self) -> Transcript:
        return fold(self.events)

    @cached_property
    def _public(self) -> Transcript:
        return fold(_seen_by_all(self.events))


def history_for(past: Sequence[PastTurn], user_id: str) -> Transcript:
    """The transcript of these turns for a turn of this person; valid for a strict API, as `fold` makes it.

    Of another person's turn stay what they said in the chat and the answer that was said there. Calls, results,
    thinking, notes and what was said beside a call are theirs alone.
    """
    items = tuple(item for turn in past for item in turn.items_for(user_id))
    ids = [call.id for item in items if isinstance(item, AssistantItem) for call in item.tool_calls]
    if len(ids) == len(set(ids)) and all(isinstance(next(iter(turn.events), None), TurnStarted) for turn in past):
        return items
    return fold(event for turn in past for event in turn.events_for(user_id))  # turns that do not stand side by side


def _seen_by_all(events: Sequence[JournalEvent]) -> Iterator[JournalEvent]:
    for event in events:
        match event:
            case TurnStarted() | Steered():
                yield replace(event, items=_of_another(event.items))
            case TurnEnded():
                yield event
            case _:
                pass


def _of_another(items: Sequence[UserItem]) -> tuple[UserItem, ...]:
    return tuple(replace(item, own=False) for item in items)
