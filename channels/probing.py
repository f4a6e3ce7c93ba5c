"""Looks at an account's credentials by a few plain calls. No SDK is imported, and nothing runs on.

Each platform has its own `probe`, found by its name among the entry points `tenk.probes`; what its answers mean is said
there. Nothing is mended here.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from importlib.metadata import entry_points
from types import TracebackType
from typing import Any, Self

from aiohttp import ClientError, ClientSession, ClientTimeout
from pydantic import JsonValue

from channels.clocks import Clock, wall_now
from channels.foreign import JsonObject, decode_json, in_our_time, words_of
from channels.http_answers import whole

GROUP = "tenk.probes"
CALL_S = 15.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    part: str  # of the configuration or the machine: "telegram:main"
    words: str
    to_do: str = ""  # empty: all is well
    key: tuple[str, ...] = ()  # where the value at fault stands in the configuration; empty: nowhere
    mend: Callable[[], Awaitable[str]] | None = None  # does what is to be done and says so; None: a person has to


class NoAnswer(Exception):
    """The platform did not answer, or something else did; the message says what was seen, and holds no token."""


@dataclass(frozen=True, slots=True)
class PlatformAnswer:
    """One answer: JSON and its headers."""

    status: int
    body: JsonObject
    headers: Mapping[str, str]


class Asker:
    """Makes single calls, and notes how far this machine's clock is from those that answer."""

    def __init__(self, clock: Clock = wall_now) -> None:
        """`clock` is this machine's, aware."""
        self._clock = clock
        self.skews_s: dict[str, float] = {}
        """By host: seconds that our clock is ahead of its `Date` header, which is whole seconds."""

    async def __aenter__(self) -> Self:
        """Open the connections' session."""
        self._session = ClientSession(timeout=ClientTimeout(total=CALL_S))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close them."""
        await self._session.close()

    async def ask(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: JsonValue = None
    ) -> PlatformAnswer:
        """One call, never repeated and never redirected.

        Raises:
            NoAnswer: nobody answered with a JSON object.
        """
        try:
            async with self._session.request(method, url, headers=headers, json=body, allow_redirects=False) as answer:
                content = decode_json(await whole(answer))
                self._note_date(str(answer.url.host), answer.headers.get("Date"))
        except (ClientError, TimeoutError, OSError, ValueError) as error:
            raise NoAnswer(f"cannot be reached ({type(error).__name__})") from error
        if not isinstance(content, dict):
            raise NoAnswer(f"something else answers there ({answer.status}); look at api_base and any proxy")
        return PlatformAnswer(answer.status, content, answer.headers)

    def _note_date(self, host: str, date: str | None) -> None:
        said = _instant(date)
        if said is not None:
            self.skews_s[host] = (self._clock() - said).total_seconds()


def _instant(date: str | None) -> datetime | None:
    try:
        return in_our_time(parsedate_to_datetime((date or "")[:64]))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def refusal_words(heard: PlatformAnswer, key: str) -> str:
    """What a platform says about a refusal, in one line, behind its status."""
    return words_of(f"{heard.status} {heard.body.get(key) or HTTPStatus(heard.status).phrase}", 200)


Probe = Callable[[Any, Asker], Awaitable[list[Finding]]]
"""Looks at one account; given its configuration."""


def load_probe(channel: str) -> Probe | None:
    """How accounts of this channel are looked at; None where nobody knows."""
    point = next(iter(entry_points(group=GROUP, name=channel)), None)
    if point is None:
        return None
    probe: Probe = point.load()
    return probe


@dataclass(slots=True)
class AccountLook:
    """What is found of one account, in order."""

    part: str
    found: list[Finding] = field(default_factory=list)

    def ok(self, words: str) -> None:
        """All is well with this."""
        self.found.append(Finding(self.part, words))

    def bad(
        self, words: str, to_do: str, key: tuple[str, ...] = (), mend: Callable[[], Awaitable[str]] | None = None
    ) -> None:
        """Something is to be done."""
        self.found.append(Finding(self.part, words, to_do, key, mend))
