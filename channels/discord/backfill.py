"""Reading of Discord's histories after a new session, which replays nothing: channels, threads and known direct chats.

`ingest` decides when a gap is filled, `channels.chat.backfill` reads it.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from pydantic import JsonValue, TypeAdapter, ValidationError

from channels.base import Sink
from channels.chat.backfill import EVERYTHING, FAILURES, HistoryBounds, Listing, Page, read_patiently
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
from channels.foreign import JsonObject, whole_of
from channels.messages import ChatKind, InboundEvent, Rejected

PAGE = 100
GUILDS_PAGE = 200

GUILD_PAGES = 20  # for each shard
"""Pages of servers; more than a shard can have: 2,500 servers (Discord's documentation, 2026-09)."""
ARCHIVE_PAGES = 10  # of one channel's archived threads
AT_ONCE = 4
SORTED_AT_MOST = 5_000  # messages of all channels, handed in by their ids
OVERLAP_MS = 60_000  # ids of different machines of Discord's are not in perfect order; dedupe takes the rest
WITH_THREADS = frozenset({0, 5, 15, 16})  # text, announcements, forum, media

_CHANNELS = TypeAdapter(list[RawChannel])
_THREADS = TypeAdapter(RawThreads)


class Histories:
    """The histories that one shard of a bot may read."""

    def __init__(
        self,
        wire: DiscordWire,
        sink: Sink,
        context: TranslationContext,
        sleep: Sleep,
        clock: Callable[[], datetime],
    ) -> None:
        self._wire = wire
        self._sink = sink
        self._context = context
        self._sleep = sleep
        self._clock = clock
        self._rooms_in_use: frozenset[str] = frozenset()  # channels and threads of servers where people talk to us
        self.bounds = HistoryBounds(AT_ONCE, -(-context.config.backfill_messages // PAGE), SORTED_AT_MOST)

    # ------------------------------------------------------------ places

    async def list_places(self, name: str, since: float) -> Listing[Place]:
        """Return the places of a server, or of all; a server that cannot be listed stops no other."""
        listing = Listing[Place]()
        if name == EVERYTHING:
            known = await self._sink.chats()
            self._rooms_in_use = frozenset(chat.thread or chat.chat for chat in known if not chat.direct)
            if self._context.shard.receives(None):
                listing.places = [Place(chat.chat) for chat in known if chat.direct and chat.chat.isdigit()]
        try:
            guilds = await self._guilds() if name == EVERYTHING else [name]
        except FAILURES as failure:
            listing.unlisted[name] = _explain(failure)
            return listing
        for guild in guilds:
            try:
                listing.places += await self._places(guild, self._oldest(since), listing)
            except FAILURES as failure:
                listing.unlisted[guild] = _explain(failure)
        return listing

    async def _guilds(self) -> list[str]:
        """Return the servers we are in that this shard receives of."""
        guilds: dict[str, None] = {}
        after, shard = "0", self._context.shard
        for _ in range(GUILD_PAGES * shard.count):
            page = await self._get("/users/@me/guilds", limit=str(GUILDS_PAGE), after=after)
            ids = [str(number) for guild in _objects(page) if (number := _id_of(guild))]
            guilds.update(dict.fromkeys(id_ for id_ in ids if shard.receives(id_)))
            if len(ids) < GUILDS_PAGE or ids[-1] == after:
                break
            after = ids[-1]
        return list(guilds)

    async def _places(self, guild: str, after: int, listing: Listing[Place]) -> list[Place]:
        """Return the channels and threads of a server that may have something newer."""
        channels = _CHANNELS.validate_python(await self._get(f"/guilds/{guild}/channels") or [])
        threads = _THREADS.validate_python(await self._get(f"/guilds/{guild}/threads/active") or {}).threads
        for raw in channels:
            self._context.channels.put(place_of(raw, guild))
        for raw in channels:
            if raw.type in WITH_THREADS and self._context.config.wake_in(raw.id, None) is not Wake.OFF:
                threads += await self._fetch_archived(raw.id, after, listing)
        return [place for raw in (*channels, *threads) if (place := self._to_place(raw, guild, after)) is not None]

    def _to_place(self, raw: RawChannel, guild: str, after: int) -> Place | None:
        """Return the place if the bot reads it and it may have something newer."""
        place = place_of(raw, guild)
        self._context.channels.put(place)
        is_off = raw.type not in READ_TYPES or self._context.config.wake_in(place.id, place.parent) is Wake.OFF
        return None if is_off or 0 < place.last_message <= after else place

    async def _fetch_archived(self, channel: str, after: int, listing: Listing[Place]) -> list[RawChannel]:
        """Return threads that were archived during the gap, latest first; the list of active threads lacks them.

        A channel that refuses the list is skipped: the bot never had access to it.
        """
        threads: list[RawChannel] = []
        query = {"limit": str(PAGE)}
        for _ in range(ARCHIVE_PAGES):
            try:
                page = await self._get(f"/channels/{channel}/threads/archived/public", **query)
                listed = _THREADS.validate_python(page or {}).threads
                fresh = [thread for thread in listed if int(thread.last_message_id or thread.id) > after]
            except (ApiRefusal, ValidationError):
                return threads
            threads += fresh
            raw = _objects(page.get("threads")) if isinstance(page, dict) else []
            details = raw[-1].get("thread_metadata") if raw else None
            before = details.get("archive_timestamp") if isinstance(details, dict) else None
            if not fresh or not isinstance(before, str) or not (isinstance(page, dict) and page.get("has_more")):
                return threads
            query["before"] = before
        listing.cut.append(channel)
        return threads

    # ------------------------------------------------------------ messages

    async def read_page(self, place: Place, since: float, start: str) -> Page[Place, JsonObject]:
        """Return the next messages of a channel, the oldest page first; if we joined the server recently, those since
        then.
        """
        joined = snowflake_at(self._context.channels.joined_ms.get(place.guild or "", 0))
        after = start or str(max(self._oldest(since), joined))
        page = _objects(await self._get(f"/channels/{place.id}/messages", limit=str(PAGE), after=after))
        messages = [(_id_of(message) or -int(after) - index, message) for index, message in enumerate(page)]
        newest = max([number for number, _ in messages], default=0)
        return Page(messages, str(newest) if len(page) == PAGE and newest > int(after) else "")

    def to_events(self, place: Place, message: JsonObject) -> Sequence[InboundEvent | Rejected]:
        """Return the message as an event."""
        self._context.channels.put(place)
        try:
            event = to_message(validate(RawMessage, message), self._context)
        except ValidationError as error:
            return (to_rejected("MESSAGE_CREATE", None, message, explain_error(error)),)
        return () if event is None else (event,)

    def explain(self, place: Place, failure: Exception) -> str | None:
        """Return the reason a channel cannot be read; None for a channel that was always hidden from us."""
        in_use = place.kind is ChatKind.DIRECT or place.id in self._rooms_in_use
        return _explain(failure) if in_use or not isinstance(failure, ApiRefusal) else None

    def name(self, place: Place) -> str:
        """Return the channel's kind and id."""
        return f"{'direct chat' if place.kind is ChatKind.DIRECT else 'channel'} {place.id}"

    def _oldest(self, since: float) -> int:
        """Return the id after which to read: at most `backfill_hours` back."""
        limit_ms = 1000 * self._clock().timestamp() - self._context.config.backfill_hours * 3_600_000
        return max(snowflake_at(limit_ms), int(since) - (OVERLAP_MS << 22))

    async def _get(self, path: str, **query: str) -> JsonValue:
        read = partial(self._wire.call, "GET", path, query=query)
        return await read_patiently(read, REFUSALS.to_channel_error, self._sleep)


def _objects(page: JsonValue) -> list[JsonObject]:
    return [entry for entry in page if isinstance(entry, dict)] if isinstance(page, list) else []


def _id_of(message: JsonObject) -> int:
    return whole_of(message.get("id")) or 0


def _explain(failure: Exception) -> str:
    if isinstance(failure, ApiRefusal):
        return str(failure.status)
    return explain_error(failure) if isinstance(failure, ValidationError) else str(failure)[:80]
