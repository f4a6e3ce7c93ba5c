"""Receiving by HTTP: one path for events, commands and buttons, with every request's signature verified.

Status 200: committed, or a replay; 401: not from Slack; 503: not committed in time. An event that is not committed in
time is retried here, and later events of its chat wait for it: Slack repeats it only after a minute, when later
messages would already be committed. `X-Slack-Retry-Num` does not affect what is accepted, since the first delivery may
have failed. It signals a gap: Slack retries three times in six minutes, and then only the histories have the event.
"""

import asyncio
import time
from collections.abc import Callable

import orjson
import structlog
from aiohttp import web
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from channels.base import ChannelState
from channels.clocks import Sleep
from channels.slack.backfill import SlackGaps
from channels.slack.cursor import Trail
from channels.slack.receiving import Receiver
from channels.slack.signatures import flaw_in
from channels.slack.wire import STUMBLES

JSON = "application/json"
TAKEN_TYPES = frozenset({JSON, "application/x-www-form-urlencoded"})
RETRIED_FOR_S = 420.0  # after so long Slack has given an event up (docs.slack.dev/apis/events-api, read 2026-11)
GAP_PAUSE_S = 5.0  # between the sign of a gap and the look into the histories: signs come in crowds
BETWEEN_GAPS_S = 60.0
ANSWERED_S = 2.0  # Slack waits three seconds for an answer, and the way is part of them
KEPT_AT_MOST = 1_000  # events that are offered again though Slack was told 503; of more it alone has them
TELL_EVERY_S = 60.0  # between two lines in the log about requests that are not Slack's: anybody can make them

_log = structlog.get_logger()


class Webhook:
    """The webhook of one app; it answers 503 unless `run` is running."""

    def __init__(self, account: str, secret: str, *, now_s: Callable[[], float] = time.time) -> None:
        self._account = account
        self._secret = secret
        self._now_s = now_s
        self._app: AsyncApp | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._kept = 0
        self._gap = asyncio.Event()
        self._trail: Trail | None = None
        self._refused = 0  # since the log last said so
        self._told_at_s = float("-inf")

    async def run(self, app: AsyncApp, receiver: Receiver, gaps: SlackGaps, *, sleep: Sleep) -> None:
        """Accept Slack's requests until cancelled."""
        self._trail = trail = Trail(receiver.resume_point, RETRIED_FOR_S, self._now_s)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(receiver.names.run())
            self._app, self._tasks = app, tasks
            try:
                receiver.sink.report(ChannelState.READY)
                await gaps.fill(tasks)
                while True:
                    await self._gap.wait()
                    since = trail.since  # before anything newer is heard
                    await sleep(GAP_PAUSE_S)
                    self._gap.clear()
                    await gaps.fill(tasks, since)
                    await sleep(BETWEEN_GAPS_S)
            finally:
                self._app = self._tasks = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        body = await request.read()  # the server's own limit answers 413
        timestamps = request.headers.getall("X-Slack-Request-Timestamp", [])
        signatures = request.headers.getall("X-Slack-Signature", [])
        flaw = flaw_in(self._secret, body, timestamps, signatures, self._now_s())
        if flaw is not None:
            self._tell_refused(flaw)
            return web.Response(status=401, text="not signed by Slack\n")
        if self._app is None or self._trail is None:
            return _later()
        self._trail.mark()
        answer = await self._answer(body, request.content_type)
        if answer.status >= 500 or "X-Slack-Retry-Num" in request.headers:
            self._gap.set()
        return answer

    def _tell_refused(self, flaw: str) -> None:
        self._refused += 1
        now_s = asyncio.get_running_loop().time()
        if now_s - self._told_at_s >= TELL_EVERY_S:
            _log.warning("webhook_refused", account=self._account, reason=flaw, requests=self._refused)
            self._refused, self._told_at_s = 0, now_s

    async def _answer(self, body: bytes, content_type: str) -> web.StreamResponse:
        asked = _as_request(body, content_type)
        if asked is None:
            return web.Response(status=400, text="unreadable\n")
        if self._tasks is None:
            return _later()
        is_event = content_type == JSON
        taking = self._tasks.create_task(self._take(asked))
        await asyncio.wait([taking], timeout=ANSWERED_S)
        if not taking.done() and is_event and self._kept < KEPT_AT_MOST:
            self._kept += 1
            taking.add_done_callback(self._note_end)
            return _later()
        taking.cancel()  # whoever used a command is told that it failed, and may use it again
        await asyncio.wait([taking])
        answer = None if taking.cancelled() else taking.result()
        if answer is None:
            return _later()
        kind = answer.headers.get("content-type", ["text/plain"])[0].partition(";")[0]
        return web.Response(status=answer.status, text=answer.body or "", content_type=kind)

    def _note_end(self, _taking: "asyncio.Task[BoltResponse | None]") -> None:
        self._kept -= 1

    async def _take(self, asked: AsyncBoltRequest) -> BoltResponse | None:
        """Return the answer after the commit; None if the channel stopped."""
        return None if self._app is None else await self._app.async_dispatch(asked)


def _later() -> web.Response:
    return web.Response(status=503, headers={"Retry-After": "1"}, text="not now\n")


def _as_request(body: bytes, content_type: str) -> AsyncBoltRequest | None:
    """Return the body as a bolt request; None if it is neither a JSON object nor a form."""
    if content_type not in TAKEN_TYPES:
        return None
    try:
        if content_type == JSON and not isinstance(orjson.loads(body), dict):
            return None
        asked = AsyncBoltRequest(body=body.decode(), headers={"content-type": content_type}, mode="http")
    except STUMBLES:
        return None
    return asked
