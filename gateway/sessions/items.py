"""From what somebody said to what the model reads: who wrote, what is attached, what the input guard makes of it."""

from agent.transcript import UserItem
from channels.messages import Attachment, ChatKind, CommandInvoked, InboundEvent, InboundMessage
from gateway.guard import InputGuard


class Reader:
    """Turns inbound events into user items."""

    def __init__(self, guard: InputGuard) -> None:
        """Every text passes `guard`."""
        self._guard = guard

    def read(self, event: InboundEvent) -> UserItem | None:
        """The message as a user item; a group's says who wrote. None where the guard refuses it."""
        verdict = self._guard.check(_text_of(event))
        if verdict.blocked:
            return None
        at = event.received_at.isoformat()
        if not isinstance(event, InboundMessage):
            return UserItem(verdict.text, event.sender.display_name, at)
        text = "\n".join([verdict.text, *(_describe(attachment) for attachment in event.attachments)]).strip()
        if event.edited:
            text = f"(I changed my earlier message to:) {text}"
        return UserItem(text, event.sender.display_name if event.kind is ChatKind.GROUP else None, at)


def _text_of(event: InboundEvent) -> str:
    if isinstance(event, InboundMessage):
        return event.text
    return event.arguments if isinstance(event, CommandInvoked) else ""


def _describe(attachment: Attachment) -> str:
    name = f" {attachment.name!r}" if attachment.name else ""
    return f"[{attachment.kind.value}{name} attached; it cannot be opened here]"
