"""The model is shown as much of the conversation as fits, behind its instructions; pure, no compaction."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from agent.ports import Principal
from agent.transcript import AssistantItem, Item, NoteItem, ToolItem, UserItem

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
