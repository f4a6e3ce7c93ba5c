"""What came in is understood, committed together with how far we are, and only then acknowledged.

Order is fixed when a dispatch comes in; nothing overtakes but interactions, which have three seconds, while a gap is
being filled or a channel is being asked for. Connecting is `connection`'s matter.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

import structlog
from pydantic import JsonValue, TypeAdapter, ValidationError

from channels.base import ChannelState, NotPersisted, Sink
from channels.discord.answers import Answers
from channels.discord.backfill import Pause
from channels.discord.connection import step
from channels.discord.cursor import Cursor, Session, write_cursor
from channels.discord.failures import ApiRefusal
from channels.discord.gap import Gap
from channels.discord.places import Place, place_of
from channels.discord.raw import RawChannel, RawReady
from channels.discord.routes import Way
from channels.discord.translate import Surroundings, rejected, snowflake_at, translate
from channels.discord.translate_interaction import Interaction, translate_interaction
from channels.discord.waiting import INTERACTION, STATE_EVENTS, Dispatch, Echoes, Waiting
from channels.discord.wire import DiscordWire
from channels.errors import ChannelError
from channels.messages import InboundEvent, InboundMessage, Rejected

Clock = Callable[[], datetime]

DAY_S = 86_400.0
STORE_BACKOFF_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
FILLING = "fetching what was said while it was away; what is said now is answered after that"
ASK_BACKOFF_S = (0.2, 0.5, 1.0, 2.0, 5.0)
_CHANNEL = TypeAdapter(RawChannel)

log = structlog.get_logger()


class Hearing:
    """Takes dispatches of one bot for as long as `run` runs."""

    def __init__(
        self,
        wire: DiscordWire,
        sink: Sink,
        near: Surroundings,
        resume: Cursor,
        answers: Answers,
        echoes: Echoes,
        pause: Pause,
        clock: Clock,
    ) -> None:
        """`resume` is what was committed last."""
        self._wire = wire
        self._sink = sink
        self._near = near
        self._cursor = resume
        self._answers = answers
        self._echoes = echoes
        self._pause = pause
        self._clock = clock
        self._waiting = Waiting(near.places)
        self._held = False
        self._up = False
        self._opened_at = 0  # the least message id since the session was opened
        self._tasks: asyncio.TaskGroup | None = None
        self._reading_on: asyncio.Task[None] | None = None

    # ------------------------------------------------------------ the listener

    async def room(self) -> None:
        """Return when there is room for a dispatch."""
        await self._waiting.room()

    def dispatched(self, event: str, seq: int | None, data: JsonValue) -> None:
        """Queue it: this fixes its order."""
        self._near.places.learn(event, data)
        if event == "MESSAGE_CREATE":
            self._echoes.note(data, self._near.us.user_id)
        if event in STATE_EVENTS:
            self._up = True
            self.alive()
        self._waiting.put(Dispatch(event, seq, data))

    def unreadable(self, raw: str, reason: str) -> None:
        """Quarantine it."""
        self._waiting.put(rejected("frame", None, raw, reason))

    def alive(self) -> None:
        """Health hears of it once a session stands: from then on whatever is said is taken, if behind a gap."""
        if self._up:
            self._sink.report(ChannelState.READY, FILLING if self._cursor.gap else "")

    # ------------------------------------------------------------ life

    async def run(self) -> None:
        """Commit what waits, for ever."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            if (since := self._cursor.unread_from) is not None:  # older than whatever the session replays
                self._hold(self._fill(since))
            while True:
                await self._waiting.news.wait()
                self._waiting.news.clear()
                while batch := self._take():
                    await self._commit(batch)

    def _take(self) -> list[Dispatch | Rejected]:
        """The next ones that can be committed together."""
        if not self._held:
            batch = self._waiting.take()
            if batch or (channel := self._waiting.asked_first()) is None:
                return batch
            self._hold(self._ask_for(channel))
        return self._waiting.take_interactions()

    def _hold(self, work: Coroutine[None, None, None]) -> None:
        """Let nothing but interactions pass until `work` is done."""
        assert self._tasks is not None, "run has begun"
        self._held = True
        self._tasks.create_task(self._held_by(work))

    async def _held_by(self, work: Coroutine[None, None, None]) -> None:
        await work
        self._held = False
        self._waiting.news.set()

    # ------------------------------------------------------------ committing

    async def _commit(self, batch: Sequence[Dispatch | Rejected]) -> None:
        """Hand in a batch and how far we are with it, then defer its interactions."""
        head = batch[0]
        if isinstance(head, Dispatch) and head.event in STATE_EVENTS:
            await self._state_changed(head)
            return
        found = list(_understood(batch, self._near, self._clock()))
        events = [one for one in found if not isinstance(one, Rejected)]
        cursor = None if self._held else self._moved(batch, events)
        ways = [Way.of(one.route) for one in events if isinstance(one, Interaction) and one.route is not None]
        for way in ways:
            self._answers.expect(way)
        await self._hand_in(events, [one for one in found if isinstance(one, Rejected)], cursor)
        for way in ways:
            assert self._tasks is not None, "run has begun"
            self._tasks.create_task(self._answers.defer(way))

    def _ahead(self) -> int:
        """The least id of a day from now: one beyond it is made up, and would hide what is said until then."""
        return snowflake_at((self._clock().timestamp() + DAY_S) * 1000)

    def _moved(self, batch: Iterable[Dispatch | Rejected], events: Iterable[InboundEvent]) -> str | None:
        """The cursor after this batch."""
        cursor = self._cursor
        for one in batch:
            if isinstance(one, Dispatch) and one.seq is not None:
                cursor = cursor.at(one.seq)
        for event in events:
            if isinstance(event, InboundMessage) and int(event.message_id) < self._ahead():
                cursor = replace(cursor, last=max(cursor.last, int(event.message_id)))
        self._cursor = cursor
        return write_cursor(cursor)

    async def _hand_in(
        self, events: Sequence[InboundEvent], bad: Sequence[Rejected] = (), cursor: str | None = None
    ) -> None:
        """Give it to the sink until it holds."""
        for one in bad:
            log.warning("dispatch_rejected", account=self._near.us.account, event_id=one.event_id, reason=one.reason)
        attempt = 0
        while True:
            try:
                await self._sink.receive(events, rejected=bad, cursor=cursor)
            except NotPersisted:
                attempt += 1
                self._sink.report(ChannelState.DEGRADED, "the store takes no messages; these are offered again")
                await self._pause(step(STORE_BACKOFF_S, attempt))
            else:
                return

    # ------------------------------------------------------------ sessions and gaps

    async def _state_changed(self, dispatch: Dispatch) -> None:
        """A session was opened or taken up again."""
        if dispatch.event == "READY":
            try:
                ready = RawReady.model_validate(dispatch.data)
            except ValidationError:
                return  # the socket has refused it before
            session = Session(ready.session_id, ready.resume_gateway_url, dispatch.seq or 1)
            first = self._cursor.last == 0
            self._opened_at = snowflake_at(1000 * self._clock().timestamp())
            last = self._opened_at if first else self._cursor.last
            self._cursor = Cursor(session, last, gap=not first, behind=self._cursor.behind)
        elif dispatch.seq is not None:
            self._cursor = self._cursor.at(dispatch.seq)
        await self._hand_in((), cursor=write_cursor(self._cursor))
        if self._cursor.gap:
            self.alive()
            self._hold(self._fill(self._cursor.unread_from or 0))

    async def _fill(self, since: int) -> None:
        """Fetch what was said between this message and this session; what cannot be read now, beside what comes."""
        if self._reading_on is not None:
            self._reading_on.cancel()
        gap = Gap(self._wire, self._sink, self._near, self._hand_in, self._pause, since, self._clock)
        behind = 0 if await gap.fill() else since
        self._cursor = replace(self._cursor, gap=False, last=max(self._cursor.last, self._opened_at), behind=behind)
        await self._hand_in((), cursor=write_cursor(self._cursor))
        self.alive()
        if behind:
            assert self._tasks is not None, "run has begun"
            self._reading_on = self._tasks.create_task(self._read_on(gap))

    async def _read_on(self, gap: Gap) -> None:
        await gap.read_on()
        self._cursor = replace(self._cursor, behind=0)
        await self._hand_in((), cursor=write_cursor(self._cursor))

    async def _ask_for(self, channel: str) -> None:
        """Ask where a channel is; one that is hidden from us counts as a plain channel of a server."""
        attempt = 0
        while True:
            attempt += 1
            try:
                found = await self._wire.call("GET", "/channels/{channel_id}", at={"channel_id": channel})
                self._near.places.put(place_of(_CHANNEL.validate_python(found)))
                return
            except (ApiRefusal, ValidationError) as refusal:
                if isinstance(refusal, ValidationError) or refusal.status in (403, 404):
                    self._near.places.put(Place(channel, "0"))
                    return
                detail = str(refusal)
            except ChannelError as error:
                detail = str(error)
            log.warning("channel_not_told", account=self._near.us.account, channel=channel, detail=detail)
            await self._pause(step(ASK_BACKOFF_S, attempt))


def _understood(
    batch: Iterable[Dispatch | Rejected], near: Surroundings, now: datetime
) -> Iterable[InboundEvent | Rejected]:
    for one in batch:
        if isinstance(one, Rejected):
            yield one
            continue
        try:
            yield from _translated(one, near, now)
        except Exception as error:  # noqa: BLE001  one dispatch: kept for the operator, and those behind it are heard
            log.exception("dispatch_broken", account=near.us.account)
            reason = f"it broke the reading: {type(error).__name__}: {error}"
            yield rejected(one.event, one.seq, None, reason)


def _translated(one: Dispatch, near: Surroundings, now: datetime) -> Iterable[InboundEvent | Rejected]:
    if one.event != INTERACTION:
        return translate(one.event, one.seq, one.data, near, now)
    invoked = translate_interaction(one.seq, one.data, near)
    return () if invoked is None else (invoked,)
