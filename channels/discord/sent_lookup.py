"""Lookup of a part that may have been sent by an attempt with unknown outcome.

In order: Discord's echo of our key, which every connected session gets; the interaction it answers; the chat's
history. Discord stores no keys (discord.py issue 2451), so a history is compared by text. Mistaking another message
for this one would lose an answer: only a reply to the same message counts, or a text too long to be a coincidence.
Anything else is sent again under its key, which Discord deduplicates for a few minutes.
"""

from datetime import datetime

from pydantic import JsonValue

from channels.bounded_dict import BoundedDict
from channels.discord.interaction_replies import InteractionReplies
from channels.discord.payloads import target_of
from channels.discord.reply_route import ReplyRoute
from channels.discord.wire import MESSAGES, DiscordWire
from channels.messages import OutboundPart

LOOKED_THROUGH = 100  # messages of a channel
LONG_CHARS = 120
MOST_ECHOES = 2_000


class Echoes:
    """Our own messages as the gateway reported them, by idempotency key."""

    def __init__(self) -> None:
        self._by_key: BoundedDict[str, str] = BoundedDict(MOST_ECHOES)

    def note(self, data: JsonValue, bot: str) -> None:
        """Note a dispatched message if it is ours."""
        author = data.get("author") if isinstance(data, dict) else None
        if not isinstance(data, dict) or not isinstance(author, dict) or author.get("id") != bot:
            return
        nonce, message_id = data.get("nonce"), data.get("id")
        if isinstance(nonce, str) and isinstance(message_id, str):
            self._by_key[nonce] = message_id

    def get(self, key: str) -> str | None:
        """Return the message sent with this key, if the gateway reported it."""
        return self._by_key.get(key)


class SentLookup:
    """Lookup of one bot's earlier sends."""

    def __init__(self, wire: DiscordWire, replies: InteractionReplies, echoes: Echoes) -> None:
        self._wire = wire
        self._replies = replies
        self._echoes = echoes

    async def find(self, part: OutboundPart, now: datetime) -> str | None:
        """Return the id of the message that says the part, or None.

        Raises:
            ApiRefusal, Retryable, Unknown: the history cannot be read.
        """
        echoed = self._echoes.get(part.idem_key)
        if echoed is not None:
            return echoed
        if part.route is not None and part.route.expires_at > now:
            original = await self._replies.original(ReplyRoute.of(part.route))
            if original is not None and original.text == part.rendered.text.strip():
                return original.id
        return await find_in_history(self._wire, target_of(part.address), part)


async def find_in_history(wire: DiscordWire, channel: str, part: OutboundPart) -> str | None:
    """Return the id of a recent message that says the part, or None. Raises as `DiscordWire.call` does."""
    bot = await wire.identify()
    query = {"limit": str(LOOKED_THROUGH)}
    if part.reply_to is not None:
        query["after"] = part.reply_to
    page = await wire.call("GET", MESSAGES, query=query, at={"channel_id": channel})
    for message in page if isinstance(page, list) else []:
        if isinstance(message, dict) and _is_same(message, part, bot.user_id):
            return str(message["id"])
    return None


def _is_same(message: dict[str, JsonValue], part: OutboundPart, bot: str) -> bool:
    """Return True if a message is plainly our part."""
    author = message.get("author")
    if not isinstance(author, dict) or author.get("id") != bot or not isinstance(message.get("id"), str):
        return False
    if message.get("nonce") == part.idem_key and part.idem_key:
        return True
    text = part.rendered.text.strip()
    if str(message.get("content") or "").strip() != text or len(part.media) != _count(message.get("attachments")):
        return False
    if part.reply_to is not None:
        reference = message.get("message_reference")
        return isinstance(reference, dict) and reference.get("message_id") == part.reply_to
    return len(text) >= LONG_CHARS


def _count(attachments: JsonValue) -> int:
    return len(attachments) if isinstance(attachments, list) else 0
