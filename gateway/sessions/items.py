"""From what somebody said to what the model reads: who wrote, what came with it, what the input guard makes of it.

The person's own words are the item's text. What they quote, forward or attach is its data, framed: no wish of theirs.
"""

from collections.abc import Awaitable, Callable

from agent.transcript import UserItem
from channels.base import Channel
from channels.messages import ChatKind, InboundEvent, InboundMessage, Quoted, QuoteKind, quoted
from gateway.safety.guard import InputGuard
from gateway.sessions.files import read_files
from gateway.sessions.framing import framed
from gateway.sessions.kinds import words_of

Earlier = Callable[[InboundMessage], Awaitable[Quoted | None]]
"""The message that a thread hangs on, where what is said in the thread does not bring it along."""


async def _nothing(_message: InboundMessage) -> Quoted | None:
    return None


class Reader:
    """Turns inbound events into user items."""

    def __init__(self, guard: InputGuard, talk: str, earlier: Earlier = _nothing) -> None:
        """Every text passes `guard`, quoted and forwarded ones too; `talk` is the command that carries a message."""
        self._guard = guard
        self._talk = talk
        self._earlier = earlier

    async def read(self, event: InboundEvent, channel: Channel) -> UserItem | None:
        """The message as a user item, with what came with it; a group's says who wrote. None where it is refused."""
        verdict = self._guard.check(words_of(event, self._talk))
        if verdict.blocked:
            return None
        at = event.received_at.isoformat()
        if not isinstance(event, InboundMessage):
            return UserItem(verdict.text, event.sender.display_name, at)
        frames = await self._frames(event)
        if frames is None:
            return None
        files = await read_files(channel, event.attachments) if event.attachments else ()
        text = verdict.text.strip()
        if event.edited:
            text = f"(I changed my earlier message to:) {text}".strip()
        sender = event.sender.display_name if event.kind is ChatKind.GROUP else None
        return UserItem(text, sender, at, "\n".join([*frames, *files]))

    async def _frames(self, event: InboundMessage) -> list[str] | None:
        """What is replied to and passed on, each in its frame; None where the guard refuses one of them."""
        frames = []
        for one in await self._quotes(event):
            verdict = self._guard.check(one.text)
            if verdict.blocked:
                return None
            note = verdict.text.removesuffix(one.text).strip()
            frames.append("\n".join(part for part in (note, framed(_described(one), one.author, one.text)) if part))
        return frames

    async def _quotes(self, event: InboundMessage) -> tuple[Quoted, ...]:
        if event.forwarded:
            return (*event.quoted, *quoted(QuoteKind.FORWARD, event.text, event.forwarded_from))
        if event.quoted or event.reply_to is None or event.reply_to != event.address.thread:
            return event.quoted
        parent = await self._earlier(event)
        return () if parent is None else (parent,)


def _described(one: Quoted) -> str:
    what = "message that the person replies to" if one.kind is QuoteKind.REPLY else "message that the person forwards"
    if one.ours:
        return f"{what}, an earlier one of yours, shown as by" if one.author else f"{what}, an earlier one of yours"
    return f"{what}, not their own words, shown as by" if one.author else f"{what}, not their own words"
