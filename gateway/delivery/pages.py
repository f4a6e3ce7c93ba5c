"""An answer is read page by page while it is written: some pages stand for good, the last one still grows.

Pure and immutable; reading on gives the next state. A full page is never cut anew: where the cut was between two
blocks, only what comes behind is ever read again, so that a long answer costs no more at its end than at its begin.
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
"""A page is full once the one behind it has a tenth of its room: then the end of the answer cannot be a few words."""

OFTEN = 256
"""A growing text is read anew when it is longer by one part in so many; of what is no page yet by one in `OFTEN_BEHIND`
beyond the first few pages: one block of a whole book is not read again for each of its words."""

OFTEN_BEHIND = 8
FREE_PAGES = 4

_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_BARE_MARKER = re.compile(r"(?:^|\n)[ \t]*(?:#{1,6}|[-=*+]+|\d{1,9}[.)]?)[ \t]*\Z")  # of a heading, of a list
_HALF_LINK = re.compile(r"!?\[([^\[\]\n]*)(?:\](?:\([^()\s]*)?)?\Z")
_MARKER = re.compile(r"\\.|`+|\*{1,3}|_{1,3}")


@dataclass(frozen=True, slots=True)
class AnswerPages:
    """The pages of an answer as far as it is known."""

    channel: Channel
    full: tuple[SplitPart, ...] = ()  # pages that will not change while the answer only grows
    current: Rendered | None = None  # of the page behind them; None: nothing to see there yet
    before: str = ""  # the text up to the last cut between two blocks
    since: int = 0  # how many of the full pages are of the text behind that
    locale: str | None = None  # BCP 47, of who reads it

    def wants(self, chars: int, read_chars: int) -> bool:
        """Whether an answer of so many characters, of which so many were read, should be read on."""
        behind = chars - len(self.before) - FREE_PAGES * self.channel.limits.max_text
        return abs(chars - read_chars) >= max(1, chars // OFTEN, behind // OFTEN_BEHIND)

    def read(self, text: str) -> "AnswerPages":
        """The pages of a longer text; of another one than before only what stands already."""
        text = _plain(text)
        if not text.startswith(self.before):
            return replace(self, current=None)
        most = max(1, MAX_PARTS - len(self.full) + self.since)
        parts = self._split(close_open_markup(text[len(self.before) :]), most)
        sure = max(self.since, len(parts) - (1 if parts and self._is_enough(parts[-1]) else 2))
        current = parts[sure].rendered if sure < len(parts) else None
        return self._turn(parts[:sure], text, current)

    def _turn(self, sure: tuple[SplitPart, ...], text: str, current: Rendered | None) -> "AnswerPages":
        """With these pages of the text behind the last cut between blocks, of which some stand already.

        Where those would be cut in other places by now, all of that text is read again, up to the whole answer.
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
        """The parts of the whole answer; those that stand are among them as they stand, where the text goes on so."""
        text = _plain(text)
        stand = self.full[: len(self.full) - self.since]
        if not stand or not text.startswith(self.before):
            return self._split(text, MAX_PARTS)
        return stand + self._split(text[len(self.before) :], MAX_PARTS - len(stand))


def _plain(text: str) -> str:
    return clean(text).lstrip()


def close_open_markup(markdown: str) -> str:
    """The text as it can be shown now: what its last line leaves open is closed, what is whole stays as it is.

    Without it a person sees bare asterisks for a second in every live answer. Open code fences are the parser's matter.
    """
    if len(_FENCE.findall(markdown)) % 2:
        return markdown
    text = _HALF_LINK.sub(r"\1", _BARE_MARKER.sub("", markdown.rstrip()))
    before, break_, line = text.rpartition("\n")
    return before + break_ + _closed_line(line)


def _closed_line(line: str) -> str:
    """One line with its emphasis and code closed; a marker that nothing follows yet is left out.

    Linear: where one is left out, only the markers that stand at the new end are read again.
    """
    markers = list(_MARKER.finditer(line))
    open_: list[str] = []
    before: list[str | None] = []  # by marker read: what it closed, "" where it opened, None where it means nothing
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
    """What a marker does where it stands."""

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
    """Open or close it; what `_undo` needs to know."""
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
    """Where the blanks before this place begin."""
    while end and line[end - 1].isspace():
        end -= 1
    return end
