"""The pages of an answer while it is written: full pages stay, the last one grows.

Pure and immutable. A full page is not split again, and text before the last cut between two blocks is not read again,
so a long answer costs no more at its end than at its start.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from channels.base import Channel
from channels.markdown.tree import clean
from channels.messages import Rendered
from gateway.delivery.message_parts import split_text
from gateway.delivery.splitter import MAX_PARTS, SplitPart

ENOUGH_SHARE = 10
"""A page is full once the next one has a tenth of its room, so that the last page is not just a few words."""

OFTEN = 256
"""A growing text is split again when it is longer by this fraction (1/n); text after the first few unfinished pages
only by 1/`OFTEN_BEHIND`, so that one huge block is not reread for each word.
"""

OFTEN_BEHIND = 8
FREE_PAGES = 4

_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_BARE_MARKER = re.compile(r"(?:^|\n)[ \t]*(?:#{1,6}|[-=*+]+|\d{1,9}[.)]?)[ \t]*\Z")  # of a heading or list
_HALF_LINK = re.compile(r"!?\[([^\[\]\n]*)(?:\](?:\([^()\s]*)?)?\Z")
_MARKER = re.compile(r"\\.|`+|\*{1,3}|_{1,3}")


@dataclass(frozen=True, slots=True)
class AnswerPages:
    """Pages of the answer known so far."""

    channel: Channel
    full: tuple[SplitPart, ...] = ()  # pages that do not change while the answer only grows
    current: Rendered | None = None  # of the page after them; None: nothing to see yet
    before: str = ""  # text up to the last cut between two blocks
    since: int = 0  # number of full pages of the text after that
    locale: str | None = None  # BCP 47, of the reader

    def wants(self, chars: int, read_chars: int) -> bool:
        """Return True if an answer of this length, of which `read_chars` were split, should be split again."""
        behind = chars - len(self.before) - FREE_PAGES * self.channel.limits.max_text
        return abs(chars - read_chars) >= max(1, chars // OFTEN, behind // OFTEN_BEHIND)

    def read(self, text: str) -> "AnswerPages":
        """Return the pages of a longer text; keep the full pages if the text is a different one."""
        text = _plain(text)
        if not text.startswith(self.before):
            return replace(self, current=None)
        most = max(1, MAX_PARTS - len(self.full) + self.since)
        parts = self._split(close_open_markup(text[len(self.before) :]), most)
        sure = max(self.since, len(parts) - (1 if parts and self._is_enough(parts[-1]) else 2))
        current = parts[sure].rendered if sure < len(parts) else None
        return self._turn(parts[:sure], text, current)

    def _turn(self, sure: tuple[SplitPart, ...], text: str, current: Rendered | None) -> "AnswerPages":
        """Return the state with these pages; move `before` to the last cut between blocks.

        If the shown pages would be cut elsewhere by now, all text after `before` is read again.
        """
        full = self.full + sure[self.since :]
        before, since = self.before, len(sure)
        as_they_stand = sure[: self.since] == self.full[len(self.full) - self.since :]
        for index in range(len(sure) - 1, self.since - 1, -1):
            if as_they_stand and (next_at := sure[index].next_at) is not None:
                before, since = text[: len(before) + next_at], len(sure) - index - 1
                break
        return replace(self, full=full, current=current, before=before, since=since)

    def _split(self, text: str, most: int) -> tuple[SplitPart, ...]:
        return split_text(self.channel, text, most, locale=self.locale)

    def _is_enough(self, part: SplitPart) -> bool:
        return self.channel.limits.unit.measure(part.rendered.text) * ENOUGH_SHARE >= self.channel.limits.max_text

    def all_of(self, text: str) -> tuple[SplitPart, ...]:
        """Return the parts of the final answer; keep full pages if the text still starts with them."""
        text = _plain(text)
        stand = self.full[: len(self.full) - self.since]
        if not stand or not text.startswith(self.before):
            return self._split(text, MAX_PARTS)
        return stand + self._split(text[len(self.before) :], MAX_PARTS - len(stand))


def _plain(text: str) -> str:
    return clean(text).lstrip()


def close_open_markup(markdown: str) -> str:
    """Close the markup that the last line leaves open, so that a live answer shows no bare asterisks.

    Open code fences are left to the parser.
    """
    if len(_FENCE.findall(markdown)) % 2:
        return markdown
    text = _HALF_LINK.sub(r"\1", _BARE_MARKER.sub("", markdown.rstrip()))
    before, break_, line = text.rpartition("\n")
    return before + break_ + _closed_line(line)


def _closed_line(line: str) -> str:
    """Close the emphasis and code of one line; leave out a marker that nothing follows yet.

    Linear: after leaving one out, only the markers at the new end are read again.
    """
    markers = list(_MARKER.finditer(line))
    open_: list[str] = []
    before: list[str | None] = []  # by marker: the one it closed, "" if it opened, None if it is text
    end = len(line)
    while len(before) < len(markers) and (match := markers[len(before)]).end() <= end:
        role = _role(line, match, end, open_)
        if role is _Role.BARE:
            end = _blank_from(line, match.start())
            while before and markers[len(before) - 1].end() >= end:
                _undo(before.pop(), open_)
        else:
            before.append(_carry_out(role, match[0], open_))
    return line[:end] + "".join(reversed(open_))


class _Role(Enum):
    """Role of a marker in its place."""

    NOTHING = auto()
    OPENS = auto()
    CLOSES = auto()
    BARE = auto()  # nothing follows it yet


def _role(line: str, match: re.Match[str], end: int, open_: Sequence[str]) -> _Role:
    marker, inner = match[0], open_[-1] if open_ else ""
    if marker.startswith("\\") or (inner.startswith("`") and marker != inner):
        return _Role.NOTHING
    if marker == inner and not line[match.start() - 1].isspace():
        return _Role.CLOSES
    if match.end() == end:
        return _Role.BARE
    in_word = marker.startswith("_") and line[max(0, match.start() - 1) : match.start()].isalnum()
    return _Role.NOTHING if line[match.end()].isspace() or in_word else _Role.OPENS


def _carry_out(role: _Role, marker: str, open_: list[str]) -> str | None:
    """Open or close a marker; return what `_undo` needs."""
    if role is _Role.OPENS:
        open_.append(marker)
        return ""
    return open_.pop() if role is _Role.CLOSES else None


def _undo(done: str | None, open_: list[str]) -> None:
    if done:
        open_.append(done)
    elif done is not None:
        open_.pop()


def _blank_from(line: str, end: int) -> int:
    """Return where the blanks before this place begin."""
    while end and line[end - 1].isspace():
        end -= 1
    return end
