"""From what somebody said to what the model reads: who wrote, what is attached, what the input guard makes of it."""

from agent.transcript import UserItem
from channels.base import Channel
from channels.messages import ChatKind, InboundEvent, InboundMessage
from gateway.guard import InputGuard
from gateway.sessions.files import read_files
from gateway.sessions.kinds import words_of


class Reader:
    """Turns inbound events into user items."""

    def __init__(self, guard: InputGuard) -> None:
        """Every text passes `guard`."""
        self._guard = guard

    async def read(self, event: InboundEvent, channel: Channel) -> UserItem | None:
        """The message as a user item, with what is attached; a group's says who wrote. None where it is refused."""
        verdict = self._guard.check(words_of(event))
        if verdict.blocked:
            return None
        at = event.received_at.isoformat()
        if not isinstance(event, InboundMessage):
            return UserItem(verdict.text, event.sender.display_name, at)
        files = await read_files(channel, event.attachments) if event.attachments else ()
        text = "\n".join([verdict.text, *files]).strip()
        if event.edited:
            text = f"(I changed my earlier message to:) {text}"
        return UserItem(text, event.sender.display_name if event.kind is ChatKind.GROUP else None, at)
