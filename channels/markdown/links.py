"""Tells where the words of a link hide its target from whoever reads it. Pure.

An injected instruction can make a model write a link that looks like another, or one whose address carries what it was
told to the host of a stranger (A59). Such a link shows its address: whoever presses it knows where it leads and what it
says there. Decision 0013.
"""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

PLAIN_CHARS = 60
"""Of an address behind its host: up to this long, and without a question, it may stand behind words alone."""

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060-\u206f\ufeff]")
_DOTS = re.compile("[\u3002\uff0e\uff61\u2024]")  # dots in the eyes of people, or of browsers
_DOTTED = re.compile(r"[\w.-]+")
_NUMBERS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_ENDING = re.compile(r"[^\W\d_]{2,}")
_QUERY = re.compile(r"[?#;@\\]")


def hides(label: str, url: str) -> bool:
    """Whether a link to the web must show its address: its words name another host, or it carries more than a page."""
    seen = _DOTS.sub(".", _UNSEEN.sub("", label))
    if url in seen:
        return False
    parts = urlsplit(url)
    host = parts.hostname or ""
    behind = url[url.index("://") + 3 + len(parts.netloc) :]
    if _QUERY.search(parts.netloc + behind) or len(behind) > PLAIN_CHARS or len(host) > PLAIN_CHARS:
        return True
    return any(_bare(named) != _bare(host) for named in _hosts(seen))


def _hosts(text: str) -> Iterator[str]:
    """Whatever in a text reads as a host; letters and dots alone decide, each looked at once."""
    yield from _NUMBERS.findall(text)
    for word in _DOTTED.findall(text):
        if "." in word:
            yield from _hosts_in(word.split("."))


def _hosts_in(labels: list[str]) -> Iterator[str]:
    """The longest runs of labels that a host may have, each up to a label that may end one."""
    run: list[str] = []  # labels in a row, all of which may stand before a dot
    named: tuple[int, str] | None = None  # how many of them stand before the last ending seen, and that ending
    for label in labels:
        goes_on = label[:1].isalnum()
        if run and goes_on and (ending := _ENDING.match(label)):
            named = (len(run), ending[0])
        if not (goes_on and label[-1].isalnum()):
            if named:
                yield ".".join([*run[: named[0]], named[1]])
            run, named = [], None
            label = label.lstrip("-_")  # noqa: PLW2901  what is left of it may begin a host
        if label and label[-1].isalnum():
            run.append(label)
    if named:
        yield ".".join([*run[: named[0]], named[1]])


def _bare(host: str) -> str:
    return host.lower().removeprefix("www.")
