"""Interactions are deferred within the second, completed by an edit, and remembered while this process lives.

After a restart Discord itself is asked how far an answer is. Whatever cannot be answered its own way (the token's time
is over, or it was never acknowledged) goes elsewhere: callers get None.
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
    """The message that answers an interaction, as it stands."""

    id: str
    text: str
    loading: bool  # it still shows "thinking"


@dataclass(slots=True)
class _Answer:
    """How far the answer to one interaction is."""

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
        """An interaction is about to be committed: an answer that comes at once waits for its deferral."""
        self._know(_Answer(reply_route))

    def _know(self, answer: _Answer) -> None:
        self._known[answer.reply_route.interaction] = answer

    def find_route(self, interaction: str) -> ReplyRoute | None:
        """How an interaction is answered, where this process knows it."""
        answer = self._known.get(interaction)
        return None if answer is None else answer.reply_route

    async def defer(self, reply_route: ReplyRoute) -> None:
        """Tell Discord that an answer comes, and now already whether others may see it; a failure is only logged."""
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
        """Let the part `key` be the answer; its message id, or None where it has to go elsewhere.

        Raises:
            ApiRefusal: it was refused for another reason than the interaction.
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
        """Say more by the interaction's own way. It has no nonce; to one person alone it can never be found again."""
        if reply_route.person:
            flags = body.get("flags")
            body = body | {"flags": EPHEMERAL_FLAG | (flags if isinstance(flags, int) else 0)}
        sent = await self._wire.call(
            "POST", FOLLOW_UPS, body, media=media, query={"wait": "true"}, at=await self._at(reply_route)
        )
        return id_of(sent)

    async def edit(self, reply_route: ReplyRoute, message_id: str, body: JsonObject) -> None:
        """Change what was said by the interaction's own way."""
        await self._wire.call("PATCH", MESSAGE, body, at=await self._at(reply_route, message_id))

    async def delete(self, reply_route: ReplyRoute, message_id: str) -> None:
        """Take back what was said by the interaction's own way."""
        await self._wire.call("DELETE", MESSAGE, at=await self._at(reply_route, message_id))

    async def original(self, reply_route: ReplyRoute) -> OriginalReply | None:
        """The message that answers an interaction; None where there is none, or the way is closed."""
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
        """How far the answer is; None where this way is closed."""
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
        """What fills a path of the interaction's own."""
        bot = await self._wire.identify()
        at = {"webhook_id": bot.application_id, "webhook_token": reply_route.token}
        return at | {"message_id": message_id} if message_id else at


def _callback_of(reply_route: ReplyRoute) -> dict[str, str]:
    return {"interaction_id": reply_route.interaction, "token": reply_route.token}
