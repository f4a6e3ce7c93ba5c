"""After a gap: what was said meanwhile, out of the chats' histories. Which part of it is new, the inbox decides."""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from weakref import WeakValueDictionary

import structlog
from pydantic import JsonValue, ValidationError

from channels.base import KnownChat
from channels.chat.backfill import READ_ON, read_patiently, some_of
from channels.chat.refusals import ApiRefusal
from channels.clocks import Sleep, wall_now
from channels.errors import ChannelError, Permanent
from channels.foreign import JsonObject
from channels.messages import InboundMessage
from channels.slack.cursor import later
from channels.slack.error_mapping import MISSING_SCOPE, is_operators_matter, to_channel_error, where_to_mend
from channels.slack.names import spoken_of
from channels.slack.raw import RawMessage
from channels.slack.receiving import Receiver, chat_of
from channels.slack.translate import is_ours, translate_edit, translate_message
from channels.slack.wire import SlackWire

OVERLAP_S = 120.0  # read again before the resume point: what came out of order was perhaps not committed
PAGE = 200
PAGES_AT_MOST = 10  # of one chat or thread
LISTED_PAGES = 100  # of the chats we are in
READ_ON_TIMES = 144  # a day of them
ASLEEP = timedelta(days=30)  # a thread that was not heard for so long is not looked into: each costs a call

TYPES = ("public_channel", "private_channel", "mpim", "im")  # each needs a scope of its own
COMMAND_WAITS_S = 0.5  # for what was missed in its chat: who used it is to be answered within a second

CHATS = "the list of our chats"  # in place of a chat

Arguments = dict[str, str | int | bool]

_log = structlog.get_logger()


@dataclass(slots=True)
class _Missing:
    """What could not be read after gaps."""

    unread: dict[str, tuple[str, str]] = field(default_factory=dict)  # chat -> from which ts on, and why
    cut: dict[str, None] = field(default_factory=dict)  # chats or threads that had more than is read
    gaps: ExitStack = field(default_factory=ExitStack)  # holds the resume point where they begin
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def words(self) -> str:
        """For health; "" where nothing is missing."""
        missing = []
        if self.unread:
            named = [f"{chat} ({why})" for chat, (_, why) in self.unread.items()]
            missing.append(f"{len(named)} chats could not be read: {some_of(named)}")
        if self.cut:
            most = PAGES_AT_MOST * PAGE
            missing.append(f"{len(self.cut)} chats had more than {most} messages: {some_of(self.cut)}")
        return f"what was said meanwhile could not be read: {'; '.join(missing)}" if missing else ""


class _Gap:
    """The chats of a gap whose histories are still to be read."""

    def __init__(self) -> None:
        self._left: dict[str, None] | None = None  # None: they are not listed yet
        self._awaited: dict[str, asyncio.Event] = {}  # chats in which new events wait, until they are read

    def list(self, chats: Iterable[str]) -> None:
        """Note which chats are to be read, and let the new events of all others go on."""
        self._left = dict.fromkeys(chats)
        for chat in [chat for chat in self._awaited if chat not in self._left]:
            self._awaited.pop(chat).set()

    def chats(self) -> Iterator[str]:
        """Yield each chat, to be read before the next is asked for; one in which new events wait goes first."""
        while self._left:
            chat = next((awaited for awaited in self._awaited if awaited in self._left), next(iter(self._left)))
            yield chat
            del self._left[chat]
            if chat in self._awaited:
                self._awaited.pop(chat).set()

    async def wait_for(self, chat: str) -> None:
        """Return once a chat is read, or does not have to be."""
        if self._left is None or chat in self._left:
            await self._awaited.setdefault(chat, asyncio.Event()).wait()


class Backfill:
    """Asks for what was missed, and goes on asking for what could not be read."""

    def __init__(self, wire: SlackWire, receiver: Receiver, sleep: Sleep, wait_s: float) -> None:
        """A new event waits at most `wait_s` for what was missed in its chat."""
        self._wait_s = wait_s
        self._wire = wire
        self._receiver = receiver
        self._sleep = sleep
        self._missing = _Missing()
        self._gaps: list[_Gap] = []  # those that are being read
        self._lines: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # of waiting events, by chat

    async def wait_for(self, body: object, *, is_event: bool) -> None:
        """Let what was missed in the chat of a delivery go first; before a command only if that does not take long."""
        chat = chat_of(body)
        line = self._lines.setdefault(chat, asyncio.Lock())
        with suppress(TimeoutError):
            async with asyncio.timeout(self._wait_s if is_event else min(self._wait_s, COMMAND_WAITS_S)), line:
                for gap in list(self._gaps):
                    await gap.wait_for(chat)

    def run(self, since: str | None = None) -> Coroutine[None, None, None]:
        """Offer everything since a ts; None: since the resume point, and nothing at first contact.

        New events wait for it from this call on. What cannot be read is told, and left to `read_on`.
        """
        gap = _Gap()
        self._gaps.append(gap)
        return self._run(gap, since or self._receiver.resume_point.ts)

    async def _run(self, gap: _Gap, since: str) -> None:
        try:
            if since == "0":
                return
            self._missing.cut.clear()
            with self._receiver.resume_point.filling(since):
                await self._fill(CHATS, f"{max(0.0, float(since) - OVERLAP_S):.6f}", gap)
                if self._missing.unread:
                    self._missing.gaps.enter_context(self._receiver.resume_point.filling(since))
        finally:
            self._gaps.remove(gap)
            gap.list(())
        self._tell()
        self._missing.news.set()

    async def read_on(self) -> None:
        """Try again what could not be read, for ever; until it is, the resume point stays where the gap begins."""
        while True:
            await self._missing.news.wait()
            for tries in range(1, READ_ON_TIMES + 1):
                if not self._missing.unread:
                    break
                await self._sleep(READ_ON.wait_s(tries))
                unread, self._missing.unread = self._missing.unread, {}
                for chat, (oldest, _) in unread.items():
                    await self._fill(chat, oldest, _Gap())
                self._tell()
            else:
                _log.error("gap_given_up", account=self._receiver.bot.account, detail=self._missing.words)
                self._missing.unread = {}  # health keeps it until the next gap
            self._missing.news.clear()
            self._missing.gaps.close()

    def _tell(self) -> None:
        words = self._missing.words
        if words:
            unread = list(self._missing.unread)[:50]
            _log.warning("backfill_incomplete", account=self._receiver.bot.account, detail=words, unread=unread)
        self._receiver.sink.report_missing(words)

    async def _fill(self, asked: str, oldest: str, gap: _Gap) -> None:
        """Read a chat, or all of them; one that cannot be read holds up no other."""
        known = await self._receiver.sink.chats()
        threads = _threads([*_awake(known, wall_now()), *self._receiver.resume_point.lately()])
        gap.list(await self._chats(known, oldest) if asked == CHATS else [asked])
        for chat in gap.chats():
            try:
                await self._chat(chat, oldest, threads.get(chat, []))
            except ApiRefusal as refusal:
                self._note_refusal(chat, oldest, refusal)
            except ChannelError as failure:
                self._missing.unread[chat] = (oldest, str(failure)[:80])

    def _note_refusal(self, chat: str, oldest: str, refusal: ApiRefusal) -> None:
        if refusal.code == MISSING_SCOPE:  # then its events do not come, either
            why = where_to_mend(refusal)
            _log.info("backfill_refused", account=self._receiver.bot.account, chat=chat, error=why)
        else:
            self._missing.unread[chat] = (oldest, refusal.code)

    # ------------------------------------------------------------ where

    async def _chats(self, known: Sequence[KnownChat], oldest: str) -> list[str]:
        """The chats last heard from, newest first, then all others we are in; none that we have left."""
        heard = dict.fromkeys(known_chat.chat for known_chat in known)
        heard |= dict.fromkeys(reversed(self._receiver.resume_point.chats))
        try:
            listed = dict.fromkeys(await self._memberships())
        except ApiRefusal as refusal:
            self._missing.unread[CHATS] = (oldest, refusal.code)
        except ChannelError as failure:
            self._missing.unread[CHATS] = (oldest, str(failure)[:80])
        else:
            heard = {chat: None for chat in heard if chat in listed or chat.startswith("D")} | listed
        return list(heard)

    async def _memberships(self) -> list[str]:
        """The chats we are in; where a scope is missing, those of the kinds that we may ask for."""
        try:
            return await self._list_chats(",".join(TYPES))
        except ApiRefusal as refusal:
            if refusal.code != MISSING_SCOPE:
                raise
        found: list[str] = []
        for kind in TYPES:
            try:
                found += await self._list_chats(kind)
            except ApiRefusal as refusal:
                if refusal.code != MISSING_SCOPE:
                    raise
                _log.info(
                    "backfill_refused", account=self._receiver.bot.account, kind=kind, error=where_to_mend(refusal)
                )
        return found

    async def _list_chats(self, kinds: str) -> list[str]:
        arguments: Arguments = {"types": kinds, "exclude_archived": True, "limit": PAGE}
        found: list[str] = []
        for _ in range(LISTED_PAGES):
            answer = await self._call("users.conversations", arguments)
            listed = answer.get("channels")
            ids = (
                [conversation.get("id") for conversation in listed if isinstance(conversation, dict)]
                if isinstance(listed, list)
                else []
            )
            found += [chat_id for chat_id in ids if isinstance(chat_id, str)]
            cursor = _next(answer)
            if not cursor:
                return found
            arguments["cursor"] = cursor
        self._missing.cut[CHATS] = None
        return found

    # ------------------------------------------------------------ what

    async def _chat(self, chat: str, oldest: str, known: list[str]) -> None:
        """One chat and its threads: those that are known, and all that were begun in the gap."""
        said = await self._pages("conversations.history", {"channel": chat, "oldest": oldest, "inclusive": True})
        resume_point = self._receiver.resume_point
        for message in said:
            if message.thread_ts is not None and self._receiver.bot.user in message.reply_users:
                resume_point.join(chat, message.thread_ts)
        begun = [message.ts for message in said if message.reply_users]
        for thread in dict.fromkeys([*begun, *known]):
            said += await self._replies(chat, thread, oldest)
        spoken = [user for message in said for user in spoken_of(message.user, message.text)]
        await self._receiver.names.learn(dict.fromkeys(spoken))
        in_order = sorted({message.ts: message for message in said}.values(), key=lambda message: float(message.ts))
        await self._hand_in([event for message in in_order for event in self._events(message, chat, oldest)])

    async def _replies(self, chat: str, thread: str, oldest: str) -> list[RawMessage]:
        """What was said in a thread, without its root; nothing of one that was deleted."""
        arguments: Arguments = {"channel": chat, "ts": thread, "oldest": oldest, "inclusive": True}
        try:
            return [reply for reply in await self._pages("conversations.replies", arguments) if reply.ts != thread]
        except ApiRefusal as refusal:
            if refusal.code in ("thread_not_found", "message_not_found"):
                return []
            raise

    def _events(self, message: RawMessage, chat: str, oldest: str) -> list[InboundMessage]:
        """What a message of the history says: itself, and a change of it since. A thread it calls us to is ours."""
        bot, context = self._receiver.bot, self._receiver.context
        if is_ours(message, bot):
            return []
        said = translate_message(message, chat, bot, context) if later(message.ts, oldest) else None
        changed = translate_edit(message, chat, bot, context)
        events = [event for event in (said, changed) if event is not None]
        for event in events:
            if event.mentions_bot and event.address.thread is not None:
                self._receiver.resume_point.join(
                    chat, event.address.thread
                )  # what comes behind it is meant for us, too
        return events

    async def _hand_in(self, events: list[InboundMessage]) -> None:
        for begin in range(0, len(events), PAGE):
            await self._receiver.hand_in(events[begin : begin + PAGE])

    async def _pages(self, method: str, arguments: Arguments) -> list[RawMessage]:
        """All pages of a history, unreadable messages left out."""
        found: list[RawMessage] = []
        cursor = ""
        for _ in range(PAGES_AT_MOST):
            asked: Arguments = {**arguments, "limit": PAGE}
            if cursor:
                asked["cursor"] = cursor
            answer = await self._call(method, asked)
            found += _messages(answer.get("messages"))
            cursor = _next(answer)
            if not cursor:
                return found
        self._missing.cut[str(arguments["channel"])] = None
        return found

    async def _call(self, method: str, arguments: Arguments) -> JsonObject:
        return await read_patiently(lambda: self._wire.get(method, **arguments), _to_final, self._sleep)


def _to_final(refusal: ApiRefusal) -> ChannelError:
    """Return what a refusal means; what the operator has to mend is not asked for again."""
    return Permanent(str(refusal)) if is_operators_matter(refusal) else to_channel_error(refusal)


def _awake(known: Iterable[KnownChat], now: datetime) -> Iterable[tuple[str, str]]:
    """The threads of groups that are worth a look, as chat and thread."""
    for chat in known:
        if chat.thread is not None and not chat.direct and (chat.heard_at is None or now - chat.heard_at < ASLEEP):
            yield chat.chat, chat.thread


def _threads(named: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Threads by chat, each once."""
    found: dict[str, list[str]] = {}
    for chat, thread in dict.fromkeys(named):
        found.setdefault(chat, []).append(thread)
    return found


def _next(answer: JsonObject) -> str:
    """Where the next page begins; "" behind the last."""
    metadata = answer.get("response_metadata")
    return str(metadata.get("next_cursor") or "") if isinstance(metadata, dict) else ""


def _messages(raw: JsonValue) -> list[RawMessage]:
    found = []
    for message in raw if isinstance(raw, list) else []:
        try:
            found.append(RawMessage.model_validate(message))
        except ValidationError:
            _log.warning("history_unreadable")
    return found
