"""The HTTP way out: events, commands and interactions posted to the app's URL, signed, events again when not taken.

Source: docs.slack.dev/apis/events-api (retries at once, after a minute, after five; read 2026-11).
"""

import asyncio
import time
from dataclasses import dataclass, field
from urllib.parse import urlencode

from aiohttp import ClientError, ClientSession, ClientTimeout

from channels.simulators.shared.world import JsonObject
from channels.simulators.slack.checks import as_json
from channels.simulators.slack.state import SlackWorld
from channels.slack.signatures import signature_of

RETRY_AFTER_S = (0.0, 60.0, 300.0)
TIMEOUT_S = 3.0


@dataclass(slots=True)
class Posted:
    """One delivery over HTTP."""

    kind: str
    payload: JsonObject
    statuses: list[int] = field(default_factory=list)  # of each attempt; 0: no answer
    done: bool = False

    @property
    def acked(self) -> bool:
        """Return True if the app took it."""
        return any(200 <= status < 300 for status in self.statuses)


class Poster:
    """Posts what happens, in the background, until closed."""

    def __init__(self, world: SlackWorld, retry_after_s: tuple[float, ...]) -> None:
        """Take the world, and the waits before each retry of an event."""
        self.posted: list[Posted] = []
        self._world = world
        self._retry_after_s = retry_after_s
        self._waiting: asyncio.Queue[Posted] = asyncio.Queue()

    @property
    def on_its_way(self) -> int:
        """Return how many deliveries are not taken and not given up."""
        return sum(not posted.done for posted in self.posted)

    def forget(self) -> None:
        """Post nothing again of what was not taken so far."""
        for posted in self.posted:
            posted.done = True

    def push(self, kind: str, payload: JsonObject) -> Posted:
        """Deliver something."""
        posted = Posted(kind, payload)
        self.posted.append(posted)
        self._waiting.put_nowait(posted)
        return posted

    async def run(self) -> None:
        """Post until cancelled."""
        async with ClientSession(timeout=ClientTimeout(total=TIMEOUT_S)) as session, asyncio.TaskGroup() as tasks:
            while True:
                posted = await self._waiting.get()
                tasks.create_task(self._deliver(session, posted))

    async def _deliver(self, session: ClientSession, posted: Posted) -> None:
        waits = self._retry_after_s if posted.kind == "events_api" else ()
        for attempt, wait_s in enumerate((None, *waits)):
            if wait_s is not None:
                await asyncio.sleep(wait_s)
            if posted.done:
                return
            posted.statuses.append(await self._post(session, posted, attempt))
            self._world.notify()
            if posted.acked:
                break
        posted.done = True
        self._world.notify()

    async def _post(self, session: ClientSession, posted: Posted, attempt: int) -> int:
        body, content_type = encode_delivery(posted.kind, posted.payload)
        headers = signed_headers(self._world.the_app().signing_secret, body, content_type)
        if attempt:
            headers |= {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": "http_error"}
        try:
            async with session.post(self._world.the_app().webhook_url, data=body, headers=headers) as answer:
                await answer.read()
                return answer.status
        except (ClientError, TimeoutError, OSError):
            return 0


def encode_delivery(kind: str, payload: JsonObject) -> tuple[bytes, str]:
    """Return a delivery's body: events are JSON, commands a form, interactions a form around JSON."""
    if kind == "events_api":
        return as_json(payload), "application/json"
    form = payload if kind == "slash_commands" else {"payload": as_json(payload).decode()}
    return urlencode({name: str(value) for name, value in form.items()}).encode(), "application/x-www-form-urlencoded"


def signed_headers(secret: str, body: bytes, content_type: str, now_s: float | None = None) -> dict[str, str]:
    """Return the headers that Slack sends with a body."""
    timestamp = str(int(time.time() if now_s is None else now_s))
    return {
        "Content-Type": content_type,
        "X-Slack-Request-Timestamp": timestamp,
        "X-Slack-Signature": signature_of(secret, timestamp, body),
    }
