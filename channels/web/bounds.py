"""Bounds how much browsers may say and how many may come, by person and by address, in memory.

A cookie costs nothing to make up, so that a bound on persons alone would bound nobody: whatever is said counts for the
address it came from as well. What is refused here has cost nothing and is kept by the page, which offers it again.
"""

import ipaddress
import math
from collections.abc import Callable
from dataclasses import dataclass

from channels.rate import TokenBucket
from channels.web.config import WebAccount

AGAIN_S = 5.0
"""Least wait after a refusal: so long everything is refused, or what is said later would overtake."""

SWEEP_EVERY = 1024
"""Counts between two sweeps of buckets that are full again: memory follows who is active."""


FRAMES_PER_MIN = 3_000
"""Frames of any kind a minute from one browser; a busy page confirms a few a second."""

ADDRESS_FRAMES_PER_MIN = 30_000

REPLAYED_PER_MIN = 2_000_000
"""Characters of history a minute for one browser: four whole histories (`CHARS_OF_CHAT`), or a thousand empty ones."""

ADDRESS_REPLAYED_PER_MIN = 8_000_000

HANDED_PER_MIN = 40_000_000
"""Bytes of files a minute from one person: the half of ten of the largest."""

ADDRESS_HANDED_PER_MIN = 160_000_000

FILE_BYTES = 100_000
"""What a file costs however small it is."""

LINKED_PER_MIN = 120

HELLO_CHARS = 2_000
"""What a hello costs where there is nothing to tell again: the commands, and our work."""


@dataclass(slots=True)
class _Bucket(TokenBucket):
    shut_until_s: float = float("-inf")


class _Buckets:
    """One bound: so much a minute for each key, a minute's worth at once after a pause."""

    def __init__(self, per_min: int, now_s: Callable[[], float]) -> None:
        self._most = float(per_min)
        self._per_s = per_min / 60.0
        self._now_s = now_s
        self._buckets: dict[str, _Bucket] = {}
        self._counted = 0

    def __len__(self) -> int:
        return len(self._buckets)

    def count(self, key: str, weight: float = 1.0) -> float:
        """Count one, or something of this weight; 0.0, or the seconds to wait."""
        now_s = self._now_s()
        self._counted += 1
        if self._counted % SWEEP_EVERY == 0:
            self._sweep(now_s)
        bucket = self._buckets.setdefault(key, _Bucket(self._most, now_s))
        if now_s < bucket.shut_until_s:
            return bucket.shut_until_s - now_s
        bucket.fill(now_s, self._most, self._per_s)
        wait_s = bucket.acquire(weight, self._per_s)
        if wait_s:
            wait_s = max(AGAIN_S, wait_s)
            bucket.shut_until_s = now_s + wait_s
        return wait_s

    def give_back(self, key: str, weight: float = 1.0) -> None:
        """What was counted came to nothing."""
        bucket = self._buckets.get(key)
        if bucket is not None:
            bucket.give_back(weight, self._most)

    def _sweep(self, now_s: float) -> None:
        self._buckets = {
            key: bucket
            for key, bucket in self._buckets.items()
            if bucket.tokens_at(now_s, self._most, self._per_s) < self._most or now_s < bucket.shut_until_s
        }


class _Both:
    """A bound on persons and a wider one on addresses: what is refused to a person costs their address nothing."""

    def __init__(self, of_person: int, of_address: int, now_s: Callable[[], float]) -> None:
        self._of_person = _Buckets(of_person, now_s)
        self._of_address = _Buckets(of_address, now_s)

    def __len__(self) -> int:
        return len(self._of_person) + len(self._of_address)

    def count(self, chat: str, address: str, weight: float = 1.0) -> float:
        """Count it for both; 0.0, or the seconds to wait."""
        wait_s = self._of_address.count(address, weight)
        if wait_s == 0.0:
            wait_s = self._of_person.count(chat, weight)
            if wait_s:
                self._of_address.give_back(address, weight)
        return wait_s

    def give_back(self, chat: str, address: str) -> None:
        """One that was counted came to nothing."""
        self._of_person.give_back(chat)
        self._of_address.give_back(address)


class Bounds:
    """The bounds of one web chat. Each answer is the whole seconds to wait; 0 lets in."""

    def __init__(self, config: WebAccount, now_s: Callable[[], float]) -> None:
        """`now_s` is monotonic."""
        self._said = _Both(config.messages_per_min, config.address_messages_per_min, now_s)
        self._heard = _Both(FRAMES_PER_MIN, ADDRESS_FRAMES_PER_MIN, now_s)
        self._replayed = _Both(REPLAYED_PER_MIN, ADDRESS_REPLAYED_PER_MIN, now_s)
        self._handed = _Both(HANDED_PER_MIN, ADDRESS_HANDED_PER_MIN, now_s)
        self._linked = _Buckets(LINKED_PER_MIN, now_s)
        self._newcomers = _Buckets(config.address_newcomers_per_min, now_s)

    def __len__(self) -> int:
        """How many persons and addresses are kept."""
        return (
            len(self._said)
            + len(self._heard)
            + len(self._replayed)
            + len(self._handed)
            + len(self._linked)
            + len(self._newcomers)
        )

    def come(self, address: str) -> int:
        """A browser that this process does not know yet."""
        return math.ceil(self._newcomers.count(address))

    def say(self, chat: str, address: str) -> int:
        """One message or press."""
        return math.ceil(self._said.count(chat, address))

    def unsay(self, chat: str, address: str, count: int) -> None:
        """So many that were let in were not taken after all: they will be offered again."""
        for _ in range(count):
            self._said.give_back(chat, address)

    def hear(self, chat: str, address: str, frames: int = 1) -> int:
        """So many frames of any kind: even to refuse one costs something."""
        return math.ceil(self._heard.count(chat, address, frames))

    def replay(self, chat: str, address: str, chars: int) -> int:
        """So much of a history, told again to a page that says hello."""
        return math.ceil(self._replayed.count(chat, address, HELLO_CHARS + chars))

    def link(self, address: str) -> int:
        """One request about going on in another browser; a browser that waits for its answer makes some thirty."""
        return math.ceil(self._linked.count(address))

    def hand(self, chat: str, address: str, size_bytes: int) -> int:
        """A file of so many bytes."""
        return math.ceil(self._handed.count(chat, address, FILE_BYTES + size_bytes))


def address_of(remote: str | None) -> str:
    """What counts as one address: of IPv6 the network of 64 bits, which one customer has."""
    try:
        address = ipaddress.ip_address((remote or "").partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
