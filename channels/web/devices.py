"""A person goes on in another browser by a link: made in one, named in the other, allowed in the first. In memory.

A link is good once, for ten minutes, and lets nobody in by itself: whoever opens it is shown a number, and the person
who made it has to say yes to that number. What a browser is given is the identity that `visitor` makes.
"""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from channels.bounded_dict import BoundedDict

LINK_S = 600.0
MOST_LINKS = 1_000
"""Links of persons who are let in; the oldest are forgotten."""


@dataclass(slots=True)
class _Link:
    """One that was made, and what became of it."""

    secret: str  # of the identity that made it
    chat: str
    until_s: float
    claim: str = ""  # by which the browser that opened it is known; "": nobody has
    number: str = ""  # that both sides see
    allowed: bool = False


class DeviceLinks:
    """The links of one web chat; a person has one at a time."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        """`now_s` is monotonic."""
        self.now_s = now_s
        self._by_code: BoundedDict[str, _Link] = BoundedDict(MOST_LINKS)

    def offer(self, secret: str, chat: str) -> str:
        """The code of a new link; an earlier one of theirs is void."""
        self.withdraw(chat)
        code = secrets.token_urlsafe(24)
        self._by_code[_digest(code)] = _Link(secret, chat, self.now_s() + LINK_S)
        return code

    def withdraw(self, chat: str) -> None:
        """No link of theirs is good any more."""
        for digest in [digest for digest, link in self._by_code.items() if link.chat == chat]:
            del self._by_code[digest]

    def ask(self, code: str) -> tuple[str, str, str] | None:
        """Open a link: the chat it leads to, a claim and its number; None where it is none, or was opened before."""
        link = self._by_code.get(_digest(code))
        if link is None or link.claim or link.until_s <= self.now_s():
            return None
        link.claim, link.number = secrets.token_urlsafe(24), f"{secrets.randbelow(90) + 10}"
        return link.chat, link.claim, link.number

    def decide(self, chat: str, number: str, *, allow: bool) -> bool:
        """The person says whether the browser that shows this number may go on as them; False: there is none."""
        for link in self._by_code.values():
            if link.chat == chat and link.claim and secrets.compare_digest(link.number, number):
                if not allow:
                    self.withdraw(chat)
                link.allowed = allow
                return True
        return False

    def take(self, claim: str) -> str | None:
        """The secret of the identity, once; "" while nobody has decided; None where it was denied, or is over."""
        for digest, link in list(self._by_code.items()):
            if link.claim and secrets.compare_digest(link.claim, claim):
                if link.until_s <= self.now_s():
                    return None
                if not link.allowed:
                    return ""
                del self._by_code[digest]
                return link.secret
        return None


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()
