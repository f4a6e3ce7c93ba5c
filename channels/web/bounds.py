"""Rate limits of the web chat, in memory: for a connection, a person, an address.

A browser can create any number of cookies, so each action of a person also counts for their address.
"""

import ipaddress
import math
from collections.abc import Callable
from dataclasses import dataclass

from channels.bounded_dict import BoundedDict
from channels.rate import TokenBucket
from channels.web.config import WebAccount

AGAIN_S = 5.0
"""Minimum wait after a refusal: until then everything is refused, so that later messages do not overtake."""

MOST_KEYS = 20_000
"""Persons or addresses with their own bucket; the one unused for longest is dropped."""

FRAMES_PER_MIN = 3_000
"""Frames a minute on one connection; a busy page confirms a few a second."""

BYTES_OF_FRAME = 2_000
"""Bytes that count as one more frame."""

BODY_COST = 0.02
"""Cost of a posted frame for its address, in messages: a page without a WebSocket posts each confirmation."""

BYTES_OF_MESSAGE = 700_000
"""Bytes of a file that count as one more message."""


@dataclass(slots=True)
class _Bucket(TokenBucket):
    shut_until_s: float = float("-inf")


class RateLimit:
    """Token buckets by key: a number of tokens a minute, and as many at once after a pause."""

    def __init__(self, per_min: int, now_s: Callable[[], float]) -> None:
        self._most = float(per_min)
        self._now_s = now_s
        self._buckets: BoundedDict[str, _Bucket] = BoundedDict(MOST_KEYS)

    def acquire(self, key: str, cost: float = 1.0) -> int:
        """Take tokens, at most a full bucket. Return 0, or the whole seconds to wait; a refusal takes none."""
        now_s, per_s = self._now_s(), self._most / 60.0
        bucket = self._buckets[key] = self._buckets.get(key) or _Bucket(self._most, now_s)
        if now_s < bucket.shut_until_s:
            return math.ceil(bucket.shut_until_s - now_s)
        bucket.fill(now_s, self._most, per_s)
        wait_s = bucket.acquire(min(cost, self._most), per_s)
        if wait_s:
            wait_s = max(AGAIN_S, wait_s)
            bucket.shut_until_s = now_s + wait_s
        return math.ceil(wait_s)

    def give_back(self, key: str, cost: float = 1.0) -> None:
        """Return the tokens of an action that failed."""
        if bucket := self._buckets.get(key):
            bucket.give_back(min(cost, self._most), self._most)


class Bounds:
    """The limits of one web chat, counted in messages. Methods return whole seconds to wait; 0 accepts."""

    def __init__(self, config: WebAccount, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._person = RateLimit(config.messages_per_min, now_s)
        self._address = RateLimit(config.address_messages_per_min, now_s)

    def connection(self) -> RateLimit:
        """Return the limit on the frames of a new connection."""
        return RateLimit(FRAMES_PER_MIN, self._now_s)

    def count_message(self, chat: str, address: str, cost: float = 1.0) -> int:
        """Count a message, a press or a file for the person and their address; for neither if one refuses it."""
        wait_s = self._address.acquire(address, cost)
        if wait_s == 0 and (wait_s := self._person.acquire(chat, cost)):
            self._address.give_back(address, cost)
        return wait_s

    def give_back(self, chat: str, address: str, count: int) -> None:
        """Return the tokens of messages that were accepted and not stored: the page sends them again."""
        self._person.give_back(chat, count)
        self._address.give_back(address, count)

    def count_request(self, address: str, cost: float = 1.0) -> int:
        """Count any other request: a new visitor, a page that opens, an earlier conversation, a link to a browser."""
        return self._address.acquire(address, cost)


def frames_in(size_bytes: int) -> int:
    """Return the number of frames for which something of this size counts."""
    return 1 + size_bytes // BYTES_OF_FRAME


def address_of(remote: str | None) -> str:
    """Return the key of an address; an IPv6 address counts as its 64-bit network, which belongs to one customer."""
    try:
        address = ipaddress.ip_address((remote or "").partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
