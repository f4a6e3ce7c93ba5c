"""The base of the checks that `tenk doctor` and `tenk init` make of an account's credentials, without an SDK.

Each platform has its `probe`, found by its name among the entry points of group `tenk.probes`.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from importlib.metadata import entry_points
from types import TracebackType
from typing import Any, Protocol, Self

from aiohttp import ClientError, ClientSession, ClientTimeout
from pydantic import JsonValue

from channels.chat.http_answers import whole
from channels.clocks import Clock, wall_now
from channels.foreign import JsonObject, decode_json, in_our_time, words_of

GROUP = "tenk.probes"
CALL_S = 15.0


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    part: str  # of the configuration or the machine: "telegram:main"
    words: str
    to_do: str = ""  # advice; "": no fault
    key: tuple[str, ...] = ()  # path of the value at fault in the configuration; empty: none
    mend: Callable[[], Awaitable[str]] | None = None  # repairs the fault, returns what it did; None: a person must


class NoAnswer(Exception):
    """The platform did not answer, or another server did; the message says which, without a token."""


@dataclass(frozen=True, slots=True)
class PlatformAnswer:
    """One answer: JSON and its headers."""

    status: int
    body: JsonObject
    headers: Mapping[str, str]


class Asker:
    """A client for single calls, which compares this machine's clock with each server's."""

    def __init__(self, clock: Clock = wall_now) -> None:
        self._clock = clock
        self.skews_s: dict[str, float] = {}
        """Seconds by which our clock is ahead of a host's `Date` header (whole seconds)."""

    async def __aenter__(self) -> Self:
        self._session = ClientSession(timeout=ClientTimeout(total=CALL_S))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def ask(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: JsonValue = None
    ) -> PlatformAnswer:
        """Make one call, without a repetition or a redirect.

        Raises:
            NoAnswer: no server answered with a JSON object.
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
    """Return the status of a refusal and the platform's words for it, in one line."""
    return words_of(f"{heard.status} {heard.body.get(key) or HTTPStatus(heard.status).phrase}", 200)


Probe = Callable[[Any, Asker], Awaitable[list[Finding]]]
"""Checks one account, given its configuration."""


def load_probe(channel: str) -> Probe | None:
    """Return the probe of this channel's accounts; None if no installed package offers one."""
    point = next(iter(entry_points(group=GROUP, name=channel)), None)
    if point is None:
        return None
    probe: Probe = point.load()
    return probe


class ProbedAccount(Protocol):
    """The part of an account's configuration that each probe reads."""

    @property
    def name(self) -> str: ...

    @property
    def api_base(self) -> str: ...


class AccountProbe(ABC):
    """A check of one account's credentials from outside, by a few calls; each platform subclasses it."""

    platform: str  # with capitals: "Slack"

    def __init__(self, account: ProbedAccount, asker: Asker) -> None:
        self.asker = asker
        self._api_base = account.api_base
        self._path = ("channels", self.platform.lower(), account.name)
        self.part = f"{self.platform.lower()}:{account.name}"
        self._found: list[Finding] = []

    async def run(self) -> list[Finding]:
        """Check the account; return the findings in order."""
        try:
            await self.check()
        except NoAnswer as silence:
            self.bad(f"{self.platform} at {self._api_base} {silence}", "look at the network, and at api_base")
        return self._found

    @abstractmethod
    async def check(self) -> None:
        """Try the credentials by calls of the platform, and add what is wrong to the findings.

        Raises:
            NoAnswer: the platform did not answer.
        """

    def ok(self, words: str) -> None:
        """Add a finding without a fault."""
        self._found.append(Finding(self.part, words))

    def bad(self, words: str, to_do: str, *, key: str = "", mend: Callable[[], Awaitable[str]] | None = None) -> None:
        """Add a fault; `key` is the account's value at fault, "" for none."""
        self._found.append(Finding(self.part, words, to_do, (*self._path, key) if key else (), mend))

    def add_refusal(self, credential: str, answer: PlatformAnswer, words_key: str, to_do: str, *, key: str) -> None:
        """Add the refusal of a credential; `words_key` names the field in which the platform says why."""
        self.bad(f"{self.platform} refuses the {credential} ({refusal_words(answer, words_key)})", to_do, key=key)
