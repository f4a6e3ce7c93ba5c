"""Lines of styled text as a terminal shows them, broken at its width; pure.

Texts are strangers': `to_piece` is the only way in, and replaces every control character.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from wcwidth import wcswidth, wcwidth

from channels.console.text import printable

Piece = tuple[str, str]
"""A style of prompt_toolkit, "" for none, and a text."""

Line = list[Piece]
"""The pieces of one row, without its end."""

DIM, GOOD, BAD = "class:dim", "class:good", "class:bad"

TAB = 4  # columns
_TOKEN = re.compile(r"\n| +|[^ \n]+")


def to_piece(text: str, style: str = "") -> Piece:
    """Return a text that is safe to write, in a style."""
    return style, printable(text).expandtabs(TAB)


def columns_of(text: str) -> int:
    """Return the columns that a text takes."""
    if text.isascii():
        return len(text)
    known = wcswidth(text)
    return known if known >= 0 else sum(max(0, wcwidth(char)) for char in text)


def columns_of_line(line: Iterable[Piece]) -> int:
    """Return the columns that a line takes."""
    return sum(columns_of(text) for _, text in line)


def text_of_lines(lines: Iterable[Line]) -> str:
    """Return lines as plain text."""
    return "\n".join("".join(text for _, text in line).rstrip() for line in lines)


def wrap(pieces: Iterable[Piece], columns: int, first: Sequence[Piece] = (), rest: Sequence[Piece] = ()) -> list[Line]:
    """Break pieces into lines at words; `first` begins the first line, `rest` the others.

    A word that is longer than a line is broken anywhere, and so is a text without spaces in wide characters.
    """
    wrapper = _Wrapper(columns, first, rest)
    for word in _words(pieces):
        wrapper.add(word)
    return wrapper.lines


def shorten(text: str, columns: int) -> str:
    """Return a text of one line that fits into so many columns, with an ellipsis if it was longer."""
    if columns_of(text) <= columns:
        return text
    kept, used = "", 1
    for char in text:
        used += columns_of(char)
        if used > columns:
            break
        kept += char
    return f"{kept}…"[: max(0, columns)]


class _Wrapper:
    """The lines so far, and the one that is being filled."""

    def __init__(self, columns: int, first: Sequence[Piece], rest: Sequence[Piece]) -> None:
        self._columns = columns
        self._rest = rest
        self.lines: list[Line] = [list(first)]
        self._used = columns_of_line(first)
        self._is_empty = True
        self._is_wrapped = False  # the line continues the one before
        self._gap: Piece | None = None  # white space that only stands between two words of a line

    def add(self, word: Sequence[Piece]) -> None:
        """Add a word, white space or a line end."""
        style, text = word[0]
        if text == "\n":
            self._end_line(is_wrapped=False)
        elif text.startswith(" ") and self._is_empty and not self._is_wrapped:
            self._put(style, text[: max(0, self._columns - self._used - 1)])  # the indentation of a line stays
        elif text.startswith(" "):
            self._gap = (style, text)
        else:
            self._add_word(word)

    def _add_word(self, word: Sequence[Piece]) -> None:
        gap = 0 if self._gap is None or self._is_empty else columns_of(self._gap[1])
        width, room = columns_of_line(word), self._columns - self._used - gap
        is_breakable = width > self._columns - columns_of_line(self._rest) or _is_wide(word)
        if width > room and not (is_breakable and room > 1) and not self._is_empty:
            self._end_line()
        elif gap and self._gap is not None:
            self._put(*self._gap)
        self._gap = None
        for style, text in word:
            if columns_of(text) <= self._columns - self._used:
                self._put(style, text)
            else:
                self._put_broken(style, text)

    def _put_broken(self, style: str, text: str) -> None:
        for char in text:
            if self._used + columns_of(char) > self._columns and not self._is_empty:
                self._end_line()
            self._put(style, char)

    def _put(self, style: str, text: str) -> None:
        line = self.lines[-1]
        if line and not self._is_empty and line[-1][0] == style:
            line[-1] = (style, line[-1][1] + text)
        else:
            line.append((style, text))
        self._used += columns_of(text)
        self._is_empty = False

    def _end_line(self, *, is_wrapped: bool = True) -> None:
        self.lines.append(list(self._rest))
        self._used, self._is_empty, self._gap = columns_of_line(self._rest), True, None
        self._is_wrapped = is_wrapped


def _is_wide(word: Iterable[Piece]) -> bool:
    return any(not text.isascii() and columns_of(text) > len(text) for _, text in word)


def _words(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Yield words, each of one or more pieces without white space, and what stands between them."""
    word: list[Piece] = []
    for style, text in pieces:
        for token in _TOKEN.findall(text):
            if token[0] not in " \n":
                word.append((style, token))
                continue
            if word:
                yield word
            word = []
            yield [(style, token)]
    if word:
        yield word
