"""A turn's three ports in memory: journal, steering, stops; each can die at any commit as a process would."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NoReturn

from agent.bounded import Deadline
from agent.config import AgentConfig
from agent.consent import AskedCall, Consent, Parked, TurnParked
from agent.journal import whole_result
from agent.ports import LocalEffect, Principal, Summary, TextDelta, TextDiscarded, Turn, TurnEvent, TurnPorts
from agent.transcript import (
    EndReason,
    Item,
    JournalEvent,
    ModelResponded,
    Steered,
    ToolReturned,
    TurnEnded,
    TurnStarted,
    UserItem,
    fold,
)
from agent.turn import TurnScope
from tests.fakes.strict_transcripts import flaws_in_items

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
ANA = Principal("u1", "t1", "Ana", locale="en")


class Died(BaseException):
    """A kill of the process; nothing catches it."""


def _no_effects(effect: LocalEffect) -> str:
    raise AssertionError(f"no local effect was expected: {effect}")


@dataclass
class FakeTurnPort:
    """A turn's effects, kept in lists.

    `dies_at=n` kills the process at its n-th commit (from 0): before it, or after it with `dies_after`.
    """

    events: list[JournalEvent] = field(default_factory=list)
    run_effect: Callable[[LocalEffect], str] = _no_effects
    waiting: list[UserItem] = field(default_factory=list)
    dies_at: int | None = None
    dies_after: bool = False
    progressed: list[TurnEvent] = field(default_factory=list)
    applied: dict[str, ToolReturned] = field(default_factory=dict)
    commits: int = 0
    summaries: list[tuple[Summary, tuple[ModelResponded, ...]]] = field(default_factory=list)
    beside: list[ModelResponded] = field(default_factory=list)  # what was counted beside the steps
    consents: dict[str, Consent] = field(default_factory=dict)  # what was said, by call key
    asked: list[AskedCall] = field(default_factory=list)
    on_progress: Callable[[TurnEvent], None] | None = None
    pictures: dict[str, bytes] = field(default_factory=dict)
    begun: list[str] = field(default_factory=list)  # call keys whose results come later
    ready_at_once: bool = False  # a result is there before the turn waits
    _stop: EndReason | None = None
    _stopped: asyncio.Future[EndReason] | None = None  # None: not asked for

    @property
    def ports(self) -> TurnPorts:
        return TurnPorts(journal=self, consents=self, watchers=self, waits=self)

    def scope(self, events: Sequence[JournalEvent] = (), left_s: float = 60.0, **limits: int) -> TurnScope:
        """Return the scope of a turn with these events and a clock that stands still."""
        begun = TurnScope.begin(Turn("t", ANA, (), events, NOW), self.ports, AgentConfig(**limits), lambda: NOW)
        return replace(begun, deadline=Deadline(left_s, 0.0, lambda: 0.0))

    def _commit(self, *events: JournalEvent) -> None:
        dies = self.dies_at == self.commits
        self.commits += 1
        if dies and not self.dies_after:
            raise Died
        self.events.extend(events)
        flaws = flaws_in_items(fold(self.events))
        assert not flaws, flaws
        if dies:
            raise Died

    async def record(self, *events: JournalEvent) -> None:
        await asyncio.sleep(0)
        self._commit(*events)

    async def apply(self, effect: LocalEffect, returned: ToolReturned) -> ToolReturned:
        await asyncio.sleep(0)
        if (before := self.applied.get(returned.call_key)) is not None:
            return before
        if self.dies_at == self.commits and not self.dies_after:
            raise Died
        whole = replace(returned, content=self.run_effect(effect))
        self.applied[returned.call_key] = whole
        self._commit(whole)
        return whole

    async def steer(self, step: int, overtaken: Sequence[ToolReturned]) -> tuple[UserItem, ...]:
        await asyncio.sleep(0)
        items = tuple(self.waiting)
        if items:
            self._commit(*overtaken, Steered(step, items))
            self.waiting.clear()
        return items

    async def keep_summary(self, summary: Summary, responses: Sequence[ModelResponded]) -> None:
        await asyncio.sleep(0)
        self._commit()
        self.summaries.append((summary, tuple(responses)))

    async def note_cost(self, response: ModelResponded) -> None:
        self.beside.append(response)

    def scrub(self, text: str) -> str:
        return text

    async def whole_result(self, handle: str) -> str | None:
        return whole_result(self.events, handle)

    async def load_pictures(self, ids: Sequence[str]) -> dict[str, bytes]:
        return {id_: self.pictures[id_] for id_ in ids if id_ in self.pictures}

    def steering_waits(self, *, by_person: bool = False) -> bool:
        return bool(self.waiting)

    async def consent(self, ask: AskedCall) -> Consent | None:
        self.asked.append(ask)
        return self.consents.get(ask.call_key)

    async def park(self, ask: AskedCall, left_s: float) -> NoReturn:
        await asyncio.sleep(0)
        self._commit(Parked(ask.step, ask.call_key, ask.tool, "a1", left_s, ask.backfilled))
        raise TurnParked

    async def begin_work(self, effect: LocalEffect, call_key: str) -> None:
        await asyncio.sleep(0)
        self.run_effect(effect)
        self.begun.append(call_key)

    async def wait(self, step: int, calls: Mapping[str, str], left_s: float) -> None:
        await asyncio.sleep(0)
        if self.ready_at_once:
            self.ready_at_once = False
            return
        self._commit(*(Parked(step, key, name, "", left_s) for key, name in calls.items()))
        raise TurnParked

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
        await asyncio.sleep(0)
        assert text.strip(), "an answer is never empty"
        if self.waiting and reason is EndReason.COMPLETED:
            return False
        assert text.endswith(note)
        self._commit(*([response] if response else []), TurnEnded(reason, text, note, busy_s, why))
        return True

    def progress(self, event: TurnEvent) -> None:
        self.progressed.append(event)
        if self.on_progress is not None:
            self.on_progress(event)

    async def let_watchers_read(self) -> None:
        pass

    def stopping(self) -> EndReason | None:
        return self._stop

    def until_stopped(self) -> asyncio.Future[EndReason]:
        if self._stopped is None:
            self._stopped = asyncio.get_running_loop().create_future()
            if self._stop is not None:
                self._stopped.set_result(self._stop)
        return self._stopped

    def stop(self, reason: EndReason = EndReason.STOPPED) -> None:
        """Stop the turn as its person does."""
        self._stop = reason
        if self._stopped is not None and not self._stopped.done():
            self._stopped.set_result(reason)

    def say(self, text: str) -> None:
        """Add a message of the person while the turn runs."""
        self.waiting.append(UserItem(text))

    @property
    def answer(self) -> str:
        ended = [event for event in self.events if isinstance(event, TurnEnded)]
        assert 1 == len(ended)
        return ended[0].text

    @property
    def shown(self) -> str:
        text = ""
        for event in self.progressed:
            match event:
                case TextDelta():
                    text += event.text
                case TextDiscarded():
                    text = ""
                case _:
                    pass
        return text


def a_turn(port: FakeTurnPort, text: str = "hello", history: Sequence[Item] = (), principal: Principal = ANA) -> Turn:
    """Return a turn that resumes what the port has journaled, or begins with this text if that is nothing."""
    if not port.events:
        port.events.append(TurnStarted((UserItem(text),)))
    return Turn("0190-turn-000000000001", principal, history, tuple(port.events), NOW)
