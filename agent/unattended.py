"""The ports of a turn in the background: only its cost is kept, and no person is asked or watches."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NoReturn, Protocol

from agent.consent import AskedCall, Consent, TurnParked
from agent.fallbacks import ResponseDiscarded
from agent.journal import whole_result
from agent.ports import LocalEffect, Spent, Summary, TurnEvent
from agent.transcript import EndReason, JournalEvent, ModelResponded, ToolReturned, TurnEnded, UserItem


class Surroundings(Protocol):
    """The parts of such a turn that outlive it."""

    async def note_cost(self, response: Spent) -> None:
        """Count a model call."""
        ...

    async def whole_result(self, handle: str) -> str | None:
        """Return the whole result of a call of an earlier turn; None if it is gone."""
        ...

    async def load_pictures(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        """Return the bytes of those of these pictures that are still kept."""
        ...

    def scrub(self, text: str) -> str:
        """Return a text without secrets."""
        ...


class MemoryJournal:
    """The journal of a turn that only reads, in memory."""

    def __init__(self, events: Sequence[JournalEvent], around: Surroundings) -> None:
        """Begin with the turn's events so far."""
        self.events = list(events)
        self._around = around

    async def record(self, *events: JournalEvent) -> None:
        """Keep the events, and count those that cost."""
        self.events += events
        for event in events:
            if isinstance(event, ModelResponded | ResponseDiscarded):
                await self.note_cost(event)

    async def apply(self, effect: LocalEffect, returned: ToolReturned) -> ToolReturned:
        """Refuse: its tools have no effects."""
        raise RuntimeError(f"a turn beside conversations changes nothing: {effect}")

    def steering_waits(self, *, by_person: bool = False) -> bool:
        return False

    async def steer(self, step: int, overtaken: Sequence[ToolReturned]) -> tuple[UserItem, ...]:
        return ()

    async def keep_summary(self, summary: Summary, responses: Sequence[Spent]) -> None:
        """Count what the notes cost; they are not kept."""
        for response in responses:
            await self.note_cost(response)

    async def note_cost(self, response: Spent) -> None:
        await self._around.note_cost(response)

    def scrub(self, text: str) -> str:
        return self._around.scrub(text)

    async def whole_result(self, handle: str) -> str | None:
        """Return the whole result of a call of this turn or of an earlier one."""
        return whole_result(self.events, handle) or await self._around.whole_result(handle)

    async def load_pictures(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        return await self._around.load_pictures(ids)

    async def finish(
        self,
        reason: EndReason,
        text: str,
        response: ModelResponded | None,
        note: str = "",
        *,
        busy_s: float | None = None,
        why: str = "",
    ) -> bool:
        await self.record(*([] if response is None else [response]), TurnEnded(reason, text, note, busy_s, why))
        return True


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
