"""Identities of browsers: a random secret with a MAC in a cookie, from which the chat follows; pure.

The chat id is a hash, so that a reader of the database or the log cannot become the visitor; the MAC prevents made-up
visitors. Over https the cookie's name begins with `__Host-`, so that no other host of the same domain can set an
identity (RFC 6265bis, 4.1.3.2).
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
KEPT_S = 400 * 86_400  # browsers' maximum for cookies (RFC 6265bis, 5.5)
MARK_BYTES = 16

_PURPOSE = b"tenk web visitor v1 "
_SECRET = re.compile(r"[A-Za-z0-9_-]{22}\Z")  # 128 bits
_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}\Z")


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a browser."""

    secret: str
    fresh: bool  # the browser must be sent its cookie, new or in its current form
    device: str = ""  # id among its person's browsers; "": an old cookie without one

    @property
    def chat(self) -> str:
        """Return the chat, which is also the sender's id."""
        return chat_of(self.secret)


class Identities:
    """The maker and checker of visitors' cookies."""

    def __init__(
        self,
        key: bytes,
        is_known: Callable[[str], bool],
        is_out: Callable[[str, str], bool] = lambda _chat, _device: False,
    ) -> None:
        """`is_known` returns True for chats of people the gateway knows, `is_out` for signed-out (chat, device)."""
        self._key = key
        self.is_known = is_known
        self._is_out = is_out

    def make(self) -> Identity:
        """Return a new identity of 128 random bits."""
        return self.add_device(secrets.token_urlsafe(16))

    def add_device(self, secret: str) -> Identity:
        """Return an identity for another browser of the same person."""
        return Identity(secret, fresh=True, device=secrets.token_urlsafe(8))

    def of(self, request: web.Request) -> Identity | None:
        """Return the browser's identity; None if it has no valid cookie, or was signed out."""
        return next((found for found in self._read(request) if not self._is_out(found.chat, found.device)), None)

    def was_signed_out(self, request: web.Request) -> bool:
        """Return True if the browser was signed out."""
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
                yield Identity(secret, fresh=True)  # an old cookie without a MAC

    def give(self, answer: web.Response, identity: Identity, request: web.Request) -> None:
        """Set the cookie: unreadable for scripts, and never sent with another site's requests."""
        claims_https = request.headers.get("X-Forwarded-Proto", "").lower() == "https"  # of any proxy
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
        """Return the cookie's value."""
        named = f"{identity.secret}.{identity.device}" if identity.device else identity.secret
        return f"{named}.{self._mark(named)}"

    def _mark(self, named: str) -> str:
        digest = hmac.digest(self._key, _PURPOSE + named.encode("utf-8", "replace"), "sha256")[:MARK_BYTES]
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def cookie_values(headers: Iterable[str], name: str) -> list[str]:
    """Return every value that the browser sent under exactly this name.

    The server's own parser also splits at spaces and strips odd ones, by which another host's cookie could pass for a
    `__Host-` one; browsers separate cookies by semicolons only.
    """
    pairs = [pair.strip(" \t").partition("=") for line in headers for pair in line.split(";")]
    return [value for key, equals, value in pairs if equals and key == name]


def chat_of(secret: str) -> str:
    """Return the chat of a secret."""
    return hashlib.sha256(b"tenk-web:" + secret.encode()).hexdigest()[:32]


def locales_of(request: web.Request) -> list[str]:
    """Return the browser's languages, BCP 47, in its order; at most ten."""
    named = request.headers.get("Accept-Language", "").split(",", 10)[:10]
    return [tag for name in named if _TAG.match(tag := name.partition(";")[0].strip())]


def locale_of(request: web.Request) -> str | None:
    """Return the browser's first language, or None."""
    return next(iter(locales_of(request)), None)
