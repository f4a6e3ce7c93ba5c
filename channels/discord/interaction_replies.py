"""Interactions: deferred within a second, completed by an edit, and remembered in this process.

After a restart Discord itself is asked how far an answer is. If an interaction cannot be answered (its token has
expired, or it was never acknowledged), callers get None and use another way.
"""

import asyncio
from dataclasses import dataclass, field

import structlog

from channels.bounded_dict import BoundedDict
from channels.chat.refusals import ApiRefusal
from channels.discord.error_mapping import ALREADY_ACKNOWLEDGED, ROUTE_GONE, UNKNOWN_MESSAGE
from channels.discord.payloads import id_of
from channels.discord.reply_route import ROUTE_PRESS, ReplyRoute
from channels.discord.translate_interaction import EPHEMERAL_FLAG
from channels.discord.wire import DiscordWire
from channels.errors import ChannelError
from channels.foreign import JsonObject
from channels.messages import OutboundMedia

DEFER_ANSWER, DEFER_PRESS = 5, 6  # callback types: "thinking", and nothing to be seen
DEADLINE_S = 3.0  # for the callback; later Discord has given up
MOST_KNOWN = 2_000
FOLLOW_UPS = "/webhooks/{webhook_id}/{webhook_token}"
MESSAGE = FOLLOW_UPS + "/messages/{message_id}"
ORIGINAL = "@original"
_LOADING = 1 << 7

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class OriginalReply:
    """The message that answers an interaction."""

    id: str
    text: str
    loading: bool  # it still shows "thinking"


@dataclass(slots=True)
class _Answer:
    """Progress of the answer to one interaction."""

    reply_route: ReplyRoute
    tried: asyncio.Event = field(default_factory=asyncio.Event)  # set when the callback was answered, or given up
    deferred: bool = False
    first_key: str | None = None  # the part that completes it


class InteractionReplies:
    """The interactions of one bot."""

    def __init__(self, wire: DiscordWire) -> None:
        self._wire = wire
        self._known: BoundedDict[str, _Answer] = BoundedDict(MOST_KNOWN)  # by the interaction's id

    def expect(self, reply_route: ReplyRoute) -> None:
        """Register an interaction before its commit, so that an early answer waits for its deferral."""
        self._know(_Answer(reply_route))

    def _know(self, answer: _Answer) -> None:
        self._known[answer.reply_route.interaction] = answer

    def find_route(self, interaction: str) -> ReplyRoute | None:
        """Return the reply route of an interaction, or None if this process does not know it."""
        answer = self._known.get(interaction)
        return None if answer is None else answer.reply_route

    async def defer(self, reply_route: ReplyRoute) -> None:
        """Acknowledge an interaction, and say now if the answer is private; only log a failure."""
        answer = self._known.get(reply_route.interaction, _Answer(reply_route))
        callback: JsonObject = {"type": DEFER_PRESS if reply_route.kind == ROUTE_PRESS else DEFER_ANSWER}
        if reply_route.person:
            callback["data"] = {"flags": EPHEMERAL_FLAG}
        path, at = "/interactions/{interaction_id}/{token}/callback", _callback_of(reply_route)
        try:
            await self._wire.call("POST", path, callback, timeout_s=DEADLINE_S, at=at)
            answer.deferred = True
        except ApiRefusal as refusal:
            answer.deferred = refusal.code == ALREADY_ACKNOWLEDGED  # a repeated call, or one that was replayed
            if not answer.deferred:
                log.warning("interaction_not_deferred", interaction=reply_route.interaction, detail=str(refusal))
        except ChannelError as error:
            self._known.pop(
                reply_route.interaction, None
            )  # it may have been taken: Discord is asked when the answer comes
            log.warning("interaction_not_deferred", interaction=reply_route.interaction, detail=str(error))
        finally:
            answer.tried.set()

    async def complete(
        self, reply_route: ReplyRoute, key: str, body: JsonObject, media: tuple[OutboundMedia, ...]
    ) -> str | None:
        """Make the part `key` the answer; return its message id, or None if it has to go another way.

        Raises:
            ApiRefusal: refused for a reason other than the interaction.
            Retryable, Unknown: see `channels.errors`.
        """
        if reply_route.kind == ROUTE_PRESS:
            return None
        answer = await self._find_answer(reply_route, str(body.get("content") or ""), key)
        if answer is None or answer.first_key not in (None, key):
            return None
        try:
            sent = await self._wire.call("PATCH", MESSAGE, body, media=media, at=await self._at(reply_route, ORIGINAL))
        except ApiRefusal as refusal:
            if refusal.code in ROUTE_GONE or refusal.code == UNKNOWN_MESSAGE:
                return None
            raise
        answer.first_key = key
        return id_of(sent)

    async def follow_up(
        self, reply_route: ReplyRoute, body: JsonObject, media: tuple[OutboundMedia, ...]
    ) -> str | None:
        """Send a follow-up and return its id. It has no nonce; a private one can never be looked up."""
        if reply_route.person:
            flags = body.get("flags")
            body = body | {"flags": EPHEMERAL_FLAG | (flags if isinstance(flags, int) else 0)}
        sent = await self._wire.call(
            "POST", FOLLOW_UPS, body, media=media, query={"wait": "true"}, at=await self._at(reply_route)
        )
        return id_of(sent)

    async def edit(self, reply_route: ReplyRoute, message_id: str, body: JsonObject) -> None:
        """Edit the answer or a follow-up."""
        await self._wire.call("PATCH", MESSAGE, body, at=await self._at(reply_route, message_id))

    async def delete(self, reply_route: ReplyRoute, message_id: str) -> None:
        """Delete the answer or a follow-up."""
        await self._wire.call("DELETE", MESSAGE, at=await self._at(reply_route, message_id))

    async def original(self, reply_route: ReplyRoute) -> OriginalReply | None:
        """Return the message that answers an interaction; None if there is none, or the token has expired."""
        try:
            found = await self._wire.call("GET", MESSAGE, at=await self._at(reply_route, ORIGINAL))
        except ApiRefusal as refusal:
            if refusal.code in ROUTE_GONE or refusal.status in (401, 403, 404):
                return None
            raise
        message_id, flags = id_of(found), found.get("flags") if isinstance(found, dict) else None
        if message_id is None or not isinstance(found, dict):
            return None
        loading = isinstance(flags, int) and bool(flags & _LOADING)
        return OriginalReply(message_id, str(found.get("content") or "").strip(), loading)

    async def _find_answer(self, reply_route: ReplyRoute, text: str, key: str) -> _Answer | None:
        """Return the answer's progress, or None if the interaction cannot be answered."""
        answer = self._known.get(reply_route.interaction)
        if answer is not None:
            try:
                async with asyncio.timeout(DEADLINE_S):
                    await answer.tried.wait()
            except TimeoutError:
                return None
            if answer.deferred or reply_route.interaction in self._known:
                return answer if answer.deferred else None
        original = await self.original(reply_route)
        if original is None:
            return None
        answer = _Answer(reply_route, deferred=True)
        answer.tried.set()
        if not original.loading:  # answered before the restart: by this part, or another
            answer.first_key = key if original.text == text.strip() else "another"
        self._know(answer)
        return answer

    async def _at(self, reply_route: ReplyRoute, message_id: str = "") -> dict[str, str]:
        """Return the parameters of the interaction's webhook path."""
        bot = await self._wire.identify()
        at = {"webhook_id": bot.application_id, "webhook_token": reply_route.token}
        return at | {"message_id": message_id} if message_id else at


def _callback_of(reply_route: ReplyRoute) -> dict[str, str]:
    return {"interaction_id": reply_route.interaction, "token": reply_route.token}
