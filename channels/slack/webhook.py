"""The HTTP way in: one path for events, commands and buttons, each request verified over its raw bytes.

Answers only after the commit: 200 taken (a replay too: the inbox knows it), 401 not Slack's, 503 not committed.
`X-Slack-Retry-Num` decides nothing: a first delivery may have died before its commit (FAULTS 1.3).
"""

import time
from collections.abc import Callable

import orjson
import structlog
from aiohttp import web
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest

from channels.slack.signatures import is_signed

TAKEN_TYPES = frozenset({"application/json", "application/x-www-form-urlencoded"})

_log = structlog.get_logger()


class Webhook:
    """Answers what Slack posts. Before `app` is set every request is answered 503."""

    def __init__(self, account: str, secret: str, *, now_s: Callable[[], float] = time.time) -> None:
        """`now_s` is Unix time, for tests."""
        self.app: AsyncApp | None = None
        self._account = account
        self._secret = secret
        self._now_s = now_s

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One request."""
        body = await request.read()  # the server's own limit answers 413
        timestamps = request.headers.getall("X-Slack-Request-Timestamp", [])
        signatures = request.headers.getall("X-Slack-Signature", [])
        if not is_signed(self._secret, body, timestamps, signatures, self._now_s()):
            _log.warning("webhook_refused", account=self._account)
            return web.Response(status=401, text="not signed by Slack\n")
        if self.app is None:
            return _later()
        asked = _as_request(body, request.content_type)
        if asked is None:
            return web.Response(status=400, text="unreadable\n")
        answer = await self.app.async_dispatch(asked)
        if answer.status == 503:
            return _later()
        kind = answer.headers.get("content-type", ["text/plain"])[0].partition(";")[0]
        return web.Response(status=answer.status, text=answer.body or "", content_type=kind)


def _later() -> web.Response:
    return web.Response(status=503, headers={"Retry-After": "1"}, text="not now\n")


def _as_request(body: bytes, content_type: str) -> AsyncBoltRequest | None:
    """The body as bolt takes it; None when it is no object of JSON and no form (A09, A16)."""
    if content_type not in TAKEN_TYPES:
        return None
    try:
        if content_type == "application/json" and not isinstance(orjson.loads(body), dict):
            return None
        asked = AsyncBoltRequest(body=body.decode(), headers={"content-type": content_type}, mode="http")
    except (ValueError, AttributeError, TypeError, RecursionError):  # of the SDK's parser, on what is none of Slack's
        return None
    return asked
