"""Keeps one shard of a bot connected to the gateway: RESUME wherever it can, also after a restart; IDENTIFY sparingly.

discord.py's own `Client.connect` always begins with IDENTIFY, ends at errors nobody watches, and closes with code
1000, which ends the session. So the loop is here. What comes in goes to `consumer`; `ingest` is asked what to resume.
"""

import asyncio
from functools import partial

import aiohttp
import structlog
import yarl
from discord.errors import ConnectionClosed
from discord.gateway import ReconnectWebSocket

from channels.base import ChannelState, Sink
from channels.chat.refusals import ApiRefusal
from channels.clocks import Sleep
from channels.discord.consumer import DispatchConsumer
from channels.discord.cursor import GatewaySession
from channels.discord.error_mapping import CLOSE_WORDS
from channels.discord.identity import BACKOFF
from channels.discord.ingest import Ingest
from channels.discord.library import GatewaySocket, LibraryClient, LibraryState
from channels.discord.sharding import IDENTIFIES_PER_HOUR, IDENTIFY_EVERY_S, Starts
from channels.discord.translate import to_rejected
from channels.discord.wire import DiscordWire
from channels.errors import ChannelError, ConfigRefused, Retryable
from channels.messages import Rejected

CLOSE_KEEPING_SESSION = 4900  # any code but 1000 and 1001 keeps the session for a while
CLOSE_WAIT_S = 2.0
REFUSALS_BELIEVED = 2  # so many 401 in a row end the channel
STEADY_S = 5.0  # a connection that stood for so long was one
SHORT_BELIEVED = 3  # so many in a row that did not are bad luck
SHARDING_REQUIRED = 4011
RESUME_TRIES = 3  # connects to a session's own address before the common one is taken


class GatewayConnection:
    """The gateway connection of one shard, and whatever follows it."""

    def __init__(
        self,
        wire: DiscordWire,
        sink: Sink,
        ingest: Ingest,
        consumer: DispatchConsumer,
        starts: Starts,
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
        self._state = LibraryState(
            self._shard.count, message_content=config.message_content, on_identify=partial(starts.note, self._shard)
        )
        self._log = structlog.get_logger().bind(account=config.name, shard=self._shard.number)

    @property
    def is_open(self) -> bool:
        """True if something was received on the connection that is open now."""
        return self._state.socket is not None and self._state.socket.got_dispatch

    # ------------------------------------------------------------ life

    async def run(self) -> None:
        """Be connected, for ever.

        Raises:
            ConfigRefused: nothing but the operator can mend it; health was told.
        """
        try:
            while True:
                begun_s = asyncio.get_running_loop().time()
                detail = await self._once()
                self._failures += 1
                short = asyncio.get_running_loop().time() - begun_s < STEADY_S
                self._short = self._short + 1 if short else 0
                # After a connection on which something was heard, back at once; not if they all end at once.
                tries = max(self._failures - 1, self._short - SHORT_BELIEVED)
                if tries > 0:
                    wait_s = BACKOFF.wait_s(tries)
                    self._sink.report(ChannelState.DEGRADED, self._shard.name(detail))
                    self._log.warning("gateway_lost", detail=detail, retry_in_s=wait_s)
                    await self._sleep(wait_s)
        finally:
            await self._close()

    async def _once(self) -> str:
        """One connection; returns why it ended."""
        try:
            await self._talk()
        except ReconnectWebSocket as again:
            if not again.resume:
                self._ingest.session_lost()
                self._failures = max(self._failures, 1)  # Discord asks to wait a little before a new session
            return "the gateway's connection ended"
        except ConnectionClosed as closed:
            self._end_if_final(closed.code)
            self._ingest.session_lost()
            return f"the gateway closed with {closed.code}"
        except ApiRefusal as refusal:
            self._believe(refusal)
            return f"Discord refuses to name its gateway ({refusal})"
        except (ChannelError, OSError, aiohttp.ClientError, aiohttp.WebSocketError, TimeoutError, ValueError) as error:
            return f"the gateway cannot be reached: {type(error).__name__}: {error}"
        finally:
            await self._close()
        return "the gateway's connection ended"

    async def _talk(self) -> None:
        """Connect, RESUME or IDENTIFY, and read until something ends it."""
        session = self._ingest.resume_from
        if session is None:
            await self._rest()
            async with self._starts.lock(self._shard):
                socket = await self._open(await self._may_identify())
        else:
            keeps_url = self._config.official and self._failures < RESUME_TRIES
            socket = await self._open(session.url if keeps_url else (await self._wire.gateway()).url, session)
        try:
            self._hand_on(socket)
            while True:
                await self._consumer.room()  # a store that is down stops the reading, not the heartbeats
                await socket.poll_event()
                self._hand_on(socket)
        finally:
            if socket.got_dispatch:
                self._failures = self._refusals = 0

    def _hand_on(self, socket: GatewaySocket) -> None:
        """Queue what was received.

        Raises:
            ReconnectWebSocket: a READY opened no session.
        """
        received = socket.take_received()
        for dispatch in received:
            try:
                self._consumer.receive(dispatch)
            except ValueError:
                self._consumer.receive(to_rejected("frame", None, "READY", "a READY that opens no session"))
                raise ReconnectWebSocket(self._shard.number, resume=False) from None
        if not received:  # a frame of the protocol
            self._consumer.report_alive()

    async def _open(self, url: str, session: GatewaySession | None = None) -> GatewaySocket:
        """A connection on which RESUME, or without a session IDENTIFY, was said."""
        http = await self._wire.http()
        async with asyncio.timeout(self._config.connect_timeout_s):
            return await GatewaySocket.from_client(
                LibraryClient(http, self._state),  # type: ignore[arg-type]  # all the socket reads of a client
                initial=True,
                gateway=yarl.URL(url),
                shard_id=self._shard.number,
                session=None if session is None else session.id,
                sequence=None if session is None else session.seq,
                resume=session is not None,
            )

    async def _may_identify(self) -> str:
        """Wait until a session may be opened; where."""
        while (info := await self._wire.gateway()).is_used_up:
            wait_s = max(info.reset_after_s, IDENTIFY_EVERY_S)
            await self._put_off(wait_s, f"Discord lets it open no new session for {wait_s / 60:.0f} minutes")
        pace = self._starts.pace
        pace.max_concurrency = info.max_concurrency
        if info.shards > self._shard.count:
            self._log.warning("shards_few", shards=self._shard.count, recommended=info.shards)
        if wait_s := pace.wait_s(self._shard, asyncio.get_running_loop().time()):
            await self._sleep(wait_s)
        return info.url

    async def _rest(self) -> None:
        """Wait where a new session would be one too many of this shard in an hour; the others need not."""
        if wait_s := self._starts.pace.rest_s(self._shard, asyncio.get_running_loop().time()):
            in_words = f"the next one in {wait_s / 60:.0f} minutes"
            await self._put_off(wait_s, f"{IDENTIFIES_PER_HOUR} new sessions within an hour; {in_words}")

    async def _put_off(self, wait_s: float, words: str) -> None:
        """Wait for longer than the usual pace before a session is opened, and tell health."""
        self._sink.report(ChannelState.DEGRADED, self._shard.name(words))
        self._log.warning("identify_delayed", detail=words, retry_in_s=wait_s)
        await self._sleep(wait_s)

    def _believe(self, refusal: ApiRefusal) -> None:
        """A token that is refused again and again is wrong."""
        self._refusals = self._refusals + 1 if refusal.status == 401 else 0
        if self._refusals >= REFUSALS_BELIEVED:
            self._end_if_final(4004)

    def _end_if_final(self, code: int) -> None:
        """Tell health and end where only the operator can help."""
        words = CLOSE_WORDS.get(code)
        if code == SHARDING_REQUIRED and self._config.shards == "auto":
            raise Retryable(f"Discord asks for more shards than {self._shard.count}")
        if words is not None:
            words = words.format(account=self._config.name, shards=self._shard.count)
            self._sink.report(ChannelState.FAILED, words)
            raise ConfigRefused(words)

    async def _close(self) -> None:
        """Let go of the socket, with a code that keeps the session."""
        socket, self._state.socket = self._state.socket, None
        if socket is None:
            return
        for received in socket.take_received():  # a frame that was malformed, and ended the connection
            if isinstance(received, Rejected):
                self._consumer.receive(received)
        try:
            async with asyncio.timeout(CLOSE_WAIT_S):
                await socket.close(CLOSE_KEEPING_SESSION)
        except (TimeoutError, OSError, aiohttp.ClientError, RuntimeError):
            self._log.debug("gateway_not_closed")
