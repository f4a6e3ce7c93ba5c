"""NATS core as what carries the words between processes. It may lose any of them: whoever waits looks by itself, too.

`wakeups` decides what is said. While there is no connection, or no right, `publish` says so.
"""

import asyncio
import hmac
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import structlog

from gateway.cluster.wakeups import POLL_S, WAKE
from gateway.errors import SettingsError

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

log = structlog.get_logger()

CONNECT_S = 5
PING_S = 2
RETRY_S = 1.0


class NatsLink:
    """One connection to NATS, made anew whenever it is lost."""

    def __init__(self, url: str, subject: str, hear: Callable[[str], None], retry_s: float = RETRY_S) -> None:
        """`subject` is what the processes of one gateway share; `hear` is given what the others say there.

        Raises:
            SettingsError: what speaks NATS is not installed.
        """
        try:
            import nats  # noqa: F401, PLC0415  an optional extra, loaded where NATS_URL is set
        except ImportError:
            to_do = "install the gateway with the extra nats (pip install 'tenk-gateway[nats]'), or unset NATS_URL"
            raise SettingsError(f"NATS_URL is set, and nats-py is not installed: {to_do}") from None
        self._servers = servers_of(url)
        self._subject = subject
        self._hear = hear
        self._retry_s = retry_s
        self._client: Client | None = None
        self._said = ""  # what went wrong last, in the words of what speaks NATS
        self.trouble = "it was not tried yet"
        """Why nothing can be said over it; "" where it can."""

    @property
    def standing(self) -> str:
        """Where the words go, for an operator."""
        hosts = ", ".join(urlsplit(server).netloc.rpartition("@")[2] for server in self._servers)
        return f"NATS at {hosts}" + (f" not usable: {self.trouble}" if self.trouble else "")

    async def run(self) -> None:
        """Be connected until cancelled."""
        while True:
            before = self.trouble
            lost = asyncio.Event()
            try:
                await self._connect(lost)
                if not self.trouble:
                    log.info("nats_connected", server=self.standing)
                await lost.wait()
                self.trouble = "the connection was lost"
            except _failures() as error:
                self.trouble = self._said or _words(error)
            finally:
                await self.aclose()
            if self.trouble != before:
                log.warning("nats_away", error=self.standing, until_then="wake-ups go by PostgreSQL")
            await asyncio.sleep(self._retry_s)

    async def attempt(self) -> None:
        """Try it once, and be connected no more by the time this returns: `trouble` says why it cannot be used."""
        try:
            await self._connect(asyncio.Event())
        except _failures() as error:
            self.trouble = self._said or _words(error)
        finally:
            await self.aclose()

    async def _connect(self, lost: asyncio.Event) -> None:
        """Connect, and try whether the two rights that are needed are there: `trouble` says what is missing.

        Raises:
            Exception: one of `_failures`.
        """
        from nats.aio.client import Client  # noqa: PLC0415  as above

        async def note_lost() -> None:
            lost.set()

        async def hear(message: "Msg") -> None:
            words = message.data.decode(errors="replace")
            if words.startswith(f"{WAKE} "):
                self._hear(words)

        self._said = ""
        self._client = client = Client()
        await client.connect(
            list(self._servers), name="tenk", allow_reconnect=False, connect_timeout=CONNECT_S, no_echo=True,
            max_reconnect_attempts=1, reconnect_time_wait=0, ping_interval=PING_S,
            error_cb=self._note_error, disconnected_cb=note_lost,
        )  # fmt: skip
        self.trouble = ""
        await client.subscribe(self._subject, cb=hear)
        await client.publish(self._subject, b"")  # a server refuses before it answers the second flush
        await client.flush(CONNECT_S)  # the ping of the first goes ahead of what waits to be written
        await client.flush(CONNECT_S)

    async def publish(self, words: str) -> bool:
        """Whether they went on their way."""
        if self._client is None or self.trouble:
            return False
        try:
            async with asyncio.timeout(POLL_S):
                await self._client.publish(self._subject, words.encode())
        except _failures():
            return False
        return not self.trouble

    async def aclose(self) -> None:
        """Hear nothing more."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(*_failures()):
                await client.close()

    async def _note_error(self, error: Exception) -> None:
        self._said = words = _words(error)
        if "permissions violation" in words:
            self.trouble = words
            to_do = f"let the user of NATS_URL publish and subscribe to {self._subject}, then restart either"
            log.warning("nats_refuses", error=words, mend=to_do, until_then="wake-ups go by PostgreSQL")


def servers_of(url: str) -> Sequence[str]:
    """The servers that a NATS_URL names, separated by commas.

    Raises:
        ValueError: one of them is no NATS server's.
    """
    servers = [server.strip() for server in url.split(",")]
    for server in servers:
        parts = urlsplit(server)
        try:
            usable = parts.scheme in {"nats", "tls"} and bool(parts.hostname) and (parts.port or 4222) > 0
        except ValueError:
            usable = False
        if not usable:
            raise ValueError(
                "no address of NATS servers; write nats://user:password@host:4222, or tls://..., by commas"
            )
    return servers


def subject_of(key: bytes) -> str:
    """Where processes with this key of the home's meet: several gateways may share a NATS."""
    return f"tenk.{hmac.digest(key, b'tenk wake-ups v1', 'sha256').hex()[:16]}"


def _failures() -> tuple[type[Exception], ...]:
    from nats.errors import Error  # noqa: PLC0415  as above

    return (OSError, TimeoutError, Error, ValueError)


def _words(error: Exception) -> str:
    return str(error).removeprefix("nats: ").strip("' ") or type(error).__name__
