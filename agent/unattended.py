"""The people of a turn beside conversations: none is asked, none watches, none stops it."""

import asyncio
from typing import NoReturn

from agent.consent import AskedCall, Consent, TurnParked
from agent.ports import TurnEvent
from agent.transcript import EndReason


class NoConsents:
    """Deny what a person would have to be asked."""

    async def consent(self, ask: AskedCall) -> Consent | None:
        """Deny tools that need consent."""
        return Consent.DENIED

    async def park(self, ask: AskedCall, left_s: float) -> NoReturn:
        raise TurnParked


class NoWatchers:
    """A turn that no one watches and no one stops: it ends by itself, and soon."""

    def __init__(self) -> None:
        self._stop: asyncio.Future[EndReason] = asyncio.get_running_loop().create_future()

    def progress(self, event: TurnEvent) -> None:
        """Show nothing."""

    async def let_watchers_read(self) -> None:
        """Return at once."""

    def stopping(self) -> EndReason | None:
        return None

    def until_stopped(self) -> asyncio.Future[EndReason]:
        """Return a future that never comes."""
        return self._stop
