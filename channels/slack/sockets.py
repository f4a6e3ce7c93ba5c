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
from channels.slack.wire import SDK_ERRORS, SlackWire

BACKOFF = Backoff((0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0))  # between failed attempts to open a socket
STEADY_S = 5.0  # shorter-lived sockets count as short
MOST_SHORT = 3  # consecutive short-lived sockets without a pause
MOST_REFUSALS = 3  # consecutive ones that end a running channel; one is enough at the start
IN_FLIGHT = 200  # envelopes of one socket being committed; further ones wait unread
MAX_FRAME_BYTES = 4_000_000
RETIRE_S = 5.0  # for an old socket to acknowledge its envelopes
TOO_MANY = "too_many_websockets"  # Slack's reason if an app has `MOST_SOCKETS` already


_log = structlog.get_logger()


class _TooManySockets(ClientError):
    """Refusal of a socket because the app has the most that Slack allows."""


class _Socket:
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
        self._may_be_off = False  # Slack warned that Socket Mode may be off
        self._open_sockets: set[_Socket] = set()  # greeted, and not gone
        self._replacing = asyncio.Lock()  # at most one extra socket is open

    @property
    def open_count(self) -> int:
        """Return the number of open sockets."""
        return len(self._open_sockets)

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
            self._report(ChannelState.FAILED, str(refusal))  # after the last report of any socket
            raise refusal  # outside, for `except*` would wrap it again

    async def _keep(self, tasks: asyncio.TaskGroup) -> None:
        """Keep one socket open, and replace it when it leaves."""
        socket: _Socket | None = None
        short = 0  # sockets in a row that did not last
        while True:
            if short > MOST_SHORT:
                await self._sleep(BACKOFF.wait_s(short - MOST_SHORT))
            begun_s = asyncio.get_running_loop().time()
            async with self._replacing:
                socket = await self._replace(socket, tasks)
            await socket.leaving.wait()
            short = short + 1 if asyncio.get_running_loop().time() - begun_s < STEADY_S else 0
            if socket.reason == "link_disabled":
                raise socket_mode_off(self._config.name)
            if socket.gone and not self._open_sockets:
                self._report(ChannelState.DEGRADED, "Slack's socket closed; opening another")

    async def _replace(self, old: _Socket | None, tasks: asyncio.TaskGroup) -> _Socket:
        """Open the next socket; let the old one acknowledge its envelopes before it closes.

        If no socket was open, or one broke, read the histories: Slack does not send those events again.
        """
        is_alone = not self._open_sockets
        if is_alone:
            self._gaps.expect()
        elif old is not None and old.gone:
            tasks.create_task(self._gaps.fill(tasks))
        if old is not None and len(self._open_sockets) >= MOST_SOCKETS:
            await self._retire(old)  # the others stay open
        socket = await self._open(tasks, patience=1 if old is None else MOST_REFUSALS)
        if is_alone:
            tasks.create_task(self._gaps.fill(tasks))
        if old is not None:
            await self._retire(old)
        return socket

    async def _open(self, tasks: asyncio.TaskGroup, *, patience: int) -> _Socket:
        """Return a socket that said hello."""
        socket = await self._caller.call_until_ok(
            lambda: self._connect(tasks),
            self._explain,
            (ApiRefusal, ChannelError, ClientError, TimeoutError, OSError),
            patience=patience,
        )
        if not self._may_be_off:
            self._report(ChannelState.READY)
        return socket

    def _explain(self, error: Exception) -> CallFailure:
        if isinstance(error, _TooManySockets):
            words = f"Slack has {MOST_SOCKETS} sockets of this app already: does it run elsewhere, or died just now?"
            return CallFailure(words)
        if not isinstance(error, ApiRefusal):
            return CallFailure(f"Slack cannot be reached by socket: {type(error).__name__}")
        fatal = config_refused(self._config.name, error, app_token=True) if is_operators_matter(error) else None
        return CallFailure(f"Slack opens no socket ({error})", error.retry_after_s, fatal)

    async def _connect(self, tasks: asyncio.TaskGroup) -> _Socket:
        token = self._config.app_token
        answer = await self._wire.form("apps.connections.open", token=token.get_secret_value() if token else "")
        self._note_warning(answer)
        ws = await self._wire.session.ws_connect(
            str(answer.get("url")), heartbeat=self._config.ping_every_s, max_msg_size=MAX_FRAME_BYTES
        )
        socket = _Socket(ws)
        tasks.create_task(self._serve(socket))
        try:
            async with asyncio.timeout(self._config.connect_timeout_s):
                await socket.settled.wait()
        except BaseException:
            await ws.close()  # `_serve` closes it only if it was not cancelled before it began
            raise
        if not socket.greeted:
            raise _TooManySockets if socket.reason == TOO_MANY else ClientError("closed before hello")
        return socket

    def _note_warning(self, answer: dict[str, JsonValue]) -> None:
        """Note Slack's warning that Socket Mode is off: it opens a socket all the same, but sends no events."""
        metadata = answer.get("response_metadata")
        messages = metadata.get("messages") if isinstance(metadata, dict) else None
        self._may_be_off = "Socket Mode is not turned on" in str(messages)
        if self._may_be_off:
            self._report(ChannelState.DEGRADED, f"Slack warns: {socket_mode_off(self._config.name)}")

    async def _serve(self, socket: _Socket) -> None:
        """Read a socket until it closes."""
        try:
            async with asyncio.TaskGroup() as answers:
                async for message in socket.ws:
                    if message.type is WSMsgType.TEXT:
                        await self._read(socket, message.data, answers)
        finally:
            socket.gone = True
            self._open_sockets.discard(socket)
            socket.settled.set()
            socket.leaving.set()
            await socket.ws.close()

    async def _read(self, socket: _Socket, data: str, answers: asyncio.TaskGroup) -> None:
        frame = decode_json(data)
        if not isinstance(frame, dict):
            _log.warning("frame_unreadable", account=self._config.name)
            return
        kind, envelope = frame.get("type"), frame.get("envelope_id")
        if kind == "hello":
            socket.greeted = True
            self._open_sockets.add(socket)
            socket.settled.set()
        elif kind == "disconnect":
            socket.reason = str(frame.get("reason"))
            socket.leaving.set()
        elif isinstance(envelope, str):
            await socket.slots.acquire()
            socket.in_flight += 1
            answers.create_task(self._answer(socket, envelope, frame.get("payload")))

    async def _answer(self, socket: _Socket, envelope: str, payload: JsonValue) -> None:
        """Commit an envelope, then acknowledge it."""
        try:
            if await self._take(payload):
                self._may_be_off = False
                await socket.ws.send_str(orjson.dumps({"envelope_id": envelope}).decode())
        except (ClientError, OSError):
            _log.info("ack_not_sent", account=self._config.name, envelope_id=envelope)  # it comes again
        finally:
            socket.in_flight -= 1
            socket.slots.release()

    async def _take(self, payload: JsonValue) -> bool:
        """Commit a payload; return True if it may be acknowledged."""
        if isinstance(payload, dict):
            try:
                return (await dispatch(self._app, payload)).status == 200
            except SDK_ERRORS:
                _log.warning("payload_unreadable", account=self._config.name)
        await self._receiver.receive(payload)
        return True

    async def _retire(self, socket: _Socket) -> None:
        """Close an old socket once it has acknowledged its envelopes."""
        ends_s = asyncio.get_running_loop().time() + RETIRE_S
        while socket.in_flight and asyncio.get_running_loop().time() < ends_s:
            await asyncio.sleep(0.05)
        await socket.ws.close()
