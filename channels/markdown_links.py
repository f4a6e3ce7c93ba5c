"""What the words of a link keep from whoever reads it. Pure.

An injected instruction can make a model write a link that looks like another, or one whose address carries what it was
told to the host of a stranger (A59). Such a link shows its address: whoever presses it knows where it leads and what it
says there. Decision 0013.
"""

import re
from urllib.parse import urlsplit

PLAIN_CHARS = 60
"""Of an address behind its host: up to this long, and without a question, it may stand behind words alone."""

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060-\u206f\ufeff]")
_DOTS = re.compile("[\u3002\uff0e\uff61\u2024]")  # dots in the eyes of people, or of browsers
_HOST = re.compile(r"(?:[^\W_](?:[\w-]*[^\W_])?\.)+[^\W\d_]{2,}|\d{1,3}(?:\.\d{1,3}){3}")
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
    return any(_bare(named) != _bare(host) for named in _HOST.findall(seen))


def _bare(host: str) -> str:
    return host.lower().removeprefix("www.")
