"""Socket Mode: one or several WebSockets to Slack, each replaced before it closes.

slack_sdk's own client closes the old socket before it opens the new one, acknowledges on the current one, and queues
without bound. Here every envelope is acknowledged after its commit, on the socket that brought it.
Source: docs.slack.dev/apis/events-api/using-socket-mode (read 2026-11).
"""

import asyncio

import orjson
import structlog
from aiohttp import ClientError, ClientWebSocketResponse, WSMsgType
from pydantic import JsonValue
from slack_bolt.app.async_app import AsyncApp

from channels.base import ChannelState
from channels.chat.refusals import ApiRefusal
from channels.chat.retrying import Backoff, CallFailure, PersistentCaller
from channels.clocks import Sleep
from channels.errors import ChannelError, ConfigRefused
from channels.foreign import decode_json
from channels.slack.backfill import SlackGaps
from channels.slack.config import MOST_SOCKETS, SlackAccount
from channels.slack.error_mapping import config_refused, is_operators_matter, socket_mode_off
from channels.slack.receiving import Receiver, dispatch
from channels.slack.wire import STUMBLES, SlackWire

BACKOFF = Backoff((0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0))  # between sockets that could not be opened
STEADY_S = 5.0  # a socket that stood for so long was one
SHORT_BELIEVED = 3  # so many in a row that did not are bad luck
REFUSALS_BELIEVED = 3  # so many in a row end a channel that ran before; at the start one is enough
IN_FLIGHT = 200  # envelopes of one socket being committed; further ones wait unread
MAX_FRAME_BYTES = 4_000_000
RETIRE_S = 5.0  # how long an old socket may still acknowledge what came by it
TOO_MANY = "too_many_websockets"  # Slack's reason where an app has `MOST_SOCKETS` already


_log = structlog.get_logger()


class _Crowded(ClientError):
    """Refusal of a socket because the app has the most that Slack allows."""


class _Link:
    """One WebSocket to Slack."""

    def __init__(self, ws: ClientWebSocketResponse) -> None:
        self.ws = ws
        self.greeted = False
        self.gone = False
        self.settled = asyncio.Event()  # greeted or gone
        self.leaving = asyncio.Event()  # Slack wants another, or this one is gone
        self.reason = ""  # of the disconnect
        self.slots = asyncio.Semaphore(IN_FLIGHT)
        self.in_flight = 0


class SocketMode:
    """Socket Mode of one app."""

    def __init__(
        self,
        config: SlackAccount,
        wire: SlackWire,
        app: AsyncApp,
        receiver: Receiver,
        gaps: SlackGaps,
        *,
        sleep: Sleep,
    ) -> None:
        self._config = config
        self._wire = wire
        self._app = app
        self._receiver = receiver
        self._report = receiver.sink.report
        self._sleep = sleep
        self._gaps = gaps
        self._caller = PersistentCaller(config.name, receiver.sink, sleep, BACKOFF, "socket_failed")
        self._doubtful = False  # Slack said that Socket Mode may be off
        self._standing: set[_Link] = set()  # greeted, and not gone
        self._replacing = asyncio.Lock()  # one socket more than is asked for stands at most

    @property
    def standing(self) -> int:
        """Return the number of open sockets."""
        return len(self._standing)

    async def run(self) -> None:
        """Keep the configured number of sockets open, for ever.

        Raises:
            ConfigRefused: Slack refuses the app-level token, or the app does not use Socket Mode.
        """
        refusal: ConfigRefused | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._receiver.names.run())
                for _ in range(self._config.sockets):
                    tasks.create_task(self._keep(tasks))
        except* ConfigRefused as group:
            refusal = next(error for error in group.exceptions if isinstance(error, ConfigRefused))
        if refusal is not None:
            self._report(ChannelState.FAILED, str(refusal))  # when nothing of the socket's can say otherwise any more
            raise refusal  # outside, for `except*` would wrap it again

    async def _keep(self, tasks: asyncio.TaskGroup) -> None:
        """Keep one socket open, and replace it when it leaves."""
        link: _Link | None = None
        short = 0  # sockets in a row that did not last
        while True:
            if short > SHORT_BELIEVED:
                await self._sleep(BACKOFF.wait_s(short - SHORT_BELIEVED))
            begun_s = asyncio.get_running_loop().time()
            async with self._replacing:
                link = await self._replace(link, tasks)
            await link.leaving.wait()
            short = short + 1 if asyncio.get_running_loop().time() - begun_s < STEADY_S else 0
            if link.reason == "link_disabled":
                raise socket_mode_off(self._config.name)
            if link.gone and not self._standing:
                self._report(ChannelState.DEGRADED, "Slack's socket closed; opening another")

    async def _replace(self, old: _Link | None, tasks: asyncio.TaskGroup) -> _Link:
        """Open the next socket; let the old one acknowledge its envelopes before it closes.

        If no socket was open, or one broke, read the histories: Slack does not send those events again.
        """
        is_alone = not self._standing
        if is_alone:
            self._gaps.expect()
        elif old is not None and old.gone:
            tasks.create_task(self._gaps.fill(tasks))
        if old is not None and len(self._standing) >= MOST_SOCKETS:
            await self._retire(old)  # the others stand meanwhile
        link = await self._open(tasks, patience=1 if old is None else REFUSALS_BELIEVED)
        if is_alone:
            tasks.create_task(self._gaps.fill(tasks))
        if old is not None:
            await self._retire(old)
        return link

    async def _open(self, tasks: asyncio.TaskGroup, *, patience: int) -> _Link:
        """Return a socket that said hello."""
        link = await self._caller.call_until_ok(
            lambda: self._connect(tasks),
            self._explain,
            (ApiRefusal, ChannelError, ClientError, TimeoutError, OSError),
            patience=patience,
        )
        if not self._doubtful:
            self._report(ChannelState.READY)
        return link

    def _explain(self, error: Exception) -> CallFailure:
        if isinstance(error, _Crowded):
            words = f"Slack has {MOST_SOCKETS} sockets of this app already: does it run elsewhere, or died just now?"
            return CallFailure(words)
        if not isinstance(error, ApiRefusal):
            return CallFailure(f"Slack cannot be reached by socket: {type(error).__name__}")
        fatal = config_refused(self._config.name, error, app_token=True) if is_operators_matter(error) else None
        return CallFailure(f"Slack opens no socket ({error})", error.retry_after_s, fatal)

    async def _connect(self, tasks: asyncio.TaskGroup) -> _Link:
        token = self._config.app_token
        answer = await self._wire.form("apps.connections.open", token=token.get_secret_value() if token else "")
        self._doubt(answer)
        ws = await self._wire.session.ws_connect(
            str(answer.get("url")), heartbeat=self._config.ping_every_s, max_msg_size=MAX_FRAME_BYTES
        )
        link = _Link(ws)
        tasks.create_task(self._serve(link))
        try:
            async with asyncio.timeout(self._config.connect_timeout_s):
                await link.settled.wait()
        except BaseException:
            await ws.close()  # `_serve` closes it only if it was not cancelled before it began
            raise
        if not link.greeted:
            raise _Crowded if link.reason == TOO_MANY else ClientError("closed before hello")
        return link

    def _doubt(self, answer: dict[str, JsonValue]) -> None:
        """Note Slack's warning that Socket Mode is off: it opens a socket all the same, but sends no events."""
        metadata = answer.get("response_metadata")
        messages = metadata.get("messages") if isinstance(metadata, dict) else None
        self._doubtful = "Socket Mode is not turned on" in str(messages)
        if self._doubtful:
            self._report(ChannelState.DEGRADED, f"Slack warns: {socket_mode_off(self._config.name)}")

    async def _serve(self, link: _Link) -> None:
        """Read a socket until it closes."""
        try:
            async with asyncio.TaskGroup() as answers:
                async for message in link.ws:
                    if message.type is WSMsgType.TEXT:
                        await self._read(link, message.data, answers)
        finally:
            link.gone = True
            self._standing.discard(link)
            link.settled.set()
            link.leaving.set()
            await link.ws.close()

    async def _read(self, link: _Link, data: str, answers: asyncio.TaskGroup) -> None:
        frame = decode_json(data)
        if not isinstance(frame, dict):
            _log.warning("frame_unreadable", account=self._config.name)
            return
        kind, envelope = frame.get("type"), frame.get("envelope_id")
        if kind == "hello":
            link.greeted = True
            self._standing.add(link)
            link.settled.set()
        elif kind == "disconnect":
            link.reason = str(frame.get("reason"))
            link.leaving.set()
        elif isinstance(envelope, str):
            await link.slots.acquire()
            link.in_flight += 1
            answers.create_task(self._answer(link, envelope, frame.get("payload")))

    async def _answer(self, link: _Link, envelope: str, payload: JsonValue) -> None:
        """Commit an envelope, then acknowledge it."""
        try:
            if await self._take(payload):
                self._doubtful = False
                await link.ws.send_str(orjson.dumps({"envelope_id": envelope}).decode())
        except (ClientError, OSError):
            _log.info("ack_not_sent", account=self._config.name, envelope_id=envelope)  # it comes again
        finally:
            link.in_flight -= 1
            link.slots.release()

    async def _take(self, payload: JsonValue) -> bool:
        """Commit a payload; return True if it may be acknowledged."""
        if isinstance(payload, dict):
            try:
                return (await dispatch(self._app, payload)).status == 200
            except STUMBLES:
                _log.warning("payload_unreadable", account=self._config.name)
        await self._receiver.receive(payload)
        return True

    async def _retire(self, link: _Link) -> None:
        """Close an old socket once it has acknowledged its envelopes."""
        ends_s = asyncio.get_running_loop().time() + RETIRE_S
        while link.in_flight and asyncio.get_running_loop().time() < ends_s:
            await asyncio.sleep(0.05)
        await link.ws.close()
