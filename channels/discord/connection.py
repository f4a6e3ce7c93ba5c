"""Connection of one shard to the gateway: RESUME if possible, also after a restart; IDENTIFY sparingly.

discord.py's own `Client.connect` always begins with IDENTIFY, ends at unobserved errors, and closes with code 1000,
which ends the session. So the loop is here, and the protocol in `socket`. Received dispatches go to `consumer`;
`ingest` knows the session to resume.
"""

import asyncio
from typing import NoReturn

import aiohttp
import structlog

from channels.base import ChannelState, Sink
from channels.chat.refusals import ApiRefusal
from channels.clocks import Sleep
from channels.discord.consumer import DispatchConsumer
from channels.discord.cursor import GatewaySession
from channels.discord.error_mapping import CLOSE_WORDS
from channels.discord.identity import BACKOFF
from channels.discord.ingest import Dispatch, Ingest
from channels.discord.sharding import IDENTIFIES_PER_HOUR, IDENTIFY_EVERY_S, SessionStarts
from channels.discord.socket import GatewaySocket, SocketEnded
from channels.discord.translate import to_rejected
from channels.discord.wire import DiscordWire
from channels.errors import ChannelError, ConfigRefused, Retryable
from channels.messages import Rejected

CLOSE_WAIT_S = 2.0
MOST_REFUSALS = 2  # consecutive 401 answers that end the channel
STEADY_S = 5.0  # shorter connections count as short
MOST_SHORT = 3  # consecutive short connections without a pause
SHARDING_REQUIRED = 4011
RESUME_TRIES = 3  # attempts at a session's own address before the common one is used


class GatewayConnection:
    """The gateway connection of one shard, with its reconnects."""

    def __init__(
        self,
        wire: DiscordWire,
        sink: Sink,
        ingest: Ingest,
        consumer: DispatchConsumer,
        starts: SessionStarts,
        sleep: Sleep,
    ) -> None:
        self._config = config = wire.config
        self._wire = wire
        self._sink = sink
        self._ingest = ingest
        self._consumer = consumer
        self._sleep = sleep
        self._failures = 0
        self._refusals = 0
        self._short = 0  # connections in a row that ended soon
        self._starts = starts
        self._shard = consumer.shard
        self._socket: GatewaySocket | None = None  # the open one
        self._log = structlog.get_logger().bind(account=config.name, shard=self._shard.number)

    @property
    def is_open(self) -> bool:
        """True if something was received on the connection that is open now."""
        return self._socket is not None and self._socket.got_dispatch

    # ------------------------------------------------------------ life

    async def run(self, tasks: asyncio.TaskGroup) -> None:
        """Stay connected until cancelled; `tasks` is the parent of the heartbeats.

        Raises:
            ConfigRefused: only the operator can fix it; health is already FAILED.
        """
        while True:
            begun_s = asyncio.get_running_loop().time()
            detail = await self._connect_once(tasks)
            self._failures += 1
            short = asyncio.get_running_loop().time() - begun_s < STEADY_S
            self._short = self._short + 1 if short else 0
            # Reconnect at once after a working connection, unless all are short.
            tries = max(self._failures - 1, self._short - MOST_SHORT)
            if tries > 0:
                wait_s = BACKOFF.wait_s(tries)
                self._sink.report(ChannelState.DEGRADED, self._shard.name(detail))
                self._log.warning("gateway_lost", detail=detail, retry_in_s=wait_s)
                await self._sleep(wait_s)

    async def _connect_once(self, tasks: asyncio.TaskGroup) -> str:
        """Hold one connection; return why it ended."""
        try:
            await self._open()
            await self._read(tasks)
        except SocketEnded as ended:
            if ended.bad is not None:
                self._consumer.receive(ended.bad)
            self._end_if_final(ended.code)
            if not ended.resumable:
                self._ingest.session_lost()
                self._failures = max(self._failures, 1)  # Discord asks to wait a little before a new session
            return str(ended)
        except ApiRefusal as refusal:
            self._count_refusal(refusal)
            return f"Discord refuses to name its gateway ({refusal})"
        except (ChannelError, OSError, aiohttp.ClientError, aiohttp.WebSocketError, TimeoutError, ValueError) as error:
            return f"the gateway cannot be reached: {type(error).__name__}: {error}"
        finally:
            await self._close()

    async def _open(self) -> None:
        """Connect, and send RESUME or IDENTIFY."""
        session = self._ingest.resume_from
        if session is not None:
            keeps_url = self._config.official and self._failures < RESUME_TRIES
            await self._enter(session.url if keeps_url else (await self._wire.gateway()).url, session)
            return
        await self._cool_down()
        async with self._starts.lock(self._shard):
            await self._enter(await self._may_identify(), None)

    async def _enter(self, url: str, session: GatewaySession | None) -> None:
        """Connect to an address and open or resume a session."""
        token = self._config.token.get_secret_value()
        async with asyncio.timeout(self._config.connect_timeout_s):
            self._socket = socket = GatewaySocket(await self._wire.connect(url))
            await socket.greet()
            if session is not None:
                await socket.resume(token, session)
                return
            self._starts.note(self._shard)
            await socket.identify(token, self._shard, message_content=self._config.message_content)

    async def _read(self, tasks: asyncio.TaskGroup) -> NoReturn:
        """Queue what is received until the connection ends."""
        socket = self._socket
        assert socket is not None, "it was opened"
        beating = tasks.create_task(socket.beat())
        try:
            while True:
                await self._consumer.room()  # a store that is down stops the reading, not the heartbeats
                if (received := await socket.receive()) is None:
                    self._consumer.report_alive()
                else:
                    self._take(received)
        finally:
            beating.cancel()
            if socket.got_dispatch:
                self._failures = self._refusals = 0

    def _take(self, received: Dispatch | Rejected) -> None:
        """Queue what was received.

        Raises:
            SocketEnded: a READY opened no session.
        """
        try:
            self._consumer.receive(received)
        except ValueError:
            bad = to_rejected("frame", None, "READY", "a READY that opens no session")
            raise SocketEnded(resumable=False, bad=bad) from None

    async def _may_identify(self) -> str:
        """Wait until a session may be opened; return the gateway's address."""
        while (info := await self._wire.gateway()).is_used_up:
            wait_s = max(info.reset_after_s, IDENTIFY_EVERY_S)
            await self._report_and_wait(wait_s, f"Discord lets it open no new session for {wait_s / 60:.0f} minutes")
        pace = self._starts.pace
        pace.max_concurrency = info.max_concurrency
        if info.shards > self._shard.count:
            self._log.warning("shards_few", shards=self._shard.count, recommended=info.shards)
        if wait_s := pace.wait_s(self._shard, asyncio.get_running_loop().time()):
            await self._sleep(wait_s)
        return info.url

    async def _cool_down(self) -> None:
        """Wait if this shard has opened too many sessions within an hour; other shards go on."""
        if wait_s := self._starts.pace.cooldown_s(self._shard, asyncio.get_running_loop().time()):
            in_words = f"the next one in {wait_s / 60:.0f} minutes"
            await self._report_and_wait(wait_s, f"{IDENTIFIES_PER_HOUR} new sessions within an hour; {in_words}")

    async def _report_and_wait(self, wait_s: float, words: str) -> None:
        """Report a long wait before IDENTIFY to health, then wait."""
        self._sink.report(ChannelState.DEGRADED, self._shard.name(words))
        self._log.warning("identify_delayed", detail=words, retry_in_s=wait_s)
        await self._sleep(wait_s)

    def _count_refusal(self, refusal: ApiRefusal) -> None:
        """Count consecutive 401 answers; after `MOST_REFUSALS` of them the token is wrong."""
        self._refusals = self._refusals + 1 if refusal.status == 401 else 0
        if self._refusals >= MOST_REFUSALS:
            self._end_if_final(4004)

    def _end_if_final(self, code: int | None) -> None:
        """Report FAILED and raise if only the operator can fix this close code."""
        words = None if code is None else CLOSE_WORDS.get(code)
        if code == SHARDING_REQUIRED and self._config.shards == "auto":
            raise Retryable(f"Discord asks for more shards than {self._shard.count}")
        if words is not None:
            words = words.format(account=self._config.name, shards=self._shard.count)
            self._sink.report(ChannelState.FAILED, words)
            raise ConfigRefused(words)

    async def _close(self) -> None:
        """Close the socket, and keep the session."""
        socket, self._socket = self._socket, None
        if socket is None:
            return
        try:
            async with asyncio.timeout(CLOSE_WAIT_S):
                await socket.close()
        except (TimeoutError, OSError, aiohttp.ClientError, RuntimeError):
            self._log.debug("gateway_not_closed")
