"""A text is cut where that harms least: between lines, sentences, words, and never inside a character.

Pure, about text alone; what fits where is asked elsewhere. Offsets count code points.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import count

import regex

_SENTENCE_END = regex.compile(r"""(?<![.!?…])[.!?…]++["'”’»)\]*_]*+(?=\s)|[。！？]++[」』”’)]*+""")
_NO_SENTENCE_END = regex.compile(r"(?:^|[\s(])(?:\p{L}|Dr|Mrs?|Ms|Prof|St|vs|etc|ca|bzw|Nr|No|[ezdu]\.\p{L})\.$")
_WORD_END = regex.compile(r"\s+")
_GRAPHEME = regex.compile(r"[\U0001f1e6-\U0001f1ff]{2}[\p{GCB=Extend}\p{GCB=SpacingMark}\u200d]*+|\X")
"""A flag by itself: to find out where one of a thousand in a row begins, the second pattern reads all before it."""
EVEN_GUESSES = 4
LOOK_AHEAD = 64  # characters after the cut that decide whether it lies inside one character as people see it


def cut_before(text: str, most: int, whole: Sequence[tuple[int, int]] = (), *, parts_words: bool = True) -> int:
    """The best place to cut `text` at or before `most`: after a line, a sentence, a word or a character.

    A coarser boundary wins while it leaves a good part of `most` in front of it. `whole` are ranges not to cut inside
    of, kept where any line, sentence or word allows it. 0 when only a word could be cut and `parts_words` forbids that.
    """
    if most >= len(text):
        return len(text)
    kinds = ((_line_ends, most // 2, whole), (_sentence_ends, most // 2, whole), (_word_ends, most // 4, whole))
    for ends, least, kept in (*kinds, (_word_ends, most // 4, ())):
        found = [end for end in ends(text, least, most) if end > least and not _inside(end, kept)]
        if found:
            return found[-1]
    return _character_end(text, most) if parts_words else 0


def _line_ends(text: str, least: int, most: int) -> Iterator[int]:
    end = text.find("\n", least, most + 1)
    while end >= 0:
        yield end
        end = text.find("\n", end + 1, most + 1)


def _sentence_ends(text: str, least: int, most: int) -> Iterator[int]:
    for found in _SENTENCE_END.finditer(text, least, most + 1):
        if found.end() <= most and not _NO_SENTENCE_END.search(text, max(0, found.end() - 8), found.end()):
            yield found.end()


def _word_ends(text: str, least: int, most: int) -> Iterator[int]:
    for found in _WORD_END.finditer(text, least, most + 1):
        if found.start() <= most:
            yield found.start()


def _character_end(text: str, most: int) -> int:
    end = 0
    for found in _GRAPHEME.finditer(text, 0, most + LOOK_AHEAD):
        if found.end() > most:
            break
        end = found.end()
    return end or most  # one "character" of a thousand accents is cut through


def _inside(place: int, ranges: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(ranges, place, key=lambda bounds: bounds[0]) - 1
    return index >= 0 and ranges[index][0] < place < ranges[index][1]


def longest(upper: int, size: Callable[[int], int], limit: int, *, slack: int = 0, guess: int | None = None) -> int:
    """The largest n of 0..`upper` with `size(n)` within `limit`, or one whose size is short of it by at most `slack`.

    `size` must not shrink as n grows. It is asked seldom, for it renders: the guesses, of which `guess` is the first,
    suppose that it grows evenly, and turn to halving when it does not.
    """
    low, high = 0, upper + 1
    empty = size(0)
    probe = min(upper, max(limit - empty if guess is None else guess, 1))
    for tries in count():
        if not low < probe < high:
            return low
        now = size(probe)
        if now > limit:
            high = probe
        elif limit - now <= slack:
            return probe
        else:
            low = probe
        even = probe * (limit - empty) // max(now - empty, 1) if tries < EVEN_GUESSES else (low + high) // 2
        probe = min(max(even, low + 1), high - 1)
    raise AssertionError  # count() has no end
