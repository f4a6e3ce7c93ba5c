"""Anthropic's prompt cache as its documentation describes it: prefixes up to a mark, each kept for five minutes or an
hour; pure.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import orjson

from gateway.testing.model import Reply

MOST_MARKS = 4
CHARS_PER_TOKEN = 4
SHORT, LONG = timedelta(minutes=5), timedelta(hours=1)


class PromptCache:
    """A brain of a model server that counts the tokens which its cache serves; a read renews an entry."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._until: dict[bytes, tuple[datetime, timedelta]] = {}

    def __call__(self, body: dict[str, Any]) -> Reply:
        marks, whole = _marks(body)
        assert len(marks) <= MOST_MARKS, f"{len(marks)} marks are too many"
        kept_for = [kept for _, kept in marks]
        assert kept_for == sorted(kept_for, reverse=True), "an entry of an hour follows a shorter one"
        now, read = self._clock(), 0
        for prefix, _ in marks:
            if prefix in self._until and self._until[prefix][0] > now:
                read = len(prefix)
        long = max((len(prefix) for prefix, kept in marks if kept == LONG), default=0)
        longest = max((len(prefix) for prefix, _ in marks), default=0)
        for prefix, kept in marks:
            self._until[prefix] = (now + kept, kept)
        written, for_an_hour = longest - read, max(0, long - read)
        return Reply(
            "Yes.",
            usage=(whole // CHARS_PER_TOKEN, 5),
            cached=(read // CHARS_PER_TOKEN, written // CHARS_PER_TOKEN),
            cached_hour=for_an_hour // CHARS_PER_TOKEN,
        )


def _marks(body: dict[str, Any]) -> tuple[list[tuple[bytes, timedelta]], int]:
    """Return the marked prefixes with the time for which they are kept, and the characters of the request."""
    marks, prefix = [], b""
    for block in _blocks(body):
        mark = block.pop("cache_control", None)
        prefix += orjson.dumps(block)
        if mark is not None:
            marks.append((prefix, LONG if mark.get("ttl") == "1h" else SHORT))
    return marks, len(prefix)


def _blocks(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the request in the order of the cache: tools, instructions, conversation."""
    for block in (*body.get("tools", ()), *body.get("system", ())):
        yield {**block}
    for message in body["messages"]:
        yield from ({"role": message["role"], **block} for block in message["content"])
