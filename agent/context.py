"""The model is shown as much of the conversation as fits, behind its instructions; pure, no compaction."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from agent.ports import Principal
from agent.transcript import (
    AssistantItem,
    Item,
    JournalEvent,
    NoteItem,
    Steered,
    ToolItem,
    Transcript,
    TurnEnded,
    TurnStarted,
    UserItem,
    fold,
)

PromptBuilder = Callable[[Principal, datetime, str], str]
"""(whom the turn acts for, aware UTC now, the channel's formatting hints) to the whole system prompt."""

BOUNDARY = "\n\n---\n\n"
"""Between what is byte for byte the same for everybody and what is of this person and moment."""

BYTES_PER_TOKEN = 3.5
"""An estimate for mixed English, Spanish and JSON; the provider's own count replaces it where it is known."""

BLANKED = '{"success":true,"data":"(an older result, left out for room: ask again if it matters)","error":null}'
KEPT_RESULTS = 2


def compose(static: Iterable[str], runtime: Iterable[str]) -> str:
    """A system prompt: static sections first, so that its beginning is the same bytes in every call."""
    return BOUNDARY.join("\n\n".join(part.strip() for part in parts if part.strip()) for parts in (static, runtime))


def estimate_tokens(items: Iterable[Item]) -> int:
    """About how many tokens these items are."""
    return int(sum(_bytes(item) for item in items) / BYTES_PER_TOKEN)


def trim_history(history: Sequence[Item], max_items: int, max_tokens: float) -> Sequence[Item]:
    """The newest of the history that fits; it begins with something a person said, so no call loses its result."""
    start, size = len(history), 0.0
    for index in range(len(history) - 1, max(-1, len(history) - 1 - max_items), -1):
        size += _bytes(history[index]) / BYTES_PER_TOKEN
        if size > max_tokens:
            break
        if isinstance(history[index], UserItem):
            start = index
    return history[start:]


def blank_old_results(items: Sequence[Item], keep: int = KEPT_RESULTS) -> list[Item]:
    """The items with all tool results but the newest `keep` left out; that they were asked for stays."""
    results = [index for index, item in enumerate(items) if isinstance(item, ToolItem)]
    old = set(results[: max(0, len(results) - keep)])
    return [
        replace(item, content=BLANKED) if index in old and isinstance(item, ToolItem) else item
        for index, item in enumerate(items)
    ]


def _bytes(item: Item) -> int:
    match item:
        case UserItem():
            return len(item.text.encode(errors="replace")) + len(item.data.encode(errors="replace")) + 16
        case NoteItem():
            return len(item.text.encode(errors="replace")) + 16
        case ToolItem():
            return len(item.content.encode(errors="replace")) + 32
        case AssistantItem():
            calls = sum(len(call.name) + len(call.arguments.encode(errors="replace")) + 32 for call in item.tool_calls)
            return len(item.text.encode(errors="replace")) + calls + 16


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
