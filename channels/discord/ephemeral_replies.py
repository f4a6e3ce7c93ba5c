"""Private answers: by the person's command while its token is valid, after that in their direct messages.

A private answer never goes to the chat of the command. If neither way is left the part fails for good, and the chat
is told so without its content. Decision 0016 lists the guarantees for private parts.
"""

from dataclasses import replace
from datetime import datetime

from pydantic import JsonValue

from channels.chat.refusals import ApiRefusal
from channels.discord.error_mapping import REFUSALS, ROUTE_GONE, UNKNOWN_MESSAGE, UNREACHABLE
from channels.discord.interaction_replies import InteractionReplies
from channels.discord.payloads import body_of, id_of, message_of
from channels.discord.reply_route import ROUTE_PRIVATE, ReplyRoute
from channels.discord.sent_lookup import Echoes, find_in_history
from channels.discord.translate_interaction import EPHEMERAL_ID
from channels.discord.wire import MESSAGE, MESSAGES, DiscordWire
from channels.errors import ChannelError, Permanent, PermanentKind, Unknown
from channels.foreign import JsonObject
from channels.messages import OutboundPart, Route

DIRECT_ID = "direct"  # prefix of the ids of direct messages: "direct:CHANNEL:MESSAGE"


class PrivateSendUnknown(Unknown):
    """A private answer that may have been sent, but cannot be looked up."""


def is_private(route: Route | None) -> bool:
    """Return True if this route reaches one person alone."""
    return route is not None and route.kind == ROUTE_PRIVATE


def is_ephemeral(message_id: str) -> bool:
    """Return True if this is a private answer's id."""
    return message_id.startswith((f"{EPHEMERAL_ID}:", f"{DIRECT_ID}:"))


class EphemeralReplies:
    """The private answers of one bot."""

    def __init__(self, wire: DiscordWire, replies: InteractionReplies, echoes: Echoes) -> None:
        self._wire = wire
        self._replies = replies
        self._echoes = echoes

    async def send(self, part: OutboundPart, now: datetime) -> str:
        """Send one part and return its id.

        Raises:
            Permanent, Retryable, Unknown: see `channels.errors`; no other person was shown it.
        """
        reply_route = _route_of(part)
        try:
            message_id = await self._by_token(reply_route, part) if reply_route.is_valid(now) else None
            return message_id or await self._send_directly(reply_route, part)
        except ApiRefusal as refusal:
            raise _to_channel_error(refusal) from None

    async def _by_token(self, reply_route: ReplyRoute, part: OutboundPart) -> str | None:
        """Complete the interaction with the first part, follow up with the others; return None if its token has
        expired.
        """
        body = body_of(part)
        try:
            message_id = await self._replies.complete(reply_route, part.idem_key, body, part.media)
            message_id = message_id or await self._replies.follow_up(reply_route, body, part.media)
        except ApiRefusal as refusal:
            if refusal.code in ROUTE_GONE or refusal.code in UNREACHABLE:
                return None
            raise
        if message_id is None:
            raise Unknown("the call was answered without a message")
        return f"{EPHEMERAL_ID}:{reply_route.interaction}:{message_id}"

    async def _send_directly(self, reply_route: ReplyRoute, part: OutboundPart) -> str:
        channel = await self._channel_with(reply_route.person)
        body = message_of(replace(part, reply_to=None))
        sent = await self._wire.call("POST", MESSAGES, body, media=part.media, at={"channel_id": channel})
        return f"{DIRECT_ID}:{channel}:{_sure_id(sent)}"

    async def _channel_with(self, person: str) -> str:
        """Return the direct conversation's channel; Discord creates it if needed."""
        return _sure_id(await self._wire.call("POST", "/users/@me/channels", {"recipient_id": person}))

    async def find(self, part: OutboundPart, now: datetime) -> str | None:
        """Return the id of the message that says the part; None if it did not arrive, or may be sent again unnoticed.

        Raises:
            PrivateSendUnknown: it may have been sent, but only the person can see it.
            Permanent, Retryable, Unknown: Discord does not answer now.
        """
        reply_route = _route_of(part)
        try:
            original = await self._replies.original(reply_route)
            if original is not None:
                return _find_in_original(original.id, original.text, part, reply_route, loading=original.loading)
            found = await self._find_direct(reply_route, part)
        except ApiRefusal as refusal:
            raise _to_channel_error(refusal) from None
        if found is None and not reply_route.is_valid(now):
            raise PrivateSendUnknown("a private answer cannot be looked up")
        return found

    async def _find_direct(self, reply_route: ReplyRoute, part: OutboundPart) -> str | None:
        channel = await self._channel_with(reply_route.person)
        echoed = self._echoes.get(part.idem_key)
        if echoed is not None:
            return f"{DIRECT_ID}:{channel}:{echoed}"
        found = await find_in_history(self._wire, channel, replace(part, reply_to=None))
        return None if found is None else f"{DIRECT_ID}:{channel}:{found}"

    async def change(self, message_id: str, body: JsonObject | None, now: datetime, route: Route | None = None) -> None:
        """Edit a private answer, or delete it if `body` is None. `route`: its interaction's, if known.

        Raises:
            Permanent: TARGET_GONE, also if its token has expired or is unknown.
            Retryable, Unknown: see `channels.errors`.
        """
        kind, where, bare_id = (*message_id.split(":"), "", "")[:3]
        try:
            if kind == DIRECT_ID:
                at = {"channel_id": where, "message_id": bare_id}
                await self._wire.call("DELETE" if body is None else "PATCH", MESSAGE, body, at=at)
                return
            reply_route = ReplyRoute.of(route) if route is not None else self._replies.find_route(where)
            if reply_route is None or reply_route.interaction != where or not reply_route.is_valid(now):
                raise Permanent("its interaction is over", PermanentKind.TARGET_GONE)
            if body is None:
                await self._replies.delete(reply_route, bare_id)
            else:
                await self._replies.edit(reply_route, bare_id, body)
        except ApiRefusal as refusal:
            if refusal.code in ROUTE_GONE or refusal.code in UNREACHABLE or refusal.code == UNKNOWN_MESSAGE:
                raise Permanent(refusal.words, PermanentKind.TARGET_GONE) from None
            raise REFUSALS.to_channel_error(refusal) from None


def _route_of(part: OutboundPart) -> ReplyRoute:
    assert part.route is not None, "called for private parts only"
    return ReplyRoute.of(part.route)


def _find_in_original(
    message_id: str, text: str, part: OutboundPart, reply_route: ReplyRoute, *, loading: bool
) -> str | None:
    """Return the original answer's id if it is the part, None if it is still pending; else the part was a follow-up."""
    if text == part.rendered.text.strip():
        return f"{EPHEMERAL_ID}:{reply_route.interaction}:{message_id}"
    if loading:
        return None
    raise PrivateSendUnknown("a private follow-up cannot be looked up")


def _to_channel_error(refusal: ApiRefusal) -> ChannelError:
    """Return the error for a refusal. An unreachable person does not block the chat in which they asked."""
    if refusal.code in UNREACHABLE:
        words = f"only one person may see it, and they cannot be written to directly: {refusal.words}"
        return Permanent(words)
    return REFUSALS.to_channel_error(refusal)


def _sure_id(answer: JsonValue) -> str:
    if (found := id_of(answer)) is None:
        raise Unknown("the call was answered without an id")
    return found
