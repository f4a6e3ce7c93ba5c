"""Fetches what was said while no session could be resumed: every channel, thread and known direct conversation.

Discord keeps no queue: after a new session only its REST history knows. What the messages mean is `translate`'s.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import structlog
from pydantic import JsonValue, TypeAdapter, ValidationError

from channels.base import ChannelState, Sink
from channels.discord.config import Wake
from channels.discord.failures import ApiRefusal
from channels.discord.places import READ_TYPES, Place, place_of
from channels.discord.raw import RawChannel, RawMessage, RawThreads
from channels.discord.translate import Surroundings, rejected, said, snowflake_at, validated, why
from channels.discord.wire import DiscordWire
from channels.errors import ChannelError, Retryable
from channels.foreign import LONGEST_WAIT_S, whole_of
from channels.messages import InboundEvent, Rejected

HandIn = Callable[[Sequence[InboundEvent], Sequence[Rejected]], Awaitable[None]]
Pause = Callable[[float], Awaitable[None]]

PAGE = 100
AT_ONCE = 4
TRIES_S = (0.5, 1.0, 2.0, 4.0, 8.0)
OVERLAP_MS = 60_000  # ids of different machines of Discord's are not in perfect order; dedupe takes the rest

_CHANNELS = TypeAdapter(list[RawChannel])
_THREADS = TypeAdapter(RawThreads)
_log = structlog.get_logger()


@dataclass(slots=True)
class Found:
    """What a backfill came to."""

    channels: int = 0  # that had something
    messages: int = 0
    cut: list[str] = field(default_factory=list)  # channels that had more than is fetched
    failed: list[str] = field(default_factory=list)  # channels that could not be read


class Backfill:
    """One gap of one bot."""

    def __init__(self, wire: DiscordWire, sink: Sink, near: Surroundings, hand_in: HandIn, pause: Pause) -> None:
        self._wire = wire
        self._sink = sink
        self._near = near
        self._hand_in = hand_in
        self._pause = pause
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def run(self, last: int, direct: Sequence[str], now_ms: float) -> Found:
        """Hand in everything after message `last`, each channel in its order; returns when all of it is committed.

        Raises:
            Retryable: Discord could not be asked; the gap is still there.
        """
        oldest = snowflake_at(now_ms - self._near.config.backfill_hours * 3_600_000)
        after = max(oldest, last - (OVERLAP_MS << 22))
        places = [Place(channel) for channel in direct] + await self._places(after)
        found = Found()
        async with asyncio.TaskGroup() as tasks:
            for place in places:
                tasks.create_task(self._channel(place, self._after(place, after), found))
        _log.info("gap_backfilled", channels=found.channels, messages=found.messages, asked=len(places))
        if found.cut or found.failed:
            words = f"after a gap {len(found.cut)} channels had more than is fetched, {len(found.failed)} were not read"
            _log.warning("gap_not_filled", cut=found.cut[:20], failed=found.failed[:20])
            self._sink.report(ChannelState.READY, words)
        return found

    def _after(self, place: Place, after: int) -> int:
        """In a server we came to lately, only what was said since."""
        return max(after, snowflake_at(self._near.places.joined_ms.get(place.guild or "", 0)))

    async def _places(self, after: int) -> list[Place]:
        """The channels and threads of all servers that have something newer."""
        found: list[Place] = []
        for guild in await self._guilds():
            channels = await self._read(f"/guilds/{guild}/channels")
            threads = await self._read(f"/guilds/{guild}/threads/active")
            try:
                described = _CHANNELS.validate_python(channels or [])
                described += _THREADS.validate_python(threads or {}).threads
            except ValidationError as error:
                raise Retryable(f"the channels of server {guild} cannot be read: {why(error)}") from None
            for raw in described:
                place = place_of(raw, guild)
                self._near.places.put(place)
                wake = self._near.config.wake_in(place.id, place.parent)
                if raw.type in READ_TYPES and wake is not Wake.OFF and place.last_message > after:
                    found.append(place)
        return found

    async def _guilds(self) -> list[str]:
        """The servers we are in."""
        found: list[str] = []
        while True:
            page = await self._read("/users/@me/guilds", limit="200", after=found[-1] if found else "0")
            ids = [str(one["id"]) for one in _objects(page) if "id" in one]
            news = [one for one in ids if one not in found]
            found += news
            if len(ids) < 200 or not news:
                return found

    async def _channel(self, place: Place, after: int, found: Found) -> None:
        """One channel's messages, page by page, oldest first."""
        async with self._slots:
            count = 0
            while True:
                try:
                    page = await self._read(f"/channels/{place.id}/messages", limit=str(PAGE), after=str(after))
                except ChannelError:
                    found.failed.append(place.id)
                    return
                newest_first = _objects(page)
                await self._take(place, newest_first[::-1])
                count += len(newest_first)
                after = max([after, *(_id_of(one) for one in newest_first)])
                if len(newest_first) < PAGE:
                    break
                if count >= self._near.config.backfill_messages:
                    found.cut.append(place.id)
                    break
            found.messages += count
            found.channels += bool(count)

    async def _take(self, place: Place, page: list[dict[str, JsonValue]]) -> None:
        """Hand in one page."""
        self._near.places.put(place)
        events: list[InboundEvent] = []
        bad: list[Rejected] = []
        for one in page:
            try:
                event = said(validated(RawMessage, one), self._near)
            except ValidationError as error:
                bad.append(rejected("MESSAGE_CREATE", None, one, why(error)))
            else:
                events += [] if event is None else [event]
        if events or bad:
            await self._hand_in(events, bad)

    async def _read(self, path: str, **query: str) -> JsonValue:
        """A GET, insisted on; None where we may not look."""
        for attempt, wait_s in enumerate((*TRIES_S, None)):
            try:
                return await self._wire.call("GET", path, query=query)
            except ApiRefusal as refusal:
                if refusal.status in (403, 404):
                    return None
                seen = str(refusal)
            except ChannelError as error:
                seen = str(error)
                if isinstance(error, Retryable) and error.retry_after_s and wait_s is not None:
                    wait_s = max(wait_s, min(error.retry_after_s, LONGEST_WAIT_S))  # noqa: PLW2901  the longer of the two
            if wait_s is not None:
                _log.warning("backfill_call_failed", path=path, attempt=attempt + 1, detail=seen)
                await self._pause(wait_s)
        raise Retryable(f"GET {path}: {seen}")


def _objects(page: JsonValue) -> list[dict[str, JsonValue]]:
    return [one for one in page if isinstance(one, dict)] if isinstance(page, list) else []


def _id_of(message: dict[str, JsonValue]) -> int:
    return whole_of(message.get("id")) or 0
