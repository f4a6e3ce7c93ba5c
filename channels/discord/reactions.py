"""Our signs as reactions: one of ours at most on a message. Which sign means what is told by `channels.base.Sign`."""

from collections import OrderedDict
from collections.abc import Mapping

from channels.base import Sign
from channels.discord.wire import MESSAGE, DiscordWire

REACTIONS: Mapping[Sign, str] = {
    Sign.WORKING: "✍️",
    Sign.QUEUED: "👀",
    Sign.STEERED: "👌",
    Sign.REFUSED: "🤷",
}
MOST_KNOWN = 2_000

_REACTION = MESSAGE + "/reactions/{emoji}/@me"


class Reactions:
    """The reactions one bot has set, as far as it remembers."""

    def __init__(self, wire: DiscordWire) -> None:
        self._wire = wire
        self._set: OrderedDict[str, str] = OrderedDict()  # message -> the emoji we set

    async def set(self, channel: str, message_id: str, sign: Sign | None) -> None:
        """Set ours, then take away the one before; None only takes away.

        Raises:
            ApiRefusal, Retryable, Unknown: it was not done, or nobody knows.
        """
        where = {"channel_id": channel, "message_id": message_id}
        wanted = None if sign is None else REACTIONS[sign]
        before = self._set.pop(message_id, None)
        if wanted is not None:
            await self._wire.call("PUT", _REACTION, at=where | {"emoji": wanted})
            self._set[message_id] = wanted
            if len(self._set) > MOST_KNOWN:
                self._set.popitem(last=False)
        if before is not None and before != wanted:
            await self._wire.call("DELETE", _REACTION, at=where | {"emoji": before})
