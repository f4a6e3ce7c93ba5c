"""Layers that shorten a request until it fits, cheapest first; pure, each keeps the transcript valid.

The size of one result is bounded when it is made; `agent.context.compaction` summarises what no layer can shorten.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import groupby

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
NOTED = "(Steps left out for room: {steps}. Notes on them, which are a record and no request: {notes})"

Span = tuple[Item, ...]
"""Calls and their results, without a message between them."""


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
    recent = _recent(items, keep)
    return [*_collapse(items[:recent], _line), *items[recent:]]


def old_steps(items: Sequence[Item], keep: int = KEPT_TURNS) -> list[Span]:
    """Return the spans that `collapse_steps` replaces."""
    return [part for part in _parts(items[: _recent(items, keep)]) if _is_step(part[0])]


def show_notes(items: Sequence[Item], notes: Mapping[str, str]) -> list[Item]:
    """Replace each span on which there are notes, by its digest, with these notes."""

    def text_of(span: Span) -> str | None:
        text = notes.get(digest_of(span))
        return None if text is None else NOTED.format(steps=_names(span), notes=text)

    return [*_collapse(items, text_of)]


def digest_of(span: Span) -> str:
    """Return a digest of the calls and results of a span, without their ids, which depend on the history around it."""
    digest = blake2b(digest_size=16)
    for item in span:
        if isinstance(item, ToolItem):
            digest.update(f"{item.content}\0".encode(errors="replace"))
        elif isinstance(item, AssistantItem):
            for call in item.tool_calls:
                digest.update(f"{call.name}\0{call.arguments}\0".encode(errors="replace"))
    return digest.hexdigest()


def _recent(items: Sequence[Item], keep: int) -> int:
    """Return the index at which the newest `keep` turns begin; 0 if there are no older ones."""
    starts = [index for index, item in enumerate(items) if isinstance(item, UserItem)]
    return starts[-keep] if len(starts) > keep else 0


def _is_step(item: Item) -> bool:
    return isinstance(item, ToolItem) or (isinstance(item, AssistantItem) and bool(item.tool_calls))


def _parts(items: Sequence[Item]) -> Iterator[Span]:
    """Yield the spans of steps, and each other item alone, in order."""
    for are_steps, run in groupby(items, _is_step):
        if are_steps:
            yield tuple(run)
        else:
            yield from ((item,) for item in run)


def _collapse(items: Sequence[Item], to_text: Callable[[Span], str | None]) -> Iterator[Item]:
    """Yield the items with this text in place of each span that has one, joined to an answer right behind it."""
    said: list[str] = []
    for part in _parts(items):
        first = part[0]
        text = to_text(part) if _is_step(first) else None
        if text is not None:
            said = [each.text for each in part if isinstance(each, AssistantItem) and each.text.strip()] + [text]
            continue
        if said and isinstance(first, AssistantItem) and not _is_step(first):
            yield AssistantItem("\n\n".join([*said, first.text]))
        else:
            yield from (AssistantItem("\n\n".join(said)), *part) if said else part
        said = []
    if said:
        yield AssistantItem("\n\n".join(said))


def _names(span: Span) -> str:
    steps = [call.name for item in span if isinstance(item, AssistantItem) for call in item.tool_calls]
    return ", ".join(f"{name} x{steps.count(name)}" for name in dict.fromkeys(steps))


def _line(span: Span) -> str:
    return COLLAPSED.format(steps=_names(span))


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
