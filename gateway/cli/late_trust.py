"""Imports aiohttp so that the certificates of this machine are read with the first encrypted connection.

At its import aiohttp makes two contexts and reads all of them for each: 2 MiB and 60 ms (November 2026), also for who
connects to nobody. Whoever imports this imports it before anything that imports aiohttp.
"""

import ssl
from typing import Any


class LateTrust(ssl.SSLContext):
    """Trusts no certificate until its first connection, which makes it a context that trusts what the machine does."""

    def wrap_bio(self, *arguments: Any, **named: Any) -> ssl.SSLObject:
        """As any context's; asyncio makes each connection by it."""
        self.set_default_verify_paths()
        self.__class__ = ssl.SSLContext  # type: ignore[assignment]  # not sooner: another thread may be here, too
        return ssl.SSLContext.wrap_bio(self, *arguments, **named)


def _later(context: ssl.SSLContext) -> None:
    context.__class__ = LateTrust


ssl.SSLContext.set_default_verify_paths = _later  # type: ignore[assignment]  # for the one import below
import aiohttp  # noqa: E402, F401  what this module is for

del ssl.SSLContext.set_default_verify_paths  # the inherited one is in force again
