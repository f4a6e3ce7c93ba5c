"""Layers that shorten a request until it fits, cheapest first; pure, each keeps the transcript valid.

The size of one result is bounded when it is made; `agent.context.compaction` summarises what no layer can shorten.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from agent.context.sizes import BYTES_PER_TOKEN, estimate_tokens, item_bytes
from agent.pictures import Unseen, visible, without_pictures
from agent.transcript import AssistantItem, Item, ToolItem, UserItem

BLANKED = '{"success":true,"data":"(an older result, left out for room: ask again if it matters)","error":null}'
KEPT_RESULTS = 5
"""Newest results that stay whole; of older ones the call stays, with a marker for the result."""

DROPPED = '{"success":true,"data":"(left out for room)","error":null}'
KEPT_TURNS = 2
"""Newest turns of which every step stays."""

COLLAPSED = "(Steps left out for room: {steps}.)"


def blank_old_results(items: Sequence[Item], keep: int = KEPT_RESULTS) -> list[Item]:
    """Blank (layer 1) all tool results but the newest `keep`; their calls stay."""
    results = [index for index, item in enumerate(items) if isinstance(item, ToolItem)]
    old = set(results[: max(0, len(results) - keep)])
    return [
        replace(item, content=BLANKED)
        if index in old and isinstance(item, ToolItem) and len(item.content) > len(BLANKED)
        else item
        for index, item in enumerate(items)
    ]


def drop_results(items: Sequence[Item], ids: Collection[str]) -> list[Item]:
    """Blank (layer 2) the results of these calls; each call still has one."""
    return [
        replace(item, content=DROPPED)
        if isinstance(item, ToolItem) and item.call_id in ids and len(item.content) > len(DROPPED)
        else item
        for item in items
    ]


def largest_results(items: Sequence[Item], excess_tokens: float) -> list[str]:
    """Return the calls whose results, largest first, make up for this excess; never that of the last call."""
    results = [item for item in items if isinstance(item, ToolItem)][:-1]
    chosen: list[str] = []
    for result in sorted(results, key=item_bytes, reverse=True):
        if excess_tokens <= 0:
            break
        chosen.append(result.call_id)
        excess_tokens -= (len(result.content) - len(DROPPED)) / BYTES_PER_TOKEN
    return chosen


def collapse_steps(items: Sequence[Item], keep: int = KEPT_TURNS) -> list[Item]:
    """Replace (layer 3) each span of calls and results before the newest `keep` turns by one line."""
    starts = [index for index, item in enumerate(items) if isinstance(item, UserItem)]
    if len(starts) <= keep:
        return list(items)
    recent = starts[-keep]
    return [*_collapse(items[:recent]), *items[recent:]]


def _collapse(items: Sequence[Item]) -> Iterator[Item]:
    text: list[str] = []
    steps: list[str] = []
    for item in items:
        match item:
            case ToolItem():
                continue
            case AssistantItem() if item.tool_calls:
                text += [item.text] if item.text.strip() else []
                steps += [call.name for call in item.tool_calls]
            case AssistantItem() if steps:
                yield AssistantItem("\n\n".join([*text, _line(steps), item.text]))
                text, steps = [], []
            case _ if steps:
                yield AssistantItem("\n\n".join([*text, _line(steps)]))
                text, steps = [], []
                yield item
            case _:
                yield item
    if steps:
        yield AssistantItem("\n\n".join([*text, _line(steps)]))


def _line(steps: Sequence[str]) -> str:
    names = dict.fromkeys(steps)
    return COLLAPSED.format(steps=", ".join(f"{name} x{steps.count(name)}" for name in names))


def keep_newest_pictures(items: Sequence[Item], most: int = 0, most_bytes: int = 0) -> list[Item]:
    """Return the items with at most this many pictures, and always those of the newest message that has any.

    Older pictures become text.
    """
    newest = True
    for at in range(len(items) - 1, -1, -1):
        pictures = visible(getattr(items[at], "pictures", ()))
        most, most_bytes = most - len(pictures), most_bytes - sum(picture.size_bytes or 0 for picture in pictures)
        if pictures and not newest and min(most, most_bytes) < 0:
            return [*without_pictures(items[: at + 1], Unseen.OLDER), *items[at + 1 :]]
        newest = newest and not pictures
    return list(items)


def fit(items: Sequence[Item], most_tokens: float, tokens: Callable[[int], int] = int) -> list[Item]:
    """Apply as many layers as it takes to get below `most_tokens`; `tokens` corrects estimates."""

    def excess() -> float:
        return tokens(estimate_tokens(fitted)) - most_tokens

    fitted = list(items)
    if excess() <= 0:
        return fitted
    fitted = blank_old_results(fitted)
    if (over := excess()) > 0:
        fitted = drop_results(fitted, largest_results(fitted, over))
    if excess() > 0:
        fitted = collapse_steps(keep_newest_pictures(fitted))
    return fitted


def trim_history(history: Sequence[Item], max_items: int, max_tokens: float) -> Sequence[Item]:
    """Return the newest part of the history that fits.

    It begins with a person's message, so that no call loses its result.
    """
    start, size = len(history), 0.0
    for index in range(len(history) - 1, max(-1, len(history) - 1 - max_items), -1):
        size += item_bytes(history[index]) / BYTES_PER_TOKEN
        if size > max_tokens:
            break
        if isinstance(history[index], UserItem):
            start = index
    return history[start:]
