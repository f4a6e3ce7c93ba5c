"""Fetches what was said while no session could be resumed, then tries again what could not be read.

Discord keeps no queue: after a new session only its REST history knows, of every channel, thread and known direct
conversation. What the messages mean is `translate`'s, when a gap is filled is decided by `ingest`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from operator import itemgetter

import structlog
from pydantic import JsonValue, TypeAdapter, ValidationError

from channels.base import Sink
from channels.chat.backfill import READ_ON, read_patiently, some_of
from channels.chat.refusals import ApiRefusal
from channels.clocks import Sleep
from channels.discord.channel_cache import READ_TYPES, Place, place_of
from channels.discord.config import Wake
from channels.discord.error_mapping import REFUSALS
from channels.discord.raw import RawChannel, RawMessage, RawThreads
from channels.discord.translate import (
    TranslationContext,
    explain_error,
    snowflake_at,
    to_message,
    to_rejected,
    validate,
)
from channels.discord.wire import DiscordWire
from channels.errors import ChannelError
from channels.foreign import whole_of
from channels.messages import ChatKind, InboundEvent, Rejected

HandIn = Callable[[Sequence[InboundEvent], Sequence[Rejected]], Awaitable[None]]

PAGE = 100
GUILDS_PAGE = 200

GUILD_PAGES = 20  # for each shard
"""More than a shard can hear of: 2,500 servers (Discord's documentation, 2026-09)."""
ARCHIVE_PAGES = 10  # of one channel's archived threads
AT_ONCE = 4
BATCH = 200  # messages handed in together
SORTED_AT_MOST = 5_000  # messages kept, to be handed in by their ids
OVERLAP_MS = 60_000  # ids of different machines of Discord's are not in perfect order; dedupe takes the rest
WITH_THREADS = frozenset({0, 5, 15, 16})  # text, announcements, forum, media

ALL = "all"  # in place of a server: the list of them
FAILURES = (ApiRefusal, ChannelError, ValidationError)

_CHANNELS = TypeAdapter(list[RawChannel])
_THREADS = TypeAdapter(RawThreads)
_log = structlog.get_logger()


@dataclass(slots=True)
class BackfillResult:
    """What a backfill came to."""

    channels: int = 0  # that had something
    messages: int = 0
    cut: list[str] = field(default_factory=list)  # channels that had more than is fetched
    unread: dict[Place, str] = field(default_factory=dict)  # channels that could not be read, and why
    unlisted: dict[str, str] = field(default_factory=dict)  # servers that did not list their channels, and why

    @property
    def whole(self) -> bool:
        """Whether there is nothing to be tried again."""
        return not self.unread and not self.unlisted

    @property
    def words(self) -> str:
        """What is missing, for health; "" where nothing is."""
        missing = []
        if self.cut:
            missing.append(f"{len(self.cut)} channels had more than is fetched: {some_of(self.cut)}")
        if self.unread:
            named = (f"{_kind(place)} {place.id} ({reason})" for place, reason in self.unread.items())
            missing.append(f"{len(self.unread)} were not read: {some_of(named)}")
        if self.unlisted:
            named = (f"{guild} ({reason})" for guild, reason in self.unlisted.items())
            missing.append(f"{len(self.unlisted)} servers did not list their channels: {some_of(named)}")
        return f"after a gap {'; '.join(missing)}" if missing else ""


class Backfill:
    """One gap of one bot."""

    def __init__(
        self,
        wire: DiscordWire,
        sink: Sink,
        context: TranslationContext,
        hand_in: HandIn,
        since: int,
        sleep: Sleep,
        clock: Callable[[], datetime],
    ) -> None:
        """`since` is the id of the message after which something was missed."""
        self._wire = wire
        self._sink = sink
        self._context = context
        self._hand_in = hand_in
        self._since = since
        self._sleep = sleep
        self._clock = clock
        self._result = BackfillResult()
        self._rooms_in_use: frozenset[str] = frozenset()  # channels and threads of servers where people talk to us
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._in_turn = asyncio.Lock()
        self._read_events: list[tuple[int, InboundEvent]] = []  # by message id
        self._read_bad: list[Rejected] = []

    async def fill(self) -> bool:
        """Read every channel of this shard once and hand in what was said, by its ids; returns when it is committed.

        False where something could not be read, which health then shows.
        """
        known = await self._sink.chats()
        self._rooms_in_use = frozenset(chat.thread or chat.chat for chat in known if not chat.direct)
        after = self._oldest()
        hears_direct = self._context.shard.hears(None)
        places = [Place(chat.chat) for chat in known if hears_direct and chat.direct and chat.chat.isdigit()]
        places += await self._in_servers([ALL], after)
        await self._read_all(places, after)
        result = self._result
        _log.info("gap_backfilled", channels=result.channels, messages=result.messages, asked=len(places))
        self._tell_missing()
        return result.whole

    async def read_on(self) -> None:
        """Try again what could not be read, until nothing is missing or it is older than what is fetched."""
        attempt, oldest = 0, 0
        while not self._result.whole and oldest < self._since:
            attempt += 1
            await self._sleep(READ_ON.wait_s(attempt))
            oldest = self._horizon()
            await self._read_again()
            self._tell_missing()
        if not self._result.whole:
            _log.error("gap_given_up", account=self._context.bot.account, detail=self._result.words)

    def _tell_missing(self) -> None:
        words = self._result.words
        self._sink.report_missing(self._context.shard.name(words) if words else "")

    async def _read_again(self) -> None:
        before, after = self._result, self._oldest()
        self._result = BackfillResult(cut=before.cut)
        places = [*before.unread, *await self._in_servers(before.unlisted, after)]
        await self._read_all(places, after)

    def _horizon(self) -> int:
        """The id before which nothing is fetched any more."""
        return snowflake_at(1000 * self._clock().timestamp() - self._context.config.backfill_hours * 3_600_000)

    def _oldest(self) -> int:
        return max(self._horizon(), self._since - (OVERLAP_MS << 22))

    async def _read_all(self, places: Iterable[Place], after: int) -> None:
        async with asyncio.TaskGroup() as tasks:
            for place in dict.fromkeys(places):
                tasks.create_task(self._channel(place, self._after(place, after)))
        await self._hand_over()
        if self._result.words:
            _log.warning(
                "gap_not_filled",
                detail=self._result.words,
                cut=self._result.cut[:20],
                unread=_ids(self._result.unread)[:20],
            )

    def _after(self, place: Place, after: int) -> int:
        """In a server we came to lately, only what was said since."""
        return max(after, snowflake_at(self._context.channels.joined_ms.get(place.guild or "", 0)))

    # ------------------------------------------------------------ where

    async def _in_servers(self, guilds: Iterable[str], after: int) -> list[Place]:
        """The places of these servers; one that does not list them holds up no other."""
        places: list[Place] = []
        for asked in guilds:
            try:
                for guild in await self._guilds() if asked == ALL else [asked]:
                    try:
                        places += await self._places(guild, after)
                    except FAILURES as failure:
                        self._result.unlisted[guild] = _explain(failure)
            except FAILURES as failure:
                self._result.unlisted[asked] = _explain(failure)
        return places

    async def _guilds(self) -> list[str]:
        """The servers we are in that this shard hears of."""
        guilds: dict[str, None] = {}
        after, shard = "0", self._context.shard
        for _ in range(GUILD_PAGES * shard.count):
            page = await self._read("/users/@me/guilds", limit=str(GUILDS_PAGE), after=after)
            ids = [str(number) for guild in _objects(page) if (number := _id_of(guild))]
            guilds.update(dict.fromkeys(id_ for id_ in ids if shard.hears(id_)))
            if len(ids) < GUILDS_PAGE or ids[-1] == after:
                break
            after = ids[-1]
        return list(guilds)

    async def _places(self, guild: str, after: int) -> list[Place]:
        """The channels and threads of a server that may have something newer."""
        channels = _CHANNELS.validate_python(await self._read(f"/guilds/{guild}/channels") or [])
        threads = _THREADS.validate_python(await self._read(f"/guilds/{guild}/threads/active") or {}).threads
        for raw in channels:
            self._context.channels.put(place_of(raw, guild))
        for raw in channels:
            if raw.type in WITH_THREADS and self._context.config.wake_in(raw.id, None) is not Wake.OFF:
                threads += await self._fetch_archived(raw.id, after)
        return [place for raw in (*channels, *threads) if (place := self._to_place(raw, guild, after)) is not None]

    def _to_place(self, raw: RawChannel, guild: str, after: int) -> Place | None:
        """The place, if it is read at all and something newer may be there; what is unknown may be."""
        place = place_of(raw, guild)
        self._context.channels.put(place)
        is_off = raw.type not in READ_TYPES or self._context.config.wake_in(place.id, place.parent) is Wake.OFF
        return None if is_off or 0 < place.last_message <= after else place

    async def _fetch_archived(self, channel: str, after: int) -> list[RawChannel]:
        """Threads that fell asleep during the gap: they are not among the active ones. The latest archived come first.

        Where we may not look nothing was ever heard, either.
        """
        threads: list[RawChannel] = []
        query = {"limit": str(PAGE)}
        for _ in range(ARCHIVE_PAGES):
            try:
                page = await self._read(f"/channels/{channel}/threads/archived/public", **query)
                listed = _THREADS.validate_python(page or {}).threads
                fresh = [thread for thread in listed if _newest(thread) > after]
            except (ApiRefusal, ValidationError):
                return threads
            threads += fresh
            raw = _objects(page.get("threads")) if isinstance(page, dict) else []
            details = raw[-1].get("thread_metadata") if raw else None
            before = details.get("archive_timestamp") if isinstance(details, dict) else None
            if not fresh or not isinstance(before, str) or not (isinstance(page, dict) and page.get("has_more")):
                return threads
            query["before"] = before
        self._result.cut.append(channel)
        return threads

    # ------------------------------------------------------------ what

    async def _channel(self, place: Place, after: int) -> None:
        """One channel's messages; why, where it cannot be read."""
        async with self._slots:
            messages: dict[int, dict[str, JsonValue]] = {}
            try:
                await self._pages(place, after, messages)
            except FAILURES as failure:
                in_use = place.kind is ChatKind.DIRECT or place.id in self._rooms_in_use
                if in_use or not isinstance(failure, ApiRefusal):  # else it is hidden from us, as it was before
                    self._result.unread[place] = _explain(failure)
            self._result.messages += len(messages)
            self._result.channels += bool(messages)
            self._take(place, messages)
        if len(self._read_events) >= SORTED_AT_MOST:
            await self._hand_over()

    async def _pages(self, place: Place, after: int, read: dict[int, dict[str, JsonValue]]) -> None:
        """Everything after an id, page by page, in whatever order a page has it."""
        while True:
            page = _objects(await self._read(f"/channels/{place.id}/messages", limit=str(PAGE), after=str(after)))
            before = len(read)
            for number, message in enumerate(page):
                read.setdefault(_id_of(message) or -(before + number + 1), message)
            newest = max(read, default=after)
            if len(page) < PAGE or newest <= after:
                return
            if len(read) >= self._context.config.backfill_messages:
                self._result.cut.append(place.id)
                return
            after = newest

    def _take(self, place: Place, messages: dict[int, dict[str, JsonValue]]) -> None:
        """Understand what was read of one channel."""
        self._context.channels.put(place)
        for id_ in sorted(messages):
            try:
                event = to_message(validate(RawMessage, messages[id_]), self._context)
            except ValidationError as error:
                self._read_bad.append(to_rejected("MESSAGE_CREATE", None, messages[id_], explain_error(error)))
            else:
                self._read_events += [] if event is None else [(id_, event)]

    async def _hand_over(self) -> None:
        """Hand in what was read so far, in the order of the ids."""
        async with self._in_turn:
            read, self._read_events = self._read_events, []
            bad, self._read_bad = self._read_bad, []
            events = [event for _, event in sorted(read, key=itemgetter(0))]
            for begin in range(0, len(events), BATCH):
                await self._hand_in(events[begin : begin + BATCH], ())
            if bad:
                await self._hand_in((), bad)

    async def _read(self, path: str, **query: str) -> JsonValue:
        """A GET, insisted on.

        Raises:
            ApiRefusal: we may not look there, or it is gone.
            Retryable: no answer, however often it was asked.
        """
        read = partial(self._wire.call, "GET", path, query=query)
        return await read_patiently(read, REFUSALS.to_channel_error, self._sleep)


def _objects(page: JsonValue) -> list[dict[str, JsonValue]]:
    return [entry for entry in page if isinstance(entry, dict)] if isinstance(page, list) else []


def _id_of(message: dict[str, JsonValue]) -> int:
    return whole_of(message.get("id")) or 0


def _explain(failure: Exception) -> str:
    if isinstance(failure, ApiRefusal):
        return str(failure.status)
    return explain_error(failure) if isinstance(failure, ValidationError) else str(failure)[:80]


def _newest(raw: RawChannel) -> int:
    return int(raw.last_message_id or raw.id)


def _kind(place: Place) -> str:
    return "direct chat" if place.kind is ChatKind.DIRECT else "channel"


def _ids(places: Iterable[Place]) -> list[str]:
    return [place.id for place in places]
