"""Reading of Slack's histories after a time without a connection.

A live event waits, for a limited time, until its chat's older messages of the gap are committed.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple
from weakref import WeakValueDictionary

import structlog
from pydantic import JsonValue, ValidationError

from channels.base import KnownChat
from channels.chat.backfill import Backfill, HistoryBounds, Listing, Page, read_patiently
from channels.chat.refusals import ApiRefusal
from channels.clocks import Sleep, wall_now
from channels.errors import ChannelError, Permanent
from channels.foreign import JsonObject
from channels.messages import InboundMessage
from channels.slack.error_mapping import MISSING_SCOPE, is_operators_matter, to_channel_error, where_to_mend
from channels.slack.names import people_named
from channels.slack.raw import RawMessage
from channels.slack.receiving import Receiver, chat_of
from channels.slack.translate import is_ours, translate_edit, translate_message
from channels.slack.wire import SlackWire, next_cursor

OVERLAP_S = 120.0  # read again before the resume point, since events arrive out of order
PAGE = 200
LISTED_PAGES = 100  # of the chats we are in
BOUNDS = HistoryBounds(at_once=4, pages=10, together=0)
THREAD_IDLE = timedelta(days=30)  # older threads are not read: each costs a call
COMMAND_WAITS_S = 0.5  # for older messages: Slack wants an answer within a second

TYPES = ("public_channel", "private_channel", "mpim", "im")  # each needs a scope of its own

Arguments = dict[str, str | int | bool]

_log = structlog.get_logger()


class SlackPlace(NamedTuple):
    """A chat, or one of its threads."""

    chat: str
    thread: str | None = None  # ts of its first message


class SlackGaps:
    """The gaps of one app, and the order of live events after them."""

    def __init__(self, wire: SlackWire, receiver: Receiver, sleep: Sleep, wait_s: float) -> None:
        """Take the longest wait of a live event in seconds."""
        self._resume_point = receiver.resume_point
        self._wait_s = wait_s
        self._begun = asyncio.Event()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # of live events, by chat
        histories, report = Histories(wire, receiver, sleep), receiver.sink.report_missing
        self._backfill = Backfill(histories, receiver.hand_in, report, sleep, receiver.bot.account)

    def expect(self) -> None:
        """Let events wait until `fill` is called."""
        self._begun.clear()

    async def fill(self, tasks: asyncio.TaskGroup, since: str | None = None) -> None:
        """Commit everything since a ts; None: since the resume point, which at first contact means nothing.

        The resume point stays at the gap's start until all is read; a background task retries what cannot be read now.
        """
        since = since or self._resume_point.ts
        self._begun.set()
        self._resume_point.hold(since)
        if await self._backfill.fill(float(since)):
            self._resume_point.release(since)
        else:
            tasks.create_task(self._read_on(since))

    async def _read_on(self, since: str) -> None:
        await self._backfill.read_on()
        self._resume_point.release(since)

    async def wait_for_older(self, body: Mapping[str, object]) -> None:
        """Return when the chat's older messages are committed, or after a time limit, which is short for a command.

        Deliveries of one chat keep their order.
        """
        chat = chat_of(body)
        lock = self._locks.setdefault(chat, asyncio.Lock())
        is_event = body.get("type") == "event_callback"
        with suppress(TimeoutError):
            async with asyncio.timeout(self._wait_s if is_event else min(self._wait_s, COMMAND_WAITS_S)), lock:
                await self._begun.wait()
                await self._backfill.until_read(SlackPlace(chat))


class Histories:
    """The histories that one app may read."""

    bounds = BOUNDS

    def __init__(self, wire: SlackWire, receiver: Receiver, sleep: Sleep) -> None:
        self._wire = wire
        self._receiver = receiver
        self._sleep = sleep
        self._threads: dict[str, list[str]] = {}  # by chat: threads in which people talked to us

    # ------------------------------------------------------------ places

    async def list_places(self, name: str, since: float) -> Listing[SlackPlace]:
        """Return the recently active chats, newest first, then all others we are in; none that we have left."""
        if since == 0:
            return Listing()
        receiver = self._receiver
        known = await receiver.sink.chats()
        self._threads = _by_chat([*_recently_active(known, wall_now()), *receiver.resume_point.recent_threads()])
        heard = dict.fromkeys(chat.chat for chat in known) | dict.fromkeys(reversed(receiver.resume_point.chats))
        listing = Listing[SlackPlace]()
        try:
            listed = dict.fromkeys(await self._memberships(listing))
        except (ApiRefusal, ChannelError) as failure:
            listing.unlisted[name] = _explain(failure)
        else:
            heard = {chat: None for chat in heard if chat in listed or chat.startswith("D")} | listed
        listing.places = [SlackPlace(chat) for chat in heard]
        return listing

    async def _memberships(self, listing: Listing[SlackPlace]) -> list[str]:
        """Return the chats we are in; if a scope is missing, those of the kinds that we may ask for."""
        try:
            return await self._list_chats(",".join(TYPES), listing)
        except ApiRefusal as refusal:
            if refusal.code != MISSING_SCOPE:
                raise
        found: list[str] = []
        for kind in TYPES:
            try:
                found += await self._list_chats(kind, listing)
            except ApiRefusal as refusal:
                if refusal.code != MISSING_SCOPE:
                    raise
                self._log_missing_scope(kind, refusal)
        return found

    async def _list_chats(self, kinds: str, listing: Listing[SlackPlace]) -> list[str]:
        arguments: Arguments = {"types": kinds, "exclude_archived": True, "limit": PAGE}
        found: list[str] = []
        for _ in range(LISTED_PAGES):
            answer = await self._call("users.conversations", arguments)
            channels = answer.get("channels")
            for channel in channels if isinstance(channels, list) else []:
                chat = channel.get("id") if isinstance(channel, dict) else None
                found += [chat] if isinstance(chat, str) else []
            if not (cursor := next_cursor(answer)):
                return found
            arguments["cursor"] = cursor
        listing.cut.append("the list of chats")
        return found

    # ------------------------------------------------------------ messages

    async def read_page(self, place: SlackPlace, since: float, start: str) -> Page[SlackPlace, RawMessage]:
        """Return a page of a chat or a thread, and the chat's known and new threads.

        A thread comes without its first message, which is in the chat; a deleted thread is empty.
        """
        oldest = f"{max(0.0, since - OVERLAP_S):.6f}"
        arguments: Arguments = {"channel": place.chat, "oldest": oldest, "inclusive": True, "limit": PAGE}
        arguments |= {"cursor": start} if start else {}
        try:
            if place.thread is None:
                answer = await self._call("conversations.history", arguments)
            else:
                answer = await self._call("conversations.replies", {**arguments, "ts": place.thread})
        except ApiRefusal as refusal:
            if place.thread is not None and refusal.code in ("thread_not_found", "message_not_found"):
                return Page()
            raise
        messages = [message for message in _messages(answer.get("messages")) if message.ts != place.thread]
        begun = [message.ts for message in messages if message.reply_users]
        for message in messages:
            if message.thread_ts is not None and self._receiver.bot.user in message.reply_users:
                self._receiver.resume_point.join(place.chat, message.thread_ts)
        spoken = [user for message in messages for user in people_named(message.user, message.text)]
        await self._receiver.names.learn(dict.fromkeys(spoken))
        known = [] if place.thread is not None or start else self._threads.get(place.chat, [])
        threads = [SlackPlace(place.chat, thread) for thread in (*known, *begun)]
        return Page([(float(message.ts), message) for message in messages], next_cursor(answer), threads)

    def to_events(self, place: SlackPlace, message: RawMessage) -> Sequence[InboundMessage]:
        """Return a message and its latest edit; a mention of us in a thread makes us join it."""
        bot, context = self._receiver.bot, self._receiver.context
        if is_ours(message, bot):
            return ()
        said = translate_message(message, place.chat, bot, context)
        changed = translate_edit(message, place.chat, bot, context)
        events = [event for event in (said, changed) if event is not None]
        for event in events:
            if event.mentions_bot and event.address.thread is not None:
                self._receiver.resume_point.join(place.chat, event.address.thread)  # later replies are for us, too
        return events

    def explain(self, place: SlackPlace, failure: Exception) -> str | None:
        """Return the reason a chat cannot be read; None for a missing scope, without which its events do not arrive
        either.
        """
        if isinstance(failure, ApiRefusal) and failure.code == MISSING_SCOPE:
            self._log_missing_scope(place.chat, failure)
            return None
        return _explain(failure)

    def name(self, place: SlackPlace) -> str:
        """Return the chat's id."""
        return place.chat if place.thread is None else f"{place.chat}:{place.thread}"

    def _log_missing_scope(self, asked: str, refusal: ApiRefusal) -> None:
        error = where_to_mend(refusal)
        _log.info("backfill_refused", account=self._receiver.bot.account, asked=asked, error=error)

    async def _call(self, method: str, arguments: Arguments) -> JsonObject:
        return await read_patiently(lambda: self._wire.get(method, **arguments), _to_final, self._sleep)


def _to_final(refusal: ApiRefusal) -> ChannelError:
    """Return the error for a refusal; permanent if the operator must act, so that it is not retried."""
    return Permanent(str(refusal)) if is_operators_matter(refusal) else to_channel_error(refusal)


def _explain(failure: Exception) -> str:
    return failure.code if isinstance(failure, ApiRefusal) else str(failure)[:80]


def _recently_active(known: Iterable[KnownChat], now: datetime) -> Iterable[tuple[str, str]]:
    """Return the recently active threads of groups, as chat and thread."""
    for chat in known:
        if chat.thread is not None and not chat.direct and (chat.heard_at is None or now - chat.heard_at < THREAD_IDLE):
            yield chat.chat, chat.thread


def _by_chat(threads: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return threads by chat, each once."""
    found: dict[str, list[str]] = {}
    for chat, thread in dict.fromkeys(threads):
        found.setdefault(chat, []).append(thread)
    return found


def _messages(raw: JsonValue) -> list[RawMessage]:
    found = []
    for message in raw if isinstance(raw, list) else []:
        try:
            found.append(RawMessage.model_validate(message))
        except ValidationError:
            _log.warning("history_unreadable")
    return found
