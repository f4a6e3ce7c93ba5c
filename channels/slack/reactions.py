"""Our reactions on people's messages: at most one of ours on each."""

from collections.abc import Mapping

from channels.base import Sign
from channels.slack.error_mapping import ApiRefusal
from channels.slack.wire import SlackWire

REACTIONS: Mapping[Sign, str] = {
    Sign.WORKING: "writing_hand",
    Sign.QUEUED: "eyes",
    Sign.STEERED: "ok_hand",
    Sign.REFUSED: "shrug",
}
"""Our signs as names of Slack's standard emoji."""

REMEMBERED = 1_000


class StatusReactions:
    """Sets and clears them; remembers the newest, for Slack replaces nothing by itself."""

    def __init__(self, wire: SlackWire) -> None:
        self._wire = wire
        self._set: dict[tuple[str, str], str] = {}

    async def put(self, chat: str, ts: str, sign: Sign | None) -> None:
        """Set our reaction in place of the one before, or clear it.

        Raises:
            ApiRefusal, Retryable, Unknown: see `SlackWire`.
        """
        # what was set before a restart is forgotten; what is cleared then is most likely the working sign
        before = self._set.pop((chat, ts), None if sign is not None else REACTIONS[Sign.WORKING])
        if before is not None:
            await self._change("reactions.remove", chat, ts, before, done="no_reaction")
        if sign is not None:
            await self._change("reactions.add", chat, ts, REACTIONS[sign], done="already_reacted")
            self._set[chat, ts] = REACTIONS[sign]
            while len(self._set) > REMEMBERED:
                del self._set[next(iter(self._set))]

    async def _change(self, method: str, chat: str, ts: str, name: str, *, done: str) -> None:
        try:
            await self._wire.form(method, channel=chat, timestamp=ts, name=name)
        except ApiRefusal as refusal:
            if refusal.error != done:
                raise
