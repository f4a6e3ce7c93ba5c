"""After a gap: what was said meanwhile, out of the chats' histories. Which part of it is new, the inbox decides."""

import structlog
from pydantic import JsonValue, ValidationError

from channels.base import ChannelState, NotPersisted
from channels.errors import ChannelError, Permanent, Retryable
from channels.foreign import LONGEST_WAIT_S
from channels.messages import InboundMessage
from channels.slack.failures import BAD_TOKEN, MISSING_SCOPE, ApiRefusal, refused, where_to_mend
from channels.slack.names import spoken_of
from channels.slack.places import later
from channels.slack.raw import RawMessage
from channels.slack.receiving import Pause, Receiver
from channels.slack.translate import is_ours, thread_key, translate_edit, translate_message
from channels.slack.wire import JsonObject, SlackWire

OVERLAP_S = 120.0  # read again before the resume point: what came out of order was perhaps not committed
CHATS_AT_MOST = 200
PAGE = 200
PAGES_AT_MOST = 10  # of one chat or thread
STORE_PAUSE_S = 0.5
PAUSES_S = (0.5, 2.0, 5.0, 15.0, 30.0)  # after each try of a call

TYPES = ("public_channel", "private_channel", "mpim", "im")  # each needs a scope of its own

Arguments = dict[str, str | int | bool]

_log = structlog.get_logger()


class Backfill:
    """Asks for what was missed."""

    def __init__(self, wire: SlackWire, receiver: Receiver, pause: Pause) -> None:
        self._wire = wire
        self._receiver = receiver
        self._pause = pause

    async def run(self, since: str | None = None) -> None:
        """Offer everything since a ts; None: since the resume point, and nothing at first contact.

        A chat that cannot be read is told.
        """
        since = since or self._receiver.places.ts
        if since == "0":
            return
        with self._receiver.places.filling(since):
            await self._fill(f"{max(0.0, float(since) - OVERLAP_S):.6f}")

    async def _fill(self, oldest: str) -> None:
        chats = await self._chats()
        for chat in chats[:CHATS_AT_MOST]:
            try:
                await self._chat(chat, oldest)
            except ApiRefusal as refusal:
                _log.info("backfill_refused", account=self._receiver.us.account, chat=chat, error=str(refusal))
            except ChannelError as failure:
                self._told(f"what was said meanwhile could not be read: {failure}")
        if len(chats) > CHATS_AT_MOST:
            self._told(f"of {len(chats)} chats only {CHATS_AT_MOST} were read after the gap")

    def _told(self, detail: str) -> None:
        _log.warning("backfill_incomplete", account=self._receiver.us.account, detail=detail)
        self._receiver.sink.report(ChannelState.DEGRADED, detail)

    async def _chats(self) -> list[str]:
        """The chats last heard from, newest first, then all others we are in."""
        chats = dict.fromkeys(reversed(self._receiver.places.chats))
        try:
            chats |= dict.fromkeys(await self._memberships())
        except ChannelError as failure:
            self._told(f"which chats there are could not be read: {failure}")
        return list(chats)

    async def _memberships(self) -> list[str]:
        """The chats we are in; where a scope is missing, those of the kinds that we may ask for."""
        try:
            return await self._listed(",".join(TYPES))
        except ApiRefusal as refusal:
            if refusal.error != MISSING_SCOPE:
                _log.info("backfill_refused", account=self._receiver.us.account, error=str(refusal))
                return []
        found: list[str] = []
        for kind in TYPES:
            try:
                found += await self._listed(kind)
            except ApiRefusal as refusal:
                _log.info(
                    "backfill_refused", account=self._receiver.us.account, kind=kind, error=where_to_mend(refusal)
                )
        return found

    async def _listed(self, kinds: str) -> list[str]:
        arguments: Arguments = {"types": kinds, "exclude_archived": True, "limit": PAGE}
        answer = await self._asked("users.conversations", arguments)
        metadata = answer.get("response_metadata")
        if isinstance(metadata, dict) and metadata.get("next_cursor"):
            self._told(f"we are in more than {PAGE} chats; after the gap only those last heard from were read besides")
        found = answer.get("channels")
        ids = [one.get("id") for one in found if isinstance(one, dict)] if isinstance(found, list) else []
        return [one for one in ids if isinstance(one, str)]

    async def _chat(self, chat: str, oldest: str) -> None:
        said = await self._pages("conversations.history", {"channel": chat, "oldest": oldest, "inclusive": True})
        places = self._receiver.places
        for message in said:
            if message.thread_ts is not None and self._receiver.us.user in message.reply_users:
                places.joined(chat, message.thread_ts)
        known = [key.partition(":")[2] for key in list(places.threads) if key.startswith(thread_key(chat, ""))]
        for thread in known:
            arguments: Arguments = {"channel": chat, "ts": thread, "oldest": oldest, "inclusive": True}
            said += [one for one in await self._pages("conversations.replies", arguments) if one.ts != thread]
        spoken = [user for one in said for user in spoken_of(one.user, one.text)]
        await self._receiver.names.learn(dict.fromkeys(spoken))
        said.sort(key=lambda message: float(message.ts))
        await self._hand_in([event for message in said for event in self._events(message, chat, oldest)])

    def _events(self, message: RawMessage, chat: str, oldest: str) -> list[InboundMessage]:
        """What a message of the history says: itself, and a change of it since."""
        us, known = self._receiver.us, self._receiver.known
        if is_ours(message, us):
            return []
        said = translate_message(message, chat, us, known) if later(message.ts, oldest) else None
        changed = translate_edit(message, chat, us, known)
        return [event for event in (said, changed) if event is not None]

    async def _hand_in(self, events: list[InboundMessage]) -> None:
        for begin in range(0, len(events), PAGE):
            while True:
                try:
                    await self._receiver.hand_in(events[begin : begin + PAGE])
                    break
                except NotPersisted:
                    await self._pause(STORE_PAUSE_S)

    async def _pages(self, method: str, arguments: Arguments) -> list[RawMessage]:
        """All pages of a history, unreadable messages left out."""
        found: list[RawMessage] = []
        cursor = ""
        for _ in range(PAGES_AT_MOST):
            asked: Arguments = {**arguments, "limit": PAGE}
            if cursor:
                asked["cursor"] = cursor
            answer = await self._asked(method, asked)
            found += _messages(answer.get("messages"))
            metadata = answer.get("response_metadata")
            cursor = str(metadata.get("next_cursor") or "") if isinstance(metadata, dict) else ""
            if not cursor:
                return found
        self._told(f"more than {PAGES_AT_MOST * PAGE} messages in one chat during the gap")
        return found

    async def _asked(self, method: str, arguments: Arguments) -> JsonObject:
        """One call; limits and failures that may pass are waited out, so many times."""
        failure: ChannelError = Retryable(method)
        for pause_s in PAUSES_S:
            try:
                return await self._wire.get(method, **arguments)
            except ApiRefusal as refusal:
                failure = refused(refusal)
                if isinstance(failure, Permanent) or refusal.error in BAD_TOKEN or refusal.error == MISSING_SCOPE:
                    raise
            except ChannelError as unanswered:
                failure = unanswered
            wait_s = failure.retry_after_s if isinstance(failure, Retryable) else None
            await self._pause(max(pause_s, min(wait_s or 0.0, LONGEST_WAIT_S)))
        raise failure


def _messages(raw: JsonValue) -> list[RawMessage]:
    found = []
    for one in raw if isinstance(raw, list) else []:
        try:
            found.append(RawMessage.model_validate(one))
        except ValidationError:
            _log.warning("history_unreadable")
    return found
