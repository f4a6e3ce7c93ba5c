"""Hooks hear what people say before a turn does: they may refuse it, put other words in its place, or add to it.

What they add is framed as data. The person of a refused message reads the hook's words, or ours if it gave none.
"""

from dataclasses import dataclass, replace
from typing import Protocol

from pydantic import JsonValue

from agent.errors import Refused
from agent.hooks.chain import HookChain
from agent.hooks.points import HookPoint
from agent.ports import NoteCost, Principal
from agent.transcript import UserItem
from channels.base import Channel
from channels.messages import InboundEvent, SystemEvent
from gateway.access.config import Role
from gateway.sessions.user_items import UserItemBuilder, describe_unheard, frame
from gateway.sessions.voice import Unheard
from gateway.store.journal import TurnRow


@dataclass(frozen=True, slots=True)
class MessageRefusal:
    """The refusal of a message, in words for its person and for operators."""

    told: Refused
    detail: str
    told_owner: Refused | None = None  # for its person if that is an owner; None: as `told`
    instead: UserItem | None = None  # read in its place by a turn that runs; None: the input guard's words

    def told_to(self, person: Principal | None) -> Refused:
        """Return the words for its person."""
        is_owner = person is not None and person.role == Role.OWNER
        return self.told_owner if is_owner and self.told_owner is not None else self.told


GUARDED = MessageRefusal(Refused("answer.guarded"), "the input guard")
UNCHECKED = MessageRefusal(Refused("answer.unchecked"), "a hook that guards failed")


class MemoryPort(Protocol):
    """The things that an agent remembers of a person."""

    async def recall(self, principal: Principal, words: str, seen: str, note_cost: NoteCost) -> str:
        """Return framed data that stands beside a person's message, chosen by their words; "" for none.

        `seen` is what stands beside earlier messages of the conversation.
        """
        ...

    async def read_memory(self, principal: Principal) -> str:
        """Return the section of the prompt about what is remembered of a person; "" for none."""
        ...


class NoMemory:
    """An agent that remembers nothing."""

    async def recall(self, principal: Principal, words: str, seen: str, note_cost: NoteCost) -> str:
        return ""

    async def read_memory(self, principal: Principal) -> str:
        return ""


NO_MEMORY = NoMemory()


@dataclass(frozen=True, slots=True)
class HeardItems:
    """Makes user items, with what hooks say of them and what is remembered of their person."""

    items: UserItemBuilder
    hooks: HookChain
    memory: MemoryPort = NO_MEMORY

    async def build(
        self, event: InboundEvent, channel: Channel, turn: TurnRow | None = None
    ) -> UserItem | MessageRefusal:
        """Return the message as the model reads it, or why it is refused: by the input guard, by a hook, or because a
        voice message cannot be transcribed. The `turn` bears the cost of that.
        """
        item = await self.items.build(event, channel, turn)
        if item is None:
            return GUARDED
        if isinstance(item, Unheard):
            return MessageRefusal(item.told, item.detail, item.told_owner, UserItem("", data=describe_unheard(item)))
        if isinstance(event, SystemEvent) or not self.hooks.listens(HookPoint.USER_PROMPT):
            return item
        heard = await self.hooks.ask(HookPoint.USER_PROMPT, _told_of(event) | {"text": item.text})
        if heard.decision == "deny":
            if heard.has_failed:
                return UNCHECKED
            reason = Refused("{reason}", reason=heard.reason) if heard.reason else None
            return MessageRefusal(heard.refused or reason or Refused("answer.guarded"), "a hook")
        text = heard.replace if isinstance(heard.replace, str) else item.text
        return _add(replace(item, text=text), heard.context)

    async def begin(self, event: InboundEvent, item: UserItem) -> UserItem:
        """Return the first words of a conversation, with those that hooks add at its start."""
        if not self.hooks.listens(HookPoint.SESSION_START):
            return item
        return _add(item, (await self.hooks.ask(HookPoint.SESSION_START, _told_of(event))).context)

    async def end(self, event: InboundEvent) -> None:
        """Run the hooks for the end of a conversation."""
        await self.hooks.ask(HookPoint.SESSION_END, _told_of(event))


def _told_of(event: InboundEvent) -> dict[str, JsonValue]:
    address = event.address
    return {
        "sender": event.sender_key,
        "tenant": event.tenant,
        "channel": address.channel,
        "account": address.account,
        "chat": address.chat,
    }


def _add(item: UserItem, context: str) -> UserItem:
    if not context:
        return item
    return replace(item, data="\n".join(filter(None, (item.data, frame("context of the operator's", None, context)))))
