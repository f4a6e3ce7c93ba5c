"""The world of a simulated platform: people, chats, messages, files, and the calls that bots made.

Plain data, and waiting for it to change. What a call may do to it is decided by each platform's operations.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Generic, TypeVar

from pydantic import Base64Bytes, JsonValue

Id = TypeVar("Id", bound=int | str)

JsonObject = dict[str, JsonValue]

HISTORY_KEPT = 200_000  # calls remembered; older ones are forgotten


class Refused(Exception):
    """A call that is not carried out; each platform has a subclass with the fields of its answer."""


def objects_in(value: object) -> list[JsonObject]:
    """Return the objects of a list; none for any other value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


@dataclass(slots=True)
class Edit:
    """One change of a message."""

    text: str
    at_s: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class File:
    """A file that a person or a bot sent."""

    kind: str  # photo, document, voice or audio; a platform without kinds has documents only
    content: Base64Bytes
    name: str = ""
    mime: str = ""
    album: str | None = None  # the same for files sent as one message each and shown as one
    told_bytes: int | None = None  # the size that the platform tells; None: the real one
    id: str = ""
    path: str = ""  # its path or its URL, as the platform tells bots
    seconds: float | None = None  # length of sound; None: it is none, or the platform does not tell

    @property
    def size(self) -> int:
        """Return the size that the platform tells, in bytes."""
        return len(self.content) if self.told_bytes is None else self.told_bytes


@dataclass(slots=True)
class Message(Generic[Id]):
    """A message as people see it now, with what it was before."""

    message_id: Id
    chat_id: Id
    sender_id: Id
    by_bot: bool
    text: str
    at: float = field(default_factory=time.time)  # Unix seconds
    at_s: float = field(default_factory=time.monotonic)  # of the simulator, when it appeared
    reply_to: Id | None = None
    thread: Id | None = None
    files: list[File] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    reactions: dict[str, set[Id]] = field(default_factory=dict)  # emoji -> who reacted
    pings: tuple[str, ...] = ()  # whom a bot's message notified
    only_for: Id | None = None  # the person who alone sees it; None: everybody in the chat
    entities: tuple[JsonObject, ...] | None = None  # styles as Telegram gives them; None: `text` holds Markdown
    key: str | None = None  # what the bot marked it with against doubles
    deleted: bool = False

    @property
    def buttons(self) -> list[tuple[str, str]]:
        """Return the label and the value of each button."""
        return []

    @property
    def private(self) -> bool:
        """Return True if one person alone sees it."""
        return self.only_for is not None

    @property
    def reaction(self) -> str:
        """Return its first reaction, "" for none."""
        return next(iter(self.reactions), "")

    @property
    def streaming(self) -> bool:
        """Return True while the platform itself says that it is being written."""
        return False

    @property
    def loading(self) -> bool:
        """Return True while it stands for an answer that has no content yet."""
        return False

    def react(self, person: Id, *emoji: str) -> None:
        """Give a person these reactions and no others."""
        for name in list(self.reactions):
            self.unreact(person, name)
        for name in emoji:
            self.reactions.setdefault(name, set()).add(person)

    def unreact(self, person: Id, emoji: str) -> None:
        """Take away one reaction of a person."""
        who = self.reactions.get(emoji, set())
        who.discard(person)
        if not who:
            self.reactions.pop(emoji, None)


AnyMessage = Message[Any]
M = TypeVar("M", bound=Message[int] | Message[str])


@dataclass(slots=True)
class Chat(Generic[Id, M]):
    """A chat, channel, thread or direct conversation."""

    id: Id
    messages: dict[Id, M] = field(default_factory=dict)
    typing: list[float] = field(default_factory=list)  # when the bot was seen typing, time.monotonic()
    next_send_s: float = 0.0  # with limits on: when the bucket lets the next message pass

    def pace(self, per_s: float | None) -> int:
        """Let a burst of three messages pass, then `per_s`. Return 0, or the seconds to wait."""
        if per_s is None:
            return 0
        now_s = time.monotonic()
        wait_s = self.next_send_s - now_s - 2 / per_s
        if wait_s > 0:
            return int(wait_s) + 1
        self.next_send_s = max(self.next_send_s, now_s) + 1 / per_s
        return 0


@dataclass(frozen=True, slots=True)
class Call(Generic[Id]):
    """A call of a bot's, and what became of it."""

    bot_id: Id
    method: str  # as the platform spells it
    chat_id: Id | None = None
    message_id: Id | None = None  # the message sent, edited, deleted or reacted to
    text: str | None = None
    kept: bool = True  # False for plain reads: no history has them
    status: int = 0  # HTTP status of the answer; 0: the connection was cut
    applied: bool = False  # True if it took effect
    description: str = ""  # of a refusal
    seq: int = 0  # ascending over the whole simulator
    at_s: float = field(default_factory=time.monotonic)  # of the simulator


class World(Generic[Id]):
    """The calls that came in, oldest first, and waiting for changes."""

    def __init__(self, *, look_s: float | None = None) -> None:
        """Take how often `until` looks without a change; None: never."""
        self._calls: deque[Call[Id]] = deque(maxlen=HISTORY_KEPT)
        self._look_s = look_s
        self._changed = asyncio.Event()

    @property
    def newest_seq(self) -> int:
        """Return the `seq` of the newest call; 0 before the first."""
        return self._calls[-1].seq if self._calls else 0

    def record(self, call: Call[Id]) -> None:
        """Remember a call that came in."""
        self._calls.append(replace(call, seq=self.newest_seq + 1, at_s=time.monotonic()))
        self.notify()

    def history(self, chat_id: Id | None = None, *, after: int = 0) -> list[Call[Id]]:
        """Return the calls with a `seq` above `after`; with `chat_id` only those for this chat."""
        newest_first = takewhile(lambda call: call.seq > after, reversed(self._calls))
        return [call for call in newest_first if chat_id is None or call.chat_id == chat_id][::-1]

    def notify(self) -> None:
        """Wake the tasks that wait for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def until(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """Wait until `condition()` holds; it is called after every change.

        Raises:
            TimeoutError: it never held.
        """
        async with asyncio.timeout(timeout_s):
            while not condition():
                try:
                    async with asyncio.timeout(self._look_s):
                        await self._changed.wait()
                except TimeoutError:
                    pass


B = TypeVar("B")  # a platform's bot
P = TypeVar("P")  # a platform's person


class BotWorld(World[int], Generic[B, P]):
    """A world whose people have numbers, and whose bots have tokens."""

    def __init__(self, new_person: Callable[[int, str], P], *, look_s: float | None = None) -> None:
        """Take what makes a person of a number and a name."""
        super().__init__(look_s=look_s)
        self.bots: dict[str, B] = {}  # by token
        self.people: dict[int, P] = {}
        self._new_person = new_person

    def bot(self, token: str | None = None) -> B:
        """Return the bot of `token`, or the first one.

        Raises:
            LookupError: there is none yet.
        """
        if token is not None:
            return self.bots[token]
        if not self.bots:
            raise LookupError("no bot yet: add_bot(token) first, or let a bot call in")
        return next(iter(self.bots.values()))

    def person(self, person_id: int) -> P:
        """Return a person by id; a new one is called Person and their number."""
        if person_id not in self.people:
            self.people[person_id] = self._new_person(person_id, f"Person {person_id}")
        return self.people[person_id]
