"""The /sync loop: what people wrote is committed, together with the token from which the next /sync goes on.

A room whose timeline is cut is read back to the last token before anything of the answer is committed. Invitations are
accepted; who may talk is decided above.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

import orjson
import structlog

from channels.base import ChannelState, Sink
from channels.bounded_dict import BoundedDict
from channels.chat.offering import offer_until_stored
from channels.chat.reading import read_or_reject
from channels.chat.refusals import ApiRefusal
from channels.chat.retrying import Backoff, CallFailure, PersistentCaller
from channels.clocks import steady_now
from channels.errors import ChannelError
from channels.foreign import JsonObject
from channels.messages import InboundEvent, InboundMessage, Rejected
from tenk_matrix.config import MatrixAccount
from tenk_matrix.raw import Content, RawEvent, list_of, part_of
from tenk_matrix.translate import MatrixIdentity, MatrixRoom, to_rejected, translate, validate
from tenk_matrix.wire import CALL_S, LONG_CALL_S, MatrixWire, path_of, token_refused

BACKOFF = Backoff((0.5, 1.0, 2.0, 5.0, 15.0, 30.0))
JOIN_BACKOFF = Backoff((1.0, 5.0, 30.0, 120.0, 600.0))
MOST_JOINS = 10  # attempts at one invitation; a restart tries it again
POLL_S = 30  # a /sync without news returns after it
SOON_S = 0.1  # pause after an answer without news, which some servers give at once
BATCH = 200  # events committed together
PAGES, PAGE = 50, 100  # pages read back of one room, and events of a page
MOST_ROOMS, MOST_TASKS = 2_000, 200
GONE = (403, 404, 413)  # statuses of things that are not there, not for us, or too long to be read
NOTICE_SAID = "tenk.encrypted_notice"  # account data of a room in which it was said
EVENTS: JsonObject = {"types": ["m.room.message", "m.room.encrypted", "m.room.redaction", "m.room.member"]}
NONE: JsonObject = {"types": []}

_log = structlog.get_logger()


class MatrixSync:
    """One run of an account's connection."""

    def __init__(self, config: MatrixAccount, wire: MatrixWire, sink: Sink, tasks: asyncio.TaskGroup) -> None:
        """`tasks` is the parent of joins, receipts and notices."""
        self._config = config
        self._wire = wire
        self._sink = sink
        self._tasks = tasks
        self._calls = PersistentCaller(config.name, sink, asyncio.sleep, BACKOFF, "matrix_call_failed")
        self._members: BoundedDict[str, dict[str, str]] = BoundedDict(MOST_ROOMS)
        self._running: set[str] = set()  # names of the tasks
        self._missing = ""

    async def identify(self) -> MatrixIdentity:
        """Ask who we are until it is answered.

        Raises:
            ConfigRefused: the access token is refused; health is already FAILED.
        """
        user = str((await self._ask(path_of("account", "whoami"))).get("user_id"))
        profile = await self._ask(path_of("profile", user, "displayname"), may_lack=True)
        return MatrixIdentity(self._config.name, user, str(profile.get("displayname") or ""))

    async def run(self, bot: MatrixIdentity) -> None:
        """Receive until cancelled. Raises as `identify` does."""
        since = await self._sink.cursor()
        now = await self._sync(None)  # lists the invitations that are still open
        self._join(now)
        if since is None:
            since = str(now.get("next_batch"))
            await self._deliver([], since)
        while True:
            self._sink.report(ChannelState.READY)
            answer = await self._sync(since)
            self._join(answer)
            self._missing = ""
            found: list[InboundEvent | Rejected] = []
            for room, news in (part_of(answer, "rooms", "leave") | part_of(answer, "rooms", "join")).items():
                found += await self._read(room, part_of(news, "timeline"), bot, since)
            self._sink.report_missing(self._missing)
            before, since = since, str(answer.get("next_batch"))
            if since != before:
                await self._deliver(found, since)
            if not found:
                await asyncio.sleep(SOON_S)

    async def _sync(self, since: str | None) -> JsonObject:
        """Return the news since a token; without one, the end of each room and all open invitations."""
        timeline = EVENTS | {"limit": 1 if since is None else 50}
        room: JsonObject = {"timeline": timeline, "state": NONE, "ephemeral": NONE, "account_data": NONE}
        wanted = orjson.dumps({"presence": NONE, "account_data": NONE, "room": room}).decode()
        if since is None:
            return await self._ask(path_of("sync"), {"filter": wanted}, timeout_s=LONG_CALL_S)
        query = {"filter": wanted, "timeout": str(POLL_S * 1000), "since": since}
        return await self._ask(path_of("sync"), query, timeout_s=POLL_S + CALL_S)

    async def _ask(
        self, path: str, query: Mapping[str, str] | None = None, *, may_lack: bool = False, timeout_s: float = CALL_S
    ) -> JsonObject:
        """Read something until it is answered; with `may_lack`, return {} if it cannot be had."""

        async def call() -> JsonObject:
            try:
                return await self._wire.call("GET", path, query=query, timeout_s=timeout_s)
            except ApiRefusal as refusal:
                if may_lack and refusal.status in GONE:
                    return {}
                raise

        def explain(error: Exception) -> CallFailure:
            if not isinstance(error, ApiRefusal):
                return CallFailure(f"the homeserver cannot be reached: {error}")
            fatal = token_refused(self._config.name, error)
            return CallFailure(f"the homeserver refuses a call ({error})", error.retry_after_s, fatal)

        return await self._calls.call_until_ok(call, explain, (ApiRefusal, ChannelError))

    # ------------------------------------------------------------ reading

    async def _read(
        self, room: str, timeline: Content, bot: MatrixIdentity, since: str
    ) -> list[InboundEvent | Rejected]:
        """Return a room's events since the last token, oldest first."""
        raws = await self._list_since(since, room, timeline, bot)
        known = MatrixRoom(room, await self._members_of(room, raws, bot) if raws else {})
        found: list[InboundEvent | Rejected] = []
        for raw in raws:
            event: InboundEvent | Rejected | None = raw if isinstance(raw, Rejected) else None
            if isinstance(raw, RawEvent):
                if raw.type == "m.room.encrypted" and raw.sender != bot.user:
                    self._start(f"notice {room}", partial(self._say_encrypted, room, bot))
                read = partial(translate, raw, known, bot, steady_now())
                event = read_or_reject(bot.account, read, partial(to_rejected, raw.model_dump()))
            if isinstance(event, Rejected):
                _log.warning("event_rejected", account=bot.account, event_id=event.event_id, reason=event.reason)
            found += [] if event is None else [event]
        return found

    async def _list_since(
        self, since: str, room: str, timeline: Content, bot: MatrixIdentity
    ) -> list[RawEvent | Rejected]:
        """Return a room's raw events since a token; in a room that we just joined, those since our invitation."""
        shown = [validate(raw) for raw in list_of(timeline, "events")]
        older: list[RawEvent | Rejected] = []  # newest first
        joined = any(_changes(raw, bot) == ("invite", "join") for raw in shown)
        start = timeline.get("prev_batch") if timeline.get("limited") or joined else None
        pages = 0
        while isinstance(start, str) and not any(_changes(raw, bot)[1] == "invite" for raw in (*shown, *older)):
            if (pages := pages + 1) > PAGES:
                self._missing = f"{room} had more than {PAGES * PAGE:,} new messages; the older ones were not read"
                break
            query = {"dir": "b", "from": start, "limit": str(PAGE), "filter": orjson.dumps(EVENTS).decode()}
            query |= {} if joined else {"to": since}
            page = await self._ask(path_of("rooms", room, "messages"), query, may_lack=True)
            older += map(validate, list_of(page, "chunk"))
            joined = joined or any(_changes(raw, bot) == ("invite", "join") for raw in older)
            start = page.get("end") if page.get("chunk") else None
        told = {raw.event_id for raw in shown}  # a timeline may begin before its prev_batch
        events = [*(raw for raw in reversed(older) if raw.event_id not in told), *shown]
        invited = [at for at, raw in enumerate(events) if _changes(raw, bot)[1] == "invite"]
        return events[invited[-1] + 1 :] if invited else events

    async def _members_of(
        self, room: str, raws: Sequence[RawEvent | Rejected], bot: MatrixIdentity
    ) -> Mapping[str, str]:
        """Return the names of a room's members after these events; {} if we have left it, or it is too large."""
        if any(_changes(raw, bot) != ("", "") for raw in raws):
            self._members.pop(room, None)
        if room not in self._members:
            answer = await self._ask(path_of("rooms", room, "joined_members"), may_lack=True)
            joined = part_of(answer, "joined")
            self._members[room] = {user: str(part_of(joined, user).get("display_name") or "") for user in joined}
            return self._members[room]
        names = self._members[room]
        for raw in raws if names else ():
            if isinstance(raw, RawEvent) and raw.type == "m.room.member" and raw.state_key is not None:
                names.pop(raw.state_key, None)
                if raw.content.get("membership") == "join":
                    names[raw.state_key] = str(raw.content.get("displayname") or "")
        return names

    async def _deliver(self, found: list[InboundEvent | Rejected], cursor: str) -> None:
        """Commit the events, with the token behind the last of them; then show people that they were read."""
        for start in range(0, max(1, len(found)), BATCH):
            batch = found[start : start + BATCH]
            offer = partial(
                self._sink.receive,
                [each for each in batch if not isinstance(each, Rejected)],
                rejected=[each for each in batch if isinstance(each, Rejected)],
                cursor=cursor if start + BATCH >= len(found) else None,
            )
            await offer_until_stored(offer, self._sink, asyncio.sleep)
        read = {each.address.chat: each.event_id for each in found if isinstance(each, InboundMessage)}
        for room, event_id in read.items():
            path = path_of("rooms", room, "receipt", "m.read", event_id)
            self._start(f"receipt {room}", partial(self._wire.call, "POST", path, {}))

    # ------------------------------------------------------------ beside it

    def _join(self, answer: JsonObject) -> None:
        for room in part_of(answer, "rooms", "invite"):
            self._start(f"join {room}", partial(self._join_room, room))

    async def _join_room(self, room: str) -> None:
        for attempt in range(1, MOST_JOINS + 1):
            asked_s: float | None = None
            try:
                await self._wire.call("POST", path_of("rooms", room, "join"), {})
                return
            except ApiRefusal as refusal:
                if refusal.status in GONE:  # taken back
                    return
                asked_s = refusal.retry_after_s
            except ChannelError:
                pass
            await asyncio.sleep(JOIN_BACKOFF.wait_s(attempt, asked_s))
        _log.warning("invitation_left", account=self._config.name, room=room, mend="invite it again, or restart")

    async def _say_encrypted(self, room: str, bot: MatrixIdentity) -> None:
        """Say once in a room that encrypted messages cannot be read; the homeserver remembers that it was said."""
        told = path_of("user", bot.user, "rooms", room, "account_data", NOTICE_SAID)
        try:
            await self._wire.call("GET", told)
        except ApiRefusal as refusal:
            if refusal.status in GONE:
                content: JsonObject = {"msgtype": "m.text", "body": self._config.encrypted_notice, "m.mentions": {}}
                await self._wire.send(room, "m.room.message", NOTICE_SAID, content)
                await self._wire.call("PUT", told, {})

    def _start(self, name: str, call: Callable[[], Awaitable[object]]) -> None:
        """Make a call in the background that may fail, one of each name at a time."""
        if name not in self._running and len(self._running) < MOST_TASKS:
            self._running.add(name)
            self._tasks.create_task(self._finish(name, call))

    async def _finish(self, name: str, call: Callable[[], Awaitable[object]]) -> None:
        try:
            await call()
        except (ApiRefusal, ChannelError) as failure:
            _log.debug("call_failed", account=self._config.name, call=name, error=str(failure))
        finally:
            self._running.discard(name)


def _changes(raw: RawEvent | Rejected, bot: MatrixIdentity) -> tuple[str, str]:
    """Return our membership before and after an event; ("", "") if it is not about us."""
    return (isinstance(raw, RawEvent) and raw.membership_of(bot.user)) or ("", "")
