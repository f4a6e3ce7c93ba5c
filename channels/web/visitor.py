"""Who a browser is: a random secret in its cookie, and the chat that follows from it. Pure.

The chat id is a hash: whoever reads the database or the log cannot become the visitor.
"""

import hashlib
import re
import secrets

from aiohttp import web

COOKIE = "tenk_web"
KEPT_S = 400 * 86_400  # as long as browsers keep a cookie at most (RFC 6265bis, 5.5)

_SECRET = re.compile(r"[A-Za-z0-9_-]{22}\Z")  # 128 bits
_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}\Z")


def new_secret() -> str:
    """A fresh identity, 128 random bits."""
    return secrets.token_urlsafe(16)


def chat_of(secret: str | None) -> str | None:
    """The chat, which is also the sender's id; None where the cookie is none of ours."""
    if secret is None or not _SECRET.match(secret):
        return None
    return hashlib.sha256(b"tenk-web:" + secret.encode()).hexdigest()[:32]


def set_cookie(answer: web.Response, secret: str, *, secure: bool) -> None:
    """Give the browser its identity: out of reach for scripts, and never sent with another site's requests."""
    answer.set_cookie(COOKIE, secret, max_age=KEPT_S, path="/", httponly=True, samesite="Strict", secure=secure)


def locale_of(request: web.Request) -> str | None:
    """The browser's first language, BCP 47."""
    first = request.headers.get("Accept-Language", "").split(",")[0].split(";")[0].strip()
    return first if _TAG.match(first) else None
