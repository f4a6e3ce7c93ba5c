"""What stands in a prompt of earlier turns: all of the person's own, of others' what all could read; pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from agent.context.compaction import since_step, summary_item
from agent.ports import Summary
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
    id: str = ""

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


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a turn starts from, for one person."""

    history: Transcript
    starts: tuple[tuple[int, str], ...] = ()  # where in it a turn begins, and its id; empty: nobody can tell
    summary: Summary | None = None


def remember(past: Sequence[PastTurn], user_id: str, summary: Summary | None = None, turn_id: str = "") -> Remembered:
    """The history of a turn of this person: notes for the older part where there are any, then the turns since.

    `turn_id` is the turn that begins, or goes on: a summary that was made within it stands for all before it.
    """
    if summary is None:
        return _remember(past, user_id, ())
    head = (summary_item(summary),)
    if summary.turn_id == turn_id:
        return Remembered(head, (), summary)
    at = next((index for index, turn in enumerate(past) if turn.id == summary.turn_id), None)
    if at is None:  # what it begins with is gone by age: all that is there came later
        return replace(_remember(past, user_id, head), summary=summary)
    first = past[at]
    if summary.step:
        first = PastTurn(first.user_id, tuple(since_step(first.events, summary.step)), first.id)
    return replace(_remember((first, *past[at + 1 :]), user_id, head), summary=summary)


def _remember(past: Sequence[PastTurn], user_id: str, head: Transcript) -> Remembered:
    items = history_for(past, user_id)
    starts, at = [], len(head)
    for turn in past:
        starts.append((at, turn.id))
        at += len(turn.items_for(user_id))
    side_by_side = at == len(head) + len(items)
    return Remembered((*head, *items), tuple(starts) if side_by_side else ())


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
