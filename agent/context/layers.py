"""Layers make a conversation smaller until it fits, cheapest first; pure, each keeps the transcript valid."""

from collections.abc import Sequence
from dataclasses import replace

from agent.context.sizes import BYTES_PER_TOKEN, item_bytes
from agent.transcript import Item, ToolItem, UserItem

BLANKED = '{"success":true,"data":"(an older result, left out for room: ask again if it matters)","error":null}'
KEPT_RESULTS = 2


def trim_history(history: Sequence[Item], max_items: int, max_tokens: float) -> Sequence[Item]:
    """The newest of the history that fits; it begins with something a person said, so no call loses its result."""
    start, size = len(history), 0.0
    for index in range(len(history) - 1, max(-1, len(history) - 1 - max_items), -1):
        size += item_bytes(history[index]) / BYTES_PER_TOKEN
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
