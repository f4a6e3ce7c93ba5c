"""The history that a prompt contains: all turns of the person, and the public part of other people's turns; pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from agent.context.compaction import since_step, summary_item
from agent.context.layers import show_notes
from agent.context.sizes import estimate_tokens
from agent.fallbacks import RULES_PREFIX
from agent.ports import Summary
from agent.transcript import (
    AssistantItem,
    Item,
    JournalEvent,
    ModelResponded,
    Steered,
    StepsNoted,
    Transcript,
    TurnEnded,
    TurnStarted,
    UserItem,
    fold,
)


@dataclass(frozen=True)
class PastTurn:
    """One ended turn of a session."""

    user_id: str  # the person for whom it ran
    events: tuple[JournalEvent, ...]
    id: str = ""
    ended_at: datetime | None = None  # None: unknown
    elsewhere: bool = False  # from another chat: only its own person has read it

    def events_for(self, user_id: str) -> Iterable[JournalEvent]:
        """Return the turn's events that may be part of a prompt for this person."""
        return self.events if self.user_id == user_id else self._seen_by_all()

    @cached_property
    def notes(self) -> Mapping[str, str]:
        """Return the notes on steps of earlier turns, by the digest of the steps."""
        return notes_in(self.events)

    def _seen_by_all(self) -> Iterable[JournalEvent]:
        return () if self.elsewhere else _seen_by_all(self.events)

    def part_for(self, user_id: str) -> "_Part":
        """Return the turn's items for this person, folded and measured once."""
        return self._own if self.user_id == user_id else self._public

    @cached_property
    def _own(self) -> "_Part":
        return _part_of(fold(self.events))

    @cached_property
    def _public(self) -> "_Part":
        return _part_of(fold(self._seen_by_all()))

    @cached_property
    def begins(self) -> bool:
        """Return True if the events include the turn's beginning."""
        return bool(self.events) and isinstance(self.events[0], TurnStarted)


def notes_in(events: Iterable[JournalEvent]) -> dict[str, str]:
    """Return the notes on steps in these events, by the digest of the steps."""
    return {event.span: event.text for event in events if isinstance(event, StepsNoted)}


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of a prompt that one turn contributes."""

    items: Transcript
    tokens: int  # estimated
    call_ids: tuple[str, ...]


def _part_of(items: Transcript) -> _Part:
    calls = (call.id for item in items if isinstance(item, AssistantItem) for call in item.tool_calls)
    return _Part(items, estimate_tokens(items), tuple(calls))


def history_for(past: Sequence[PastTurn], user_id: str) -> Transcript:
    """Return the transcript of these turns for a turn of this person; valid for a strict API, as `fold` makes it.

    Another person's turn contributes their messages in the chat and the answer there. Its calls, results, thinking,
    notes and texts beside calls are private to that person.
    """
    return _remember(past, user_id).history


@dataclass(frozen=True, slots=True)
class Remembered:
    """The history from which a turn starts, for one person."""

    history: Transcript
    starts: tuple[tuple[int, str], ...] = ()  # (index, turn id) of each turn's first item; empty: unknown
    summary: Summary | None = None
    tokens: int = 0  # estimated, of the whole history


def remember(past: Sequence[PastTurn], user_id: str, summary: Summary | None = None, turn_id: str = "") -> Remembered:
    """Return the history of a turn of this person: notes for the older part if there are any, then the turns since.

    `turn_id` is the turn that begins or resumes.
    """
    if summary is None:
        return _remember(past, user_id)
    whole = kept_whole(past, summary, turn_id)
    if summary.step:
        whole = [_since(turn, summary.step) if turn.id == summary.turn_id else turn for turn in whole]
    return _remember(whole, user_id, summary)


def kept_whole(past: Sequence[PastTurn], summary: Summary, turn_id: str = "") -> Sequence[PastTurn]:
    """Return the turns that a summary does not cover: from the one it names on, and all that ended after it was made.

    A turn that waited for an approval ends behind those that ran meanwhile; `turn_id` is the one that begins or
    resumes.
    """

    def came_later(turn: PastTurn) -> bool:
        return turn.ended_at is not None and summary.kept_at is not None and turn.ended_at > summary.kept_at

    at = next((place for place, turn in enumerate(past) if turn.id == summary.turn_id), None)
    if at is not None or turn_id == summary.turn_id:
        return [*filter(came_later, past[:at]), *(() if at is None else past[at:])]
    # the named turn is waiting, or expired: later turns are not in the summary
    return [turn for turn in past if turn.id > summary.turn_id or turn.ended_at is None or came_later(turn)]


def _since(turn: PastTurn, step: int) -> PastTurn:
    return replace(turn, events=tuple(since_step(turn.events, step)))


def _remember(past: Sequence[PastTurn], user_id: str, summary: Summary | None = None) -> Remembered:
    head = () if summary is None else (summary_item(summary),)
    items, ids, starts, tokens = [*head], list[str](), list[tuple[int, str]](), estimate_tokens(head)
    stands_alone = True  # folding turn by turn gives the same as folding all of them
    notes: dict[str, str] = {}
    for turn in past:
        if turn.user_id == user_id and turn.notes:
            notes |= turn.notes
        part = turn.part_for(user_id)
        starts.append((len(items), turn.id))
        items += part.items
        ids += part.call_ids
        tokens += part.tokens
        stands_alone = stands_alone and turn.begins
    if not stands_alone or len(ids) != len(set(ids)):
        folded = [*head, *fold(event for turn in past for event in turn.events_for(user_id))]
        starts = starts if len(folded) == len(items) else []
        items = folded
    if notes:
        items, starts = _with_notes(items, starts, notes)
        tokens = estimate_tokens(items)
    return Remembered(tuple(items), tuple(starts), summary, tokens)


def _with_notes(
    items: Sequence[Item], starts: Sequence[tuple[int, str]], notes: Mapping[str, str]
) -> tuple[list[Item], list[tuple[int, str]]]:
    """Return the items with notes in place of the steps on which there are some, and where the turns begin in them."""
    ends = [*(index for index, _ in starts), len(items)]
    shown, moved = show_notes(items[: ends[0]], notes), list[tuple[int, str]]()
    for (index, id_), end in zip(starts, ends[1:], strict=True):
        moved.append((len(shown), id_))
        shown += show_notes(items[index:end], notes)
    return shown, moved


def _seen_by_all(events: Sequence[JournalEvent]) -> Iterator[JournalEvent]:
    for event in events:
        match event:
            case TurnStarted() | Steered():
                yield replace(event, items=_of_another(event.items))
            case ModelResponded() if event.model.startswith(RULES_PREFIX) and not event.tool_calls:
                yield event
            case TurnEnded():
                yield event
            case _:
                pass


def _of_another(items: Sequence[UserItem]) -> tuple[UserItem, ...]:
    return tuple(replace(item, own=False, recalled="") for item in items)
