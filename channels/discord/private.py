"""What one person alone may see: said by their command while its token lives, after that in their direct messages.

It never goes to the chat the command was used in. Where neither way is left the part is refused for good, which is
told there without its content. What the parts of a private answer promise stands in decision 0012.
"""

from dataclasses import replace
from datetime import datetime

from pydantic import JsonValue

from channels.discord.answers import Answers
from channels.discord.bodies import JsonObject, body_of, message_of
from channels.discord.earlier import LOOKED_THROUGH
from channels.discord.failures import UNKNOWN_MESSAGE, ApiRefusal, refused
from channels.discord.routes import ROUTE_PRIVATE, Way
from channels.discord.sent import same_message
from channels.discord.translate_interaction import EPHEMERAL_ID
from channels.discord.waiting import Echoes
from channels.discord.wire import MESSAGE, MESSAGES, DiscordWire
from channels.errors import ChannelError, Permanent, PermanentKind, Unknown
from channels.foreign import whole_of
from channels.messages import OutboundPart, Route

DIRECT_ID = "direct"  # begins the ids of what was said in direct messages instead: "direct:CHANNEL:MESSAGE"


class Untold(Unknown):
    """It may have been said to one person alone, where nobody can look."""


def is_private(route: Route | None) -> bool:
    """Whether what goes this way is for one person."""
    return route is not None and route.kind == ROUTE_PRIVATE


def said_privately(message_id: str) -> bool:
    """Whether this is one of the ids given out here."""
    return message_id.startswith((f"{EPHEMERAL_ID}:", f"{DIRECT_ID}:"))


class Private:
    """The private answers of one bot."""

    def __init__(self, wire: DiscordWire, answers: Answers, echoes: Echoes) -> None:
        self._wire = wire
        self._answers = answers
        self._echoes = echoes

    async def say(self, part: OutboundPart, now: datetime) -> str:
        """Say one part; its id.

        Raises:
            Permanent, Retryable, Unknown: see `channels.errors`; nobody but the person was shown it.
        """
        way = _way(part)
        try:
            said = await self._by_token(way, part) if way.lives(now) else None
            return said or await self._directly(way, part)
        except ApiRefusal as refusal:
            raise _refused(refusal) from None

    async def _by_token(self, way: Way, part: OutboundPart) -> str | None:
        """The first part completes what the person waits for, the others follow it; None where this way is closed."""
        body = body_of(part)
        try:
            said = await self._answers.complete(way, part.idem_key, body, part.media)
            said = said or await self._answers.follow_up(way, body, part.media)
        except ApiRefusal as refusal:
            if refusal.route_gone or refusal.unreachable:
                return None
            raise
        if said is None:
            raise Unknown("the call was answered without a message")
        return f"{EPHEMERAL_ID}:{way.interaction}:{said}"

    async def _directly(self, way: Way, part: OutboundPart) -> str:
        channel = await self._channel_with(way.person)
        body = message_of(replace(part, reply_to=None))
        sent = await self._wire.call("POST", MESSAGES, body, media=part.media, at={"channel_id": channel})
        return f"{DIRECT_ID}:{channel}:{_id_of(sent)}"

    async def _channel_with(self, person: str) -> str:
        """The direct conversation; Discord makes it when it is new."""
        return _id_of(await self._wire.call("POST", "/users/@me/channels", {"recipient_id": person}))

    async def find(self, part: OutboundPart, now: datetime) -> str | None:
        """The id of what says the part; None where it did not arrive, or may be said again unseen.

        Raises:
            Untold: it may stand where only the person can look.
            Permanent, Retryable, Unknown: it cannot be told now.
        """
        way = _way(part)
        try:
            original = await self._answers.original(way)
            if original is not None:
                return _told_by(original.id, original.text, part, way, loading=original.loading)
            found = await self._found_directly(way, part)
        except ApiRefusal as refusal:
            raise _refused(refusal) from None
        if found is None and not way.lives(now):
            raise Untold("what one person alone was shown cannot be looked for")
        return found

    async def _found_directly(self, way: Way, part: OutboundPart) -> str | None:
        channel = await self._channel_with(way.person)
        echoed = self._echoes.get(part.idem_key)
        if echoed is not None:
            return f"{DIRECT_ID}:{channel}:{echoed}"
        us = await self._wire.introduce()
        query = {"limit": str(LOOKED_THROUGH)}
        page = await self._wire.call("GET", MESSAGES, query=query, at={"channel_id": channel})
        for message in page if isinstance(page, list) else []:
            if isinstance(message, dict) and same_message(message, replace(part, reply_to=None), us.user_id):
                return f"{DIRECT_ID}:{channel}:{message['id']}"
        return None

    async def change(self, message_id: str, body: JsonObject | None, now: datetime, route: Route | None = None) -> None:
        """Edit what was said here, or with None take it back. `route`: that of its answer, where it is known.

        Raises:
            Permanent: TARGET_GONE, also when its token is over or nobody knows it any more.
            Retryable, Unknown: see `channels.errors`.
        """
        kind, where, bare_id = (*message_id.split(":"), "", "")[:3]
        try:
            if kind == DIRECT_ID:
                at = {"channel_id": where, "message_id": bare_id}
                await self._wire.call("DELETE" if body is None else "PATCH", MESSAGE, body, at=at)
                return
            way = Way.of(route) if route is not None else self._answers.way_to(where)
            if way is None or way.interaction != where or not way.lives(now):
                raise Permanent("its interaction is over", PermanentKind.TARGET_GONE)
            if body is None:
                await self._answers.delete(way, bare_id)
            else:
                await self._answers.edit(way, bare_id, body)
        except ApiRefusal as refusal:
            if refusal.route_gone or refusal.unreachable or refusal.code == UNKNOWN_MESSAGE:
                raise Permanent(refusal.told, PermanentKind.TARGET_GONE) from None
            raise refused(refusal) from None


def _way(part: OutboundPart) -> Way:
    assert part.route is not None, "asked of private parts alone"
    return Way.of(part.route)


def _told_by(message_id: str, text: str, part: OutboundPart, way: Way, *, loading: bool) -> str | None:
    """What the answer as it stands says of a part: it is it, or it is still to be it, or the part came after it."""
    if text == part.rendered.text.strip():
        return f"{EPHEMERAL_ID}:{way.interaction}:{message_id}"
    if loading:
        return None
    raise Untold("what one person alone was shown behind an answer cannot be looked for")


def _refused(refusal: ApiRefusal) -> ChannelError:
    """What a refusal means. A person who cannot be written to blocks nobody else in the chat they asked in."""
    if refusal.unreachable:
        words = f"only one person may see it, and they cannot be written to directly: {refusal.told}"
        return Permanent(words)
    return refused(refusal)


def _id_of(made: JsonValue) -> str:
    found = made.get("id") if isinstance(made, dict) else None
    if not isinstance(found, str) or whole_of(found) is None:
        raise Unknown("the call was answered without an id")
    return found
