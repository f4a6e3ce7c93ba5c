"""Finds out whether a part was said by an attempt whose outcome is unknown.

First by Discord's echo of our key, which every connected session gets; then by the interaction it answers; then by
looking through the chat. Discord keeps no keys, so there a message counts only where it is plainly this one
(`sent.same_message`). Within a few minutes a repeated send is said once in any case.
"""

from datetime import datetime

from channels.discord.answers import Answers
from channels.discord.bodies import target_of
from channels.discord.routes import Way
from channels.discord.sent import same_message
from channels.discord.waiting import Echoes
from channels.discord.wire import MESSAGES, DiscordWire
from channels.messages import OutboundPart

LOOKED_THROUGH = 100  # messages of a channel


class Earlier:
    """The earlier sends of one bot."""

    def __init__(self, wire: DiscordWire, answers: Answers, echoes: Echoes) -> None:
        self._wire = wire
        self._answers = answers
        self._echoes = echoes

    async def find(self, part: OutboundPart, now: datetime) -> str | None:
        """The message that says the part; None where there is none.

        Raises:
            ApiRefusal, Retryable, Unknown: the chat cannot be looked through.
        """
        echoed = self._echoes.get(part.idem_key)
        if echoed is not None:
            return echoed
        us = await self._wire.introduce()
        if part.route is not None and part.route.expires_at > now:
            original = await self._answers.original(Way.of(part.route))
            if original is not None and original.text == part.rendered.text.strip():
                return original.id
        query = {"limit": str(LOOKED_THROUGH)}
        if part.reply_to is not None:
            query["after"] = part.reply_to
        page = await self._wire.call("GET", MESSAGES, query=query, at={"channel_id": target_of(part.address)})
        for message in page if isinstance(page, list) else []:
            if isinstance(message, dict) and same_message(message, part, us.user_id):
                return str(message["id"])
        return None
