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
from channels.slack.cursor import PastPoint
from channels.slack.receiving import Receiver
from channels.slack.signatures import signature_problem
from channels.slack.wire import SDK_ERRORS

JSON = "application/json"
ACCEPTED_TYPES = frozenset({JSON, "application/x-www-form-urlencoded"})
RETRIED_FOR_S = 420.0  # Slack's last retry of an event (docs.slack.dev/apis/events-api, read 2026-11)
GAP_PAUSE_S = 5.0  # between a retried event and reading the histories: retries come in bursts
BETWEEN_GAPS_S = 60.0
ANSWERED_S = 2.0  # Slack waits three seconds, network time included
MOST_RETRIED = 1_000  # events retried here after a 503; Slack retries further ones
REPORT_EVERY_S = 60.0  # between log lines about unsigned requests, which anyone can send

_log = structlog.get_logger()


class Webhook:
    """The webhook of one app; it answers 503 unless `run` is running."""

    def __init__(self, account: str, secret: str, *, now_s: Callable[[], float] = time.time) -> None:
        self._account = account
        self._secret = secret
        self._now_s = now_s
        self._app: AsyncApp | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._retried = 0
        self._gap = asyncio.Event()
        self._past_point: PastPoint | None = None
        self._refused = 0  # since the last log line
        self._reported_at_s = float("-inf")

    async def run(self, app: AsyncApp, receiver: Receiver, gaps: SlackGaps, *, sleep: Sleep) -> None:
        """Accept Slack's requests until cancelled."""
        self._past_point = past_point = PastPoint(receiver.resume_point, RETRIED_FOR_S, self._now_s)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(receiver.names.run())
            self._app, self._tasks = app, tasks
            try:
                receiver.sink.report(ChannelState.READY)
                await gaps.fill(tasks)
                while True:
                    await self._gap.wait()
                    since = past_point.since  # before newer events move it
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
        flaw = signature_problem(self._secret, body, timestamps, signatures, self._now_s())
        if flaw is not None:
            self._report_refused(flaw)
            return web.Response(status=401, text="not signed by Slack\n")
        if self._app is None or self._past_point is None:
            return _unavailable()
        self._past_point.mark()
        answer = await self._answer(body, request.content_type)
        if answer.status >= 500 or "X-Slack-Retry-Num" in request.headers:
            self._gap.set()
        return answer

    def _report_refused(self, flaw: str) -> None:
        self._refused += 1
        now_s = asyncio.get_running_loop().time()
        if now_s - self._reported_at_s >= REPORT_EVERY_S:
            _log.warning("webhook_refused", account=self._account, reason=flaw, requests=self._refused)
            self._refused, self._reported_at_s = 0, now_s

    async def _answer(self, body: bytes, content_type: str) -> web.StreamResponse:
        request = _as_request(body, content_type)
        if request is None:
            return web.Response(status=400, text="unreadable\n")
        if self._tasks is None:
            return _unavailable()
        is_event = content_type == JSON
        taking = self._tasks.create_task(self._take(request))
        await asyncio.wait([taking], timeout=ANSWERED_S)
        if not taking.done() and is_event and self._retried < MOST_RETRIED:
            self._retried += 1
            taking.add_done_callback(self._note_end)
            return _unavailable()
        taking.cancel()  # Slack shows the person that the command failed
        await asyncio.wait([taking])
        answer = None if taking.cancelled() else taking.result()
        if answer is None:
            return _unavailable()
        kind = answer.headers.get("content-type", ["text/plain"])[0].partition(";")[0]
        return web.Response(status=answer.status, text=answer.body or "", content_type=kind)

    def _note_end(self, _taking: "asyncio.Task[BoltResponse | None]") -> None:
        self._retried -= 1

    async def _take(self, request: AsyncBoltRequest) -> BoltResponse | None:
        """Return the answer after the commit; None if the channel stopped."""
        return None if self._app is None else await self._app.async_dispatch(request)


def _unavailable() -> web.Response:
    return web.Response(status=503, headers={"Retry-After": "1"}, text="not now\n")


def _as_request(body: bytes, content_type: str) -> AsyncBoltRequest | None:
    """Return the body as a bolt request; None if it is neither a JSON object nor a form."""
    if content_type not in ACCEPTED_TYPES:
        return None
    try:
        if content_type == JSON and not isinstance(orjson.loads(body), dict):
            return None
        request = AsyncBoltRequest(body=body.decode(), headers={"content-type": content_type}, mode="http")
    except SDK_ERRORS:
        return None
    return request
