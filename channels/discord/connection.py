"""Keeps one bot connected to the gateway: RESUME wherever it can, also after a restart; IDENTIFY sparingly.

discord.py's own `Client.connect` always begins with IDENTIFY, ends at errors nobody watches, and closes with code
1000, which ends the session. So the loop is here. What comes in goes to `consumer`; `ingest` is asked what to resume.
"""

import asyncio
from collections import deque

import aiohttp
import structlog
import yarl

from channels.base import ChannelState, Sink
from channels.clocks import Sleep
from channels.discord.config import DiscordAccount
from channels.discord.consumer import DispatchConsumer
from channels.discord.error_mapping import CLOSE_WORDS, ApiRefusal
from channels.discord.identity import BACKOFF
from channels.discord.ingest import Ingest
from channels.discord.lazy_import import load_discord
from channels.discord.socket import GatewaySocket, LibraryClient, LibraryState
from channels.discord.wire import DiscordWire
from channels.errors import ChannelError, ConfigRefused

load_discord()  # before the imports below, which would import all of it

from discord.errors import ConnectionClosed  # noqa: E402  see load_discord
from discord.gateway import ReconnectWebSocket  # noqa: E402  see load_discord

CLOSE_KEEPING_SESSION = 4900  # any code but 1000 and 1001 keeps the session for a while
CLOSE_WAIT_S = 2.0
IDENTIFIES_PER_HOUR = 20  # Discord resets the token of a bot that identifies over 1,000 times a day
HOUR_S = 3600.0
REFUSALS_BELIEVED = 2  # so many 401 in a row end the channel
STEADY_S = 5.0  # a connection that stood for so long was one
SHORT_BELIEVED = 3  # so many in a row that did not are bad luck
RESUME_TRIES = 3  # connects to a session's own address before the common one is taken


class GatewayConnection:
    """The gateway connection of one bot, and whatever follows it."""

    def __init__(
        self,
        config: DiscordAccount,
        wire: DiscordWire,
        sink: Sink,
        ingest: Ingest,
        consumer: DispatchConsumer,
        sleep: Sleep,
    ) -> None:
        self._config = config
        self._wire = wire
        self._sink = sink
        self._ingest = ingest
        self._sleep = sleep
        self._state = LibraryState(consumer, message_content=config.message_content)
        self._failures = 0
        self._refusals = 0
        self._short = 0  # connections in a row that ended soon
        self._identified: deque[float] = deque(maxlen=IDENTIFIES_PER_HOUR)
        self._log = structlog.get_logger().bind(account=config.name)

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
                    self._sink.report(ChannelState.DEGRADED, detail)
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
        url = session.url if session is not None and self._failures < RESUME_TRIES else None
        if url is None or not self._config.official:
            url = await self._wire.gateway_url()
        http = await self._wire.http()
        if session is None:
            await self._may_identify()
        async with asyncio.timeout(self._config.connect_timeout_s):
            socket = await GatewaySocket.from_client(
                LibraryClient(http, self._state),  # type: ignore[arg-type]  # all the socket reads of a client
                initial=True,
                gateway=yarl.URL(url),
                session=None if session is None else session.id,
                sequence=None if session is None else session.seq,
                resume=session is not None,
            )
        try:
            while True:
                await socket.poll_event()
        finally:
            if socket.got_dispatch:
                self._failures = self._refusals = 0

    async def _may_identify(self) -> None:
        """Wait where a new session would be one too many in an hour."""
        now_s = asyncio.get_running_loop().time()
        if len(self._identified) == IDENTIFIES_PER_HOUR and now_s - self._identified[0] < HOUR_S:
            wait_s = HOUR_S - (now_s - self._identified[0])
            words = f"{IDENTIFIES_PER_HOUR} new sessions within an hour; the next one in {wait_s / 60:.0f} minutes"
            self._sink.report(ChannelState.DEGRADED, words)
            self._log.warning("identify_delayed", retry_in_s=wait_s)
            await self._sleep(wait_s)
        self._identified.append(asyncio.get_running_loop().time())

    def _believe(self, refusal: ApiRefusal) -> None:
        """A token that is refused again and again is wrong."""
        self._refusals = self._refusals + 1 if refusal.status == 401 else 0
        if self._refusals >= REFUSALS_BELIEVED:
            self._end_if_final(4004)

    def _end_if_final(self, code: int) -> None:
        """Tell health and end where only the operator can help."""
        words = CLOSE_WORDS.get(code)
        if words is not None:
            words = words.format(account=self._config.name)
            self._sink.report(ChannelState.FAILED, words)
            raise ConfigRefused(words)

    async def _close(self) -> None:
        """Let go of the socket, with a code that keeps the session."""
        socket, self._state.socket = self._state.socket, None
        if socket is None:
            return
        try:
            async with asyncio.timeout(CLOSE_WAIT_S):
                await socket.close(CLOSE_KEEPING_SESSION)
        except (TimeoutError, OSError, aiohttp.ClientError, RuntimeError):
            self._log.debug("gateway_not_closed")
