"""Markdown that is still being written, made fit to be shown: what its last line leaves open is closed. Pure.

Without it a person sees bare asterisks for a second in every live answer. Open code fences are the parser's matter.
"""

import re
from collections.abc import Sequence
from enum import Enum, auto

_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_BARE_MARKER = re.compile(r"(?:^|\n)[ \t]*(?:#{1,6}|[-=*+]+|\d{1,9}[.)]?)[ \t]*\Z")  # of a heading, of a list
_HALF_LINK = re.compile(r"!?\[([^\[\]\n]*)(?:\](?:\([^()\s]*)?)?\Z")
_MARKER = re.compile(r"\\.|`+|\*{1,3}|_{1,3}")


def closed(markdown: str) -> str:
    """The text as it can be shown now; what is whole stays as it is."""
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
