"""Tests see what people see and what arrived, and order what happens to connections and sessions.

`bot` arguments are tokens; None is the first bot.
"""

from channels.simulators.discord.sessions import Close
from channels.simulators.discord.state import ShownMessage, World
from channels.simulators.shared.server import Watched

_RECONNECT = b'{"op":7,"d":null,"s":null,"t":null}'


class SimulatedNetwork(Watched[int]):
    """The network between bots and Discord, and Discord's own whims."""

    _look_s = 0.05  # what happens on sockets wakes nobody

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._world = world

    @property
    def world(self) -> World:
        """Everything remembered, for what the methods here do not offer."""
        return self._world

    def inject(self, event: str, data: bytes, *, bot: str | None = None) -> None:
        """Dispatch any bytes as an event's data, in sequence."""
        self._world.bot(bot).sessions.emit_raw(event, data)

    def frame(self, raw: bytes, *, bot: str | None = None) -> None:
        """Send any bytes as a frame, outside the sequence."""
        self._world.bot(bot).sessions.tell(raw)

    def ask_reconnect(self, *, bot: str | None = None) -> None:
        """Op 7: come back, and resume."""
        self._world.bot(bot).sessions.tell(_RECONNECT)

    def close_sockets(self, code: int | None, *, bot: str | None = None) -> None:
        """Close every connection with a code; None cuts it without a goodbye."""
        self._world.bot(bot).sessions.tell(Close(code))

    def invalidate(self, *, resumable: bool = False, bot: str | None = None) -> None:
        """Op 9. Without `resumable` no session can be taken up again."""
        sessions = self._world.bot(bot).sessions
        if not resumable:
            sessions.invalidate()
        sessions.tell(b'{"op":9,"d":%s,"s":null,"t":null}' % (b"true" if resumable else b"false"))

    def forget_sessions(self, *, bot: str | None = None) -> None:
        """As after a long time away: nothing can be resumed; connections stay as they are."""
        self._world.bot(bot).sessions.invalidate()

    # What people see, and what arrived.

    def messages_in(self, chat_id: int, by: int | None = None) -> list[ShownMessage]:
        """The chat as the person `by` sees it now, in order and without what was deleted; None: as everybody does."""
        channel = self._world.channels.get(chat_id)
        if channel is None:
            return []
        theirs = [message for message in channel.ephemeral.values() if message.only_for == by]
        seen = [message for message in (*channel.messages.values(), *theirs) if not message.deleted]
        return sorted(seen, key=lambda message: message.message_id) if theirs else seen

    def answers(self, chat_id: int, by: int | None = None) -> list[ShownMessage]:
        """Of `messages_in`, what the bot said; what still shows "thinking" is not among it."""
        return [message for message in self.messages_in(chat_id, by) if message.by_bot and not message.loading]
