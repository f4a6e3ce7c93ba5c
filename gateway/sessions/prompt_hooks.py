"""Hooks hear what people say before a turn does: they may refuse it, put other words in its place, or add to it.

What they add is framed as data; that a message is refused is told in words of ours, why is in the log.
"""

from dataclasses import dataclass, replace

from pydantic import JsonValue

from agent.hooks.chain import HookChain
from agent.hooks.points import HookPoint
from agent.transcript import UserItem
from channels.base import Channel
from channels.messages import InboundEvent
from gateway.sessions.user_items import UserItemBuilder, frame


@dataclass(frozen=True, slots=True)
class HeardItems:
    """Makes user items, with what hooks say of them."""

    items: UserItemBuilder
    hooks: HookChain

    async def build(self, event: InboundEvent, channel: Channel) -> UserItem | None:
        """As the builder's; None also where a hook denies it."""
        item = await self.items.build(event, channel)
        if item is None or not self.hooks.listens(HookPoint.USER_PROMPT):
            return item
        heard = await self.hooks.ask(HookPoint.USER_PROMPT, _told_of(event) | {"text": item.text}, subject="text")
        if heard.decision == "deny":
            return None
        text = heard.replace if isinstance(heard.replace, str) else item.text
        return _add(replace(item, text=text), heard.context)

    async def begin(self, event: InboundEvent, item: UserItem) -> UserItem:
        """The first words of a conversation, with what hooks say at its start."""
        if not self.hooks.listens(HookPoint.SESSION_START):
            return item
        return _add(item, (await self.hooks.ask(HookPoint.SESSION_START, _told_of(event))).context)

    async def end(self, event: InboundEvent) -> None:
        """A conversation is over."""
        await self.hooks.ask(HookPoint.SESSION_END, _told_of(event))


def _told_of(event: InboundEvent) -> dict[str, JsonValue]:
    address = event.address
    return {
        "sender": event.sender_key, "tenant": event.tenant, "channel": address.channel, "account": address.account,
        "chat": address.chat,
    }  # fmt: skip


def _add(item: UserItem, context: str) -> UserItem:
    if not context:
        return item
    return replace(item, data="\n".join(filter(None, (item.data, frame("context of the operator's", None, context)))))
