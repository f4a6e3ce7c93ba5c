"""The HTTP way in: one path for events, commands and buttons, each request verified over its raw bytes.

Answers only after the commit: 200 taken (a replay too: the inbox knows it), 401 not Slack's, 503 not committed in time.
An event that the store does not take in time is offered again here, and what comes later in its chat waits behind it:
Slack brings it again after a minute, and later messages would have gone before. Until it is committed Slack has it too.
`X-Slack-Retry-Num` decides nothing about what is taken: a first delivery may have died before its commit.
It only tells of a gap: three retries in six minutes, and what was not taken by then is in the histories alone.
"""

import asyncio
import time
from collections.abc import Callable
from urllib.parse import parse_qsl

import structlog
from aiohttp import web

from channels.base import ChannelState
from channels.clocks import Sleep
from channels.foreign import JsonObject, decode_json
from channels.slack.backfill import SlackGaps
from channels.slack.cursor import Trail
from channels.slack.receiving import Receiver
from channels.slack.signatures import flaw_in

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"  # of commands and buttons
RETRIED_FOR_S = 420.0  # after so long Slack has given an event up (docs.slack.dev/apis/events-api, read 2026-11)
GAP_PAUSE_S = 5.0  # between the sign of a gap and the look into the histories: signs come in crowds
BETWEEN_GAPS_S = 60.0
ANSWERED_S = 2.0  # Slack waits three seconds for an answer, and the way is part of them
KEPT_AT_MOST = 1_000  # events that are offered again though Slack was told 503; of more it alone has them
TELL_EVERY_S = 60.0  # between two lines in the log about requests that are not Slack's: anybody can make them

_log = structlog.get_logger()


class Webhook:
    """Answers what Slack posts; while `run` does not run every request is answered 503."""

    def __init__(self, account: str, secret: str, *, now_s: Callable[[], float] = time.time) -> None:
        """`now_s` is Unix time, for tests."""
        self._account = account
        self._secret = secret
        self._now_s = now_s
        self._gaps: SlackGaps | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._kept = 0
        self._gap = asyncio.Event()
        self._trail: Trail | None = None
        self._refused = 0  # since the log last said so
        self._told_at_s = float("-inf")

    async def run(self, receiver: Receiver, gaps: SlackGaps, *, sleep: Sleep) -> None:
        """Take what Slack posts, until cancelled."""
        self._trail = trail = Trail(receiver.resume_point, RETRIED_FOR_S, self._now_s)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(receiver.names.run())
            self._gaps, self._tasks = gaps, tasks
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
                self._gaps = self._tasks = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One request."""
        body = await request.read()  # the server's own limit answers 413
        timestamps = request.headers.getall("X-Slack-Request-Timestamp", [])
        signatures = request.headers.getall("X-Slack-Signature", [])
        flaw = flaw_in(self._secret, body, timestamps, signatures, self._now_s())
        if flaw is not None:
            self._tell_refused(flaw)
            return web.Response(status=401, text="not signed by Slack\n")
        if self._gaps is None or self._trail is None:
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
        said = _read_body(body, content_type)
        if said is None:
            return web.Response(status=400, text="unreadable\n")
        if said.get("type") == "url_verification":
            return web.json_response({"challenge": str(said.get("challenge", ""))})
        if said.get("ssl_check") == "1":
            return web.Response(text="")
        if self._tasks is None or self._gaps is None:
            return _later()
        taking = self._tasks.create_task(self._gaps.receive(said))
        await asyncio.wait([taking], timeout=ANSWERED_S)
        if not taking.done() and content_type == JSON and self._kept < KEPT_AT_MOST:
            self._kept += 1
            taking.add_done_callback(self._note_end)
            return _later()
        taking.cancel()  # the person who used a command is told that it failed, and may use it again
        await asyncio.wait([taking])
        if taking.cancelled():
            return _later()
        taking.result()
        return web.Response(text="")

    def _note_end(self, _taking: "asyncio.Task[None]") -> None:
        self._kept -= 1


def _later() -> web.Response:
    return web.Response(status=503, headers={"Retry-After": "1"}, text="not now\n")


def _read_body(body: bytes, content_type: str) -> JsonObject | None:
    """Return what a request says; None if it is no object of JSON and no form (A09, A16)."""
    if content_type == JSON:
        said = decode_json(body)
    elif content_type == FORM:
        try:
            fields = dict(parse_qsl(body.decode(), keep_blank_values=True))
        except ValueError:
            return None
        said = decode_json(fields["payload"]) if "payload" in fields else {**fields}
    else:
        return None
    return said if isinstance(said, dict) else None
