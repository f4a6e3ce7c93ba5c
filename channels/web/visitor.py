"""A browser is known by a random secret in its cookie with a mark that it is ours; its chat follows from it. Pure.

The chat id is a hash: whoever reads the database or the log cannot become the visitor. The mark is a MAC: nobody makes
up a visitor that we did not let come. Over https the cookie's name begins with `__Host-`, so that no other host of the
same domain can give a browser an identity of its own choice (RFC 6265bis, 4.1.3.2).
"""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from aiohttp import web

COOKIE = "tenk_web"
HOST_COOKIE = f"__Host-{COOKIE}"
KEPT_S = 400 * 86_400  # as long as browsers keep a cookie at most (RFC 6265bis, 5.5)
MARK_BYTES = 16

_PURPOSE = b"tenk web visitor v1 "
_SECRET = re.compile(r"[A-Za-z0-9_-]{22}\Z")  # 128 bits
_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}\Z")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a browser is."""

    secret: str
    fresh: bool  # the browser has to be given its cookie, for the first time or in its present form
    device: str = ""  # its own number among its person's browsers; "": its cookie is of a time when there were none

    @property
    def chat(self) -> str:
        """The chat, which is also the sender's id."""
        return chat_of(self.secret)


class Identities:
    """Makes visitors' cookies and knows them again."""

    def __init__(
        self,
        key: bytes,
        is_known: Callable[[str], bool],
        is_out: Callable[[str, str], bool] = lambda _chat, _device: False,
    ) -> None:
        """`is_known` tells, by the chat, whom the gateway knows already, `is_out` which device was signed out."""
        self._key = key
        self.is_known = is_known
        self._is_out = is_out

    def make(self) -> Identity:
        """Somebody new, of 128 random bits."""
        return self.add_device(secrets.token_urlsafe(16))

    def add_device(self, secret: str) -> Identity:
        """Another browser of somebody's."""
        return Identity(secret, fresh=True, device=secrets.token_urlsafe(8))

    def of(self, request: web.Request) -> Identity | None:
        """Who asks; None where the browser has no cookie of ours, or was signed out."""
        return next((found for found in self._read(request) if not self._is_out(found.chat, found.device)), None)

    def was_somebody(self, request: web.Request) -> bool:
        """Whether the browser was signed out."""
        return self.of(request) is None and any(self._read(request))

    def _read(self, request: web.Request) -> Iterator[Identity]:
        over_https = request.secure
        for value in cookie_values(request.headers.getall("Cookie", ()), HOST_COOKIE if over_https else COOKIE):
            named, _, mark = value.rpartition(".") if "." in value else (value, "", "")
            secret, _, device = named.partition(".")
            if not _SECRET.match(secret):
                continue
            if hmac.compare_digest(mark.encode("utf-8", "replace"), self._mark(named).encode()):
                yield Identity(secret, fresh=False, device=device)
            elif not over_https and not mark and not device and self.is_known(chat_of(secret)):
                yield Identity(secret, fresh=True)  # from before there were marks

    def give(self, answer: web.Response, identity: Identity, request: web.Request) -> None:
        """Give the browser its identity: out of reach for scripts, and never sent with another site's requests."""
        claims_https = (
            request.headers.get("X-Forwarded-Proto", "").lower() == "https"
        )  # also of a proxy we do not trust
        answer.set_cookie(
            HOST_COOKIE if request.secure else COOKIE,
            self.value_of(identity),
            max_age=KEPT_S,
            path="/",
            httponly=True,
            samesite="Strict",
            secure=request.secure or claims_https,
        )

    def value_of(self, identity: Identity) -> str:
        """What its cookie holds."""
        named = f"{identity.secret}.{identity.device}" if identity.device else identity.secret
        return f"{named}.{self._mark(named)}"

    def _mark(self, named: str) -> str:
        digest = hmac.digest(self._key, _PURPOSE + named.encode("utf-8", "replace"), "sha256")[:MARK_BYTES]
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def cookie_values(headers: Iterable[str], name: str) -> list[str]:
    """Every value that the browser sent under exactly this name.

    The server's own parser splits at blanks too and takes odd ones off, by which another host's cookie could pass for
    one of `__Host-`; browsers put a semicolon between cookies and nothing else.
    """
    pairs = [pair.strip(" \t").partition("=") for line in headers for pair in line.split(";")]
    return [value for key, equals, value in pairs if equals and key == name]


def chat_of(secret: str) -> str:
    """The chat of a secret."""
    return hashlib.sha256(b"tenk-web:" + secret.encode()).hexdigest()[:32]


def locales_of(request: web.Request) -> list[str]:
    """The browser's languages, BCP 47, in the order it names them; ten at most."""
    named = request.headers.get("Accept-Language", "").split(",", 10)[:10]
    return [tag for name in named if _TAG.match(tag := name.partition(";")[0].strip())]


def locale_of(request: web.Request) -> str | None:
    """The first of them."""
    return next(iter(locales_of(request)), None)
