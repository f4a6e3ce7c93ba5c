"""Markdown that is still being written, made fit to be shown: what its last line leaves open is closed. Pure.

Without it a person sees bare asterisks for a second in every live answer. Open code fences are the parser's matter.
"""

import re

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
    """One line with its emphasis and code closed; a marker that nothing follows yet is left out."""
    open_: list[str] = []
    for match in _MARKER.finditer(line):
        marker, last = match[0], line[match.end() : match.end() + 1]
        if marker.startswith("\\") or (open_ and open_[-1].startswith("`") and marker != open_[-1]):
            continue
        if open_ and marker == open_[-1] and not line[match.start() - 1].isspace():
            open_.pop()
        elif not last:
            return _closed_line(line[: match.start()].rstrip()) if match.start() else ""
        elif not last.isspace() and not (marker.startswith("_") and line[: match.start()][-1:].isalnum()):
            open_.append(marker)
    return line + "".join(reversed(open_))
