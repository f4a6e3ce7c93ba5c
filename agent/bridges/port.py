"""The port behind which an agent of another framework answers turns.

A bridge translates one framework. It gets an `Exchange`, the conversation so far, and yields what happens;
`foreign_turn` journals it, shows it and ends the turn.
"""

import json
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue, TypeAdapter

from agent.pictures import visible
from agent.ports import Principal, TextDelta, TextDiscarded
from agent.transcript import AssistantItem, Item, ToolCall, Usage, UserItem

_OUTPUT: TypeAdapter[object] = TypeAdapter(object)


def output_text(output: object) -> str:
    """Return the output of a framework's agent as text: a structured one is JSON."""
    return output if isinstance(output, str) else json.dumps(_OUTPUT.dump_python(output, mode="json"), indent=1)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request to a foreign agent.

    A turn has several if its person writes in between, or is asked for approval.
    """

    turn: str  # its id
    conversation: str  # opaque, of the conversation; another one after `/new`
    principal: Principal
    items: Sequence[Item]  # the conversation, this turn's messages and steps included, oldest first
    said: Sequence[UserItem]  # this turn's messages; a later exchange of the turn has the same first ones
    consents: Mapping[str, bool] = field(default_factory=dict)
    """The person's answers about the last response's calls, by call id; such calls have no result among the items."""
    hints: str = ""  # the channel's formatting hints for text
    memory: str = ""  # what is remembered of the person
    pictures: Mapping[str, bytes] = field(default_factory=dict)  # those that the items show, by id

    @property
    def unanswered(self) -> list[UserItem]:
        """Return this turn's messages after the last answer or step."""
        found: list[UserItem] = []
        for item in reversed(self.items):
            if isinstance(item, AssistantItem) or len(found) == len(self.said):
                break
            if isinstance(item, UserItem):
                found.append(item)
        return found[::-1]

    @property
    def earlier(self) -> list[Item]:
        """Return the conversation without the unanswered messages."""
        new = self.unanswered
        return [item for item in self.items if not any(item is each for each in new)]

    def pictures_of(self, item: UserItem) -> list[tuple[str, bytes]]:
        """Return the pictures of a message that the agent may see, each with its media type."""
        return [(picture.mime, self.pictures[picture.id]) for picture in visible(item.pictures)]

    def picture_urls(self, item: UserItem) -> list[str]:
        """Return the pictures of a message that the agent may see, as data URLs."""
        return [f"data:{mime};base64,{b64encode(content).decode()}" for mime, content in self.pictures_of(item)]

    @property
    def key(self) -> str:
        """Return what is the same if these messages are sent once more after a crash, and for no others."""
        return f"{self.turn}/{len(self.said)}"

    @property
    def about(self) -> dict[str, str | None]:
        """Return the person and the hints, for frameworks that take named values."""
        who = self.principal
        return {
            "user_id": who.user_id,
            "user_name": who.display_name,
            "locale": who.locale,
            "timezone": who.timezone,
            "hints": self.hints,
            "memory": self.memory,
        }

    def state(self, bridge: str) -> JsonValue:
        """Return what this bridge last kept in the conversation with `Responded.state`; None if nothing."""
        for item in reversed(self.items):
            for block in reversed(item.thinking if isinstance(item, AssistantItem) else ()):
                if isinstance(block, dict) and block.get("bridge") == bridge:
                    return block.get("state")
        return None


@dataclass(frozen=True, slots=True)
class Responded:
    """Event: a whole response; one without calls is the answer, and the last event."""

    text: str
    calls: tuple[ToolCall, ...] = ()  # they begin when the next event is asked for
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    state: JsonValue = None  # kept with the conversation for `Exchange.state`


@dataclass(frozen=True, slots=True)
class Returned:
    """Event: a call has a result."""

    call_id: str
    result: object  # data for JSON; of a failed call, the error's words
    failed: bool = False


@dataclass(frozen=True, slots=True)
class NeedsApproval:
    """Event: a call does not run before its person approves; only more of these follow, and the run ends."""

    call_id: str
    question: str = ""  # the framework's own words, shown above the call
    may_remember: bool = True  # offer "always", for all calls of this name


ForeignEvent = TextDelta | TextDiscarded | Responded | Returned | NeedsApproval


class ForeignAgent(Protocol):
    """An agent of another framework. One object serves many turns at once."""

    name: str
    """Its name in the configuration, for operators: `langgraph:shop:graph`."""
    title: str
    """Its name for people; "" if it has none."""
    steers: bool
    """True: a run may be ended after a step and begun again with the person's new messages."""
    keeps_state: bool
    """True: it goes on where a run was; calls that had begun when the process died get their results then."""

    def run(self, exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        """Yield what happens until the answer, or until calls need approval.

        The generator is closed if the turn ends before. After `Responded` and `Returned` it is resumed when they are
        durable.

        Raises:
            ModelFailure: the agent cannot answer, for a reason that has its own words for the person.
        """
        ...
