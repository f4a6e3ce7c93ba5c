"""Fetching of one page for a model: guarded, bounded, remembered for some minutes."""

import asyncio
import json
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

import aiohttp
import structlog
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from agent.child_process import run_program
from agent.foreign_code import AllBusy, ForeignThreads
from agent.tools.base import ToolError
from agent.web.addresses import AddressGuard, AddressRefused
from agent.web.config import WebConfig
from agent.web.documents import PageKind, ReadableText, kind_of
from agent.web.domains import DomainRules

log = structlog.get_logger()

MAX_BYTES = 5_000_000
"""Size of a page, compressed and decompressed."""

MOST_REDIRECTS = 5
MOST_CONNECTIONS = 20
READ_AT_ONCE = 2
"""Pages whose text is extracted in parallel; each is a process that keeps a processor busy."""

KEPT_S = 300.0
MOST_KEPT = 32
"""Pages that are remembered, and for how long."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = {
    "User-Agent": f"tenk-gateway/{version('tenk-gateway')} (fetches single pages when a person asks)",
    "Accept": "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
}

Lookup = Callable[..., Sequence[tuple[Any, ...]]]
"""Function with the arguments and the result of `socket.getaddrinfo`."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page as the model reads it."""

    url: str
    """Address after redirects."""
    title: str = ""
    date: str = ""
    """Date of publication; "": unknown."""
    text: str = ""
    note: str = ""
    """The reason why the text is missing or incomplete; "": it is complete."""


class _Resolver(AbstractResolver):
    """Name lookups in threads of their own: a slow name server delays no other lookup of the gateway."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = ForeignThreads(lookup)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        try:
            found = await self._lookup.call(host, port, family, socket.SOCK_STREAM)
        except AllBusy:
            raise OSError("too many names are looked up now") from None
        return [
            ResolveResult(
                hostname=host, host=address[0], port=port, family=of, proto=protocol, flags=socket.AI_NUMERICHOST
            )
            for of, _, protocol, _, address in found
        ]

    async def close(self) -> None:
        pass


class PageReader:
    """A reader of public web pages."""

    def __init__(
        self,
        config: WebConfig,
        *,
        lookup: Lookup = socket.getaddrinfo,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.reconfigure(config)
        self._lookup = lookup
        self._now_s = now_s
        self._pages: dict[str, tuple[float, WebPage]] = {}  # by URL: until when, oldest first
        self._slots = asyncio.Semaphore(READ_AT_ONCE)
        self._session: aiohttp.ClientSession | None = None

    def reconfigure(self, config: WebConfig) -> None:
        """Apply these limits and lists to the next page."""
        self._timeout_s = config.timeout_s
        self._rules = DomainRules(config.allow_domains, config.deny_domains)
        self._guard = AddressGuard(config.allow_private)

    def permits(self, url: str) -> bool:
        """Return True if the lists of domains permit to read this URL."""
        try:
            return self._rules.permits(URL(url))
        except ValueError:
            return False

    async def read(self, url: str) -> WebPage:
        """Return the page at this URL, or the one that was there some minutes ago.

        Raises:
            ToolError: there is none that may be read.
        """
        target = self._check_url(_parse(url))
        if (kept := self._pages.get(str(target))) is not None and self._now_s() < kept[0]:
            return kept[1]
        try:
            async with asyncio.timeout(self._timeout_s):
                page = await self._follow(target)
        except TimeoutError:
            raise ToolError(f"{target.host} took longer than {self._timeout_s:g} s. Use another source.") from None
        except (aiohttp.ClientError, OSError, ValueError) as problem:
            raise ToolError(_trouble(problem)) from None
        self._keep(str(target), page)
        return page

    async def aclose(self) -> None:
        """Close its connections."""
        if self._session is not None:
            await self._session.close()

    async def _follow(self, target: URL) -> WebPage:
        for _ in range(MOST_REDIRECTS + 1):
            async with self._open().get(target, allow_redirects=False) as answer:
                location = answer.headers.get("Location")
                if answer.status not in _REDIRECTS or not location:
                    return await self._take(answer)
            target = self._check_url(target.join(_parse(location)))
        raise ToolError(f"It redirects more than {MOST_REDIRECTS} times.")

    def _check_url(self, url: URL) -> URL:
        """Return a URL without its fragment.

        Raises:
            ToolError: it may not be read.
        """
        if url.scheme not in {"http", "https"} or not url.host:
            raise ToolError("Only URLs that begin with http:// or https:// and name a host can be read.")
        if url.user is not None or url.password is not None:
            raise ToolError("URLs with a user name or a password are not read.")
        if not self._rules.permits(url):
            raise ToolError(f"The operator does not allow to read pages of {url.host}. Use another source.")
        return url.with_fragment(None)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                socket_factory=self._open_socket,
                resolver=_Resolver(self._lookup),
                use_dns_cache=False,
                force_close=True,
                limit=MOST_CONNECTIONS,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                headers=_HEADERS,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),  # the whole is bounded
            )
        return self._session

    def _open_socket(self, info: aiohttp.AddrInfoType) -> socket.socket:
        return self._guard.open_socket(info)  # that of the configuration in force now

    async def _take(self, answer: aiohttp.ClientResponse) -> WebPage:
        """Return the text of an answer.

        Raises:
            ToolError: it is an error, or too large.
        """
        url = str(answer.url)
        if answer.status != HTTPStatus.OK:
            raise ToolError(f"{answer.url.host} answers {answer.status}{_phrase(answer.status)}. Use another source.")
        content_type = answer.content_type if "Content-Type" in answer.headers else ""
        if kind_of(content_type, b"") is None:
            return WebPage(url, note=f"This is a file of type {content_type[:100]}, which cannot be read here.")
        body = await _body_of(answer)
        kind = kind_of(content_type, body[:2000])
        if kind is None or b"\0\0\0" in body[:2000]:
            return WebPage(url, note="This is a file without text, which cannot be read here.")
        return _page_of(url, await self._extract(body, kind, answer.charset or "", url))

    async def _extract(self, body: bytes, kind: PageKind, charset: str, url: str) -> ReadableText:
        """Return the readable text of a body, from a process that the deadline ends.

        Raises:
            ToolError: the process failed.
        """
        asked = json.dumps({"kind": kind, "charset": charset, "url": url}).encode()
        argv = [sys.executable, "-P", "-m", "agent.web.extract"]
        async with self._slots:
            ended = await run_program(argv, asked + b"\n" + body, env={"LANG": "C.UTF-8"})
        try:
            return ReadableText(**json.loads(ended.output))
        except (ValueError, TypeError):
            log.warning("page_not_read", code=ended.code, error=ended.errors[-500:].decode(errors="replace"))
            raise ToolError("The page is built in a way that cannot be read here. Use another source.") from None

    def _keep(self, url: str, page: WebPage) -> None:
        self._pages.pop(url, None)
        while len(self._pages) >= MOST_KEPT:
            del self._pages[next(iter(self._pages))]
        self._pages[url] = self._now_s() + KEPT_S, page


def _page_of(url: str, found: ReadableText) -> WebPage:
    note = ""
    if found.is_cut:
        note = f"Only the first {len(found.text)} characters are here."
    elif not found.text:
        note = "The page has no text that can be read without a browser. Use another source."
    return WebPage(url, found.title, found.date, found.text, note)


def _parse(url: str) -> URL:
    try:
        return URL(url.strip())
    except (ValueError, TypeError):
        raise ToolError("This is not a URL.") from None


async def _body_of(answer: aiohttp.ClientResponse) -> bytes:
    """Return the decompressed body.

    Raises:
        ToolError: it is too large.
    """
    body = bytearray()
    async for chunk in answer.content.iter_any():
        body += chunk
        if len(body) > MAX_BYTES or (answer.content_length or 0) > MAX_BYTES:
            raise ToolError(f"The page is larger than {MAX_BYTES / 1_000_000:g} MB. Use another source.")
    return bytes(body)


def _phrase(status: int) -> str:
    try:
        return f" ({HTTPStatus(status).phrase})"
    except ValueError:
        return ""


def _trouble(problem: Exception) -> str:
    """Return what the model should know about a failure; it names no address that was not given."""
    if isinstance(problem, aiohttp.ClientConnectorDNSError):
        return "There is no host of that name. Check the URL, or use another source."
    if isinstance(problem, aiohttp.ClientConnectorError) and isinstance(problem.os_error, AddressRefused):
        return "That address is not on the public Internet, or no web server's port; it is never read."
    if isinstance(problem, aiohttp.InvalidURL):
        return "This is not a URL that can be read."
    if isinstance(problem, aiohttp.ClientSSLError):
        return "The server's certificate is not valid. Use another source."
    return f"The server gives no usable answer ({type(problem).__name__}). Use another source."
