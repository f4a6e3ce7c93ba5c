"""Only what will surely stand of an answer that is still being written may go into a stream. Pure.

A stream can only be appended to. What is cut off here goes with the next piece or with the end, so to hold back is safe
and to show too much costs the stream: what then stands there has to be written anew.
"""

import re

from channels.messages import GOES_ON

_END = re.compile(r"(?:\n|(?:[!?…:;]|(?<![\d\\])\.)[*_`'\")\]]*[ ])\s*(?=\S)")
"""Where a line or a sentence ends; the next piece does not begin with a blank, which a stream might lose."""

_CLOSING = re.compile(r"\n[ >]*+`{3,}+\Z")
_FENCE = re.compile(r"(?m)^[ >]*+`{3,}+(\S*+)$")
_LINK = re.compile(r"://|\]\(|\bwww\.|\w\.[a-z]{2,}[/?]", re.IGNORECASE)


def stable_prefix(text: str) -> str:
    """The beginning of an unfinished rendering that more text will hardly change: whole lines and sentences.

    Held back are the last line of code, and what may yet become a table or another one: its columns grow.
    """
    text = text.removesuffix(GOES_ON)
    begin, end = _safe(text)
    end = len(text[:end].rstrip())  # the blanks at the end are the end of nothing yet
    cut = 0
    for found in _END.finditer(text, 0, end):
        if found.start() < begin:
            cut = found.end()
    return text[:cut]


def rest(text: str, shown: str) -> str | None:
    """What of a text comes behind what is shown of it; None where it does not begin so."""
    if text.startswith(shown):
        return text[len(shown) :]
    return "" if text == shown.rstrip() else None


def holds_link(text: str) -> bool:
    """Whether Slack might fetch a preview for something in this Markdown."""
    return _LINK.search(text) is not None


def _safe(text: str) -> tuple[int, int]:
    """Before which place the last safe end of a line or sentence begins, and where the next piece begins at most."""
    closing = _CLOSING.search(text)
    if closing is not None:
        opening = list(_FENCE.finditer(text, 0, closing.start()))[-1:]
        if opening and opening[0][1]:
            return text.rfind("\n", 0, closing.start()) + 1, closing.start()
        begin = opening[0].start() if opening else 0
        return begin, begin + 1
    block = text.rfind("\n\n") + 2 if "\n\n" in text else 0
    if text.startswith(("\\|", "|"), block):
        return block, block + 1
    last = text.rfind("\n") + 1
    end = len(text) if len(text[last:].split()) > 1 else last  # a first word may yet become a list's marker
    return end, end
