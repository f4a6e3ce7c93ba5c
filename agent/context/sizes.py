"""About how many tokens an item is; the provider's own count replaces it where it is known. Pure."""

from collections.abc import Iterable

from agent.transcript import AssistantItem, Item, NoteItem, ToolItem, UserItem

BYTES_PER_TOKEN = 3.5
"""An estimate for mixed English, Spanish and JSON."""


def estimate_tokens(items: Iterable[Item]) -> int:
    """About how many tokens these items are."""
    return int(sum(item_bytes(item) for item in items) / BYTES_PER_TOKEN)


def item_bytes(item: Item) -> int:
    """About how many bytes an item is on a wire."""
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
