"""Keeps one bot connected to the gateway: RESUME wherever it can, also after a restart; IDENTIFY sparingly.

discord.py's own `Client.connect` always begins with IDENTIFY, ends at errors nobody watches, and closes with code
1000, which ends the session. So the loop is here. What comes in goes to a `Listener`.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import aiohttp
import structlog
import yarl

# discord.py is loaded by now, and only what is needed of it: see light_import.
from discord.errors import ConnectionClosed
from discord.gateway import ReconnectWebSocket

from channels.base import ChannelState, Sink
from channels.discord.config import DiscordAccount
from channels.discord.cursor import Session
from channels.discord.failures import CLOSE_WORDS, ApiRefusal
from channels.discord.socket import GatewaySocket, LibraryClient, LibraryState, Listener
from channels.discord.translate import Ourselves
from channels.discord.wire import DiscordWire
from channels.errors import ChannelError, ConfigRefused

Pause = Callable[[float], Awaitable[None]]

BACKOFF_S = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
CLOSE_KEEPING_SESSION = 4900  # any code but 1000 and 1001 keeps the session for a while
CLOSE_WAIT_S = 2.0
IDENTIFIES_PER_HOUR = 20  # Discord resets the token of a bot that identifies over 1,000 times a day
HOUR_S = 3600.0
REFUSALS_BELIEVED = 2  # so many 401 in a row end the channel
STEADY_S = 5.0  # a connection that stood for so long was one
SHORT_BELIEVED = 3  # so many in a row that did not are bad luck
RESUME_TRIES = 3  # connects to a session's own address before the common one is taken


def step(ladder: Sequence[float], attempt: int) -> float:
    """The wait after failure number `attempt`, counted from 1; the last one is repeated."""
    return ladder[min(attempt, len(ladder)) - 1]


class Connection:
    """The gateway connection of one bot, and whatever follows it."""

    def __init__(
        self,
        config: DiscordAccount,
        wire: DiscordWire,
        sink: Sink,
        listener: Listener,
        session: Session | None,
        pause: Pause,
    ) -> None:
        """`session` is resumed first, from its sequence number."""
        self._config = config
        self._wire = wire
        self._sink = sink
        self._listener = listener
        self._pause = pause
        self._state = LibraryState(self, message_content=config.message_content)
        self._session_id = session.id if session is not None else None
        self._seq = session.seq if session is not None else None
        self._url = session.url if session is not None else None
        self._failures = 0
        self._refusals = 0
        self._short = 0  # connections in a row that ended soon
        self._identified: deque[float] = deque(maxlen=IDENTIFIES_PER_HOUR)
        self._log = structlog.get_logger().bind(account=config.name)

    # ------------------------------------------------------------ the socket's listener

    async def room(self) -> None:
        """As the listener behind us says."""
        await self._listener.room()

    def dispatched(self, event: str, seq: int | None, data: object) -> None:
        """Keep the session up to date, then pass it on."""
        self._failures = self._refusals = 0
        socket = self._state.socket
        if event == "READY" and socket is not None:
            self._session_id, self._url = socket.session_id, str(socket.gateway)
        if seq is not None:
            self._seq = seq
        self._listener.dispatched(event, seq, data)  # type: ignore[arg-type]  # JSON, as the socket got it

    def unreadable(self, raw: str, reason: str) -> None:
        """As the listener behind us says."""
        self._listener.unreadable(raw, reason)

    def alive(self) -> None:
        """As the listener behind us says."""
        self._listener.alive()

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
                    wait_s = step(BACKOFF_S, tries)
                    self._sink.report(ChannelState.DEGRADED, detail)
                    self._log.warning("gateway_lost", detail=detail, retry_in_s=wait_s)
                    await self._pause(wait_s)
        finally:
            await self._close()

    async def _once(self) -> str:
        """One connection; returns why it ended."""
        try:
            await self._talk()
        except ReconnectWebSocket as again:
            if not again.resume:
                self._session_id = None
                self._failures = max(self._failures, 1)  # Discord asks to wait a little before a new session
            return "the gateway's connection ended"
        except ConnectionClosed as closed:
            self._end_where_told(closed.code)
            self._session_id = None
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
        resuming = self._session_id is not None
        url = self._url if resuming and self._failures < RESUME_TRIES else None
        if url is None or not self._config.official:
            url = await self._wire.gateway_url()
        http = await self._wire.http()
        if not resuming:
            await self._may_identify()
        async with asyncio.timeout(self._config.connect_timeout_s):
            socket = await GatewaySocket.from_client(
                LibraryClient(http, self._state),  # type: ignore[arg-type]  # all the socket reads of a client
                initial=True,
                gateway=yarl.URL(url),
                session=self._session_id,
                sequence=self._seq,
                resume=resuming,
            )
        while True:
            await socket.poll_event()

    async def _may_identify(self) -> None:
        """Wait where a new session would be one too many in an hour."""
        now_s = asyncio.get_running_loop().time()
        if len(self._identified) == IDENTIFIES_PER_HOUR and now_s - self._identified[0] < HOUR_S:
            wait_s = HOUR_S - (now_s - self._identified[0])
            words = f"{IDENTIFIES_PER_HOUR} new sessions within an hour; the next one in {wait_s / 60:.0f} minutes"
            self._sink.report(ChannelState.DEGRADED, words)
            self._log.warning("identify_delayed", retry_in_s=wait_s)
            await self._pause(wait_s)
        self._identified.append(asyncio.get_running_loop().time())
        self._seq = None

    def _believe(self, refusal: ApiRefusal) -> None:
        """A token that is refused again and again is wrong."""
        self._refusals = self._refusals + 1 if refusal.status == 401 else 0
        if self._refusals >= REFUSALS_BELIEVED:
            self._end_where_told(4004)

    def _end_where_told(self, code: int) -> None:
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


async def introduced(config: DiscordAccount, wire: DiscordWire, sink: Sink, pause: Pause) -> Ourselves:
    """Who we are; asked until Discord says it.

    Raises:
        ConfigRefused: it refuses the token; health was told.
    """
    failures = 0
    while True:
        try:
            return await wire.introduce()
        except ApiRefusal as refusal:
            if refusal.status == 401:
                words = CLOSE_WORDS[4004].format(account=config.name)
                sink.report(ChannelState.FAILED, words)
                raise ConfigRefused(words) from None
            detail = f"Discord refuses to say who we are: {refusal}"
        except ChannelError as error:
            detail = f"Discord cannot be reached: {error}"
        failures += 1
        sink.report(ChannelState.DEGRADED, detail)
        await pause(step(BACKOFF_S, failures))
