"""One person's chat with the bot on a simulated platform: what they write, what they see, and a record of both."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from channels.simulators.shared.simulator import AnySimulator
from channels.simulators.shared.world import AnyMessage, File, JsonObject
from gateway.demo.marks import as_read
from gateway.demo.stage import StoryBroken

GROWS = "…"  # ends an answer that is still being written
BOT = "TenK"
PNG_HEAD = b"\x89PNG\r\n\x1a\n"
QUIET_S = 600.0
WAIT_S = 25.0


class Kind(StrEnum):
    """The kinds of entries in the record."""

    SCENE = "scene"  # a heading
    NOTE = "note"  # the narrator
    COMMAND = "command"  # what the operator types
    OUTPUT = "output"  # what the operator reads
    SAID = "said"  # a person writes
    ANSWER = "answer"  # a complete message of the bot's
    GROWING = "growing"  # a live answer as it stands
    REACTION = "reaction"  # the bot's, on the person's message `text`


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was seen."""

    kind: Kind
    text: str
    at_s: float = 0.0  # time.monotonic()
    who: str = ""  # in chats: the sender
    chat: str = ""  # the name of the chat; "" outside of chats
    entities: tuple[JsonObject, ...] = ()  # styles, as Telegram's Bot API gives them
    new: str = ""  # the end that a GROWING answer has gained; for a REACTION the emoji, "" if it was taken away


@dataclass(slots=True)
class Said:
    """Something a person wrote or did, and the answer to it."""

    message_id: Any  # "" for a slash command or a press
    text: str
    at_s: float  # time.monotonic()
    meant: bool = True  # for the bot
    answer_after_s: float | None = None  # until the answer was complete
    answer: list[Any] = field(default_factory=list)  # ids of the messages that answer it, in order


@dataclass(frozen=True, slots=True)
class Seen:
    """A message of the bot's as it was last seen."""

    message: AnyMessage
    at_s: float  # when it was last seen to change
    edits: int = 0

    @property
    def text(self) -> str:
        """Return its text."""
        return self.message.text

    @property
    def whole(self) -> bool:
        """Return True if it is complete."""
        return not self.text.endswith(GROWS) and not self.message.streaming


class Chat:
    """A chat as one person has it before them."""

    def __init__(
        self, side: AnySimulator, person: int, name: str, show: Callable[[Entry], None],
        *, room: tuple[int, str] | None = None,
    ) -> None:  # fmt: skip
        """Open the person's direct chat with the bot, or the group chat `room` (number, name)."""
        side.name_person(person, name)
        self.name, self.platform = name, side.title
        self.label = f"{room[1] if room else name} on {side.title}"
        self.said: list[Said] = []
        self.seen: dict[Any, Seen] = {}
        self.unasked: set[Any] = set()  # ids of messages that rightly answer nothing, such as "you are let in"
        self._side, self._person, self._show = side, person, show
        self._chat = side.room(room[0]) if room else side.direct(person)
        self._mention = f"{side.mention} " if room else ""
        self._news = asyncio.Event()
        self._reactions: dict[Any, str] = {}

    # ------------------------------------------------------------ the person

    def say(self, text: str, *, under: Said | None = None, meant: bool = True) -> Said:
        """Write; in a group chat with the bot's name, unless it is not `meant` for the bot or stands in a thread."""
        mention = self._mention if meant and under is None else ""
        at_s = time.monotonic()
        above = None if under is None else under.message_id
        message_id = self._side.say(self._chat, mention + text, person=self._person, under=above)
        return self._record(Said(message_id, text, at_s, meant), f"@{BOT} {text}" if mention else text)

    def command(self, name: str, text: str = "") -> Said:
        """Use a slash command."""
        self._side.command(self._chat, name, text, person=self._person)
        typed = f"/{name} {text}".strip()
        return self._record(Said("", typed, time.monotonic()), typed)

    def press(self, message: Seen, label: str) -> Said:
        """Press a button under a message.

        Raises:
            StoryBroken: no button has this label.
        """
        value = next((value for shown, value in message.message.buttons if shown == label), None)
        if value is None:
            raise StoryBroken(f"there is no button {label} in {self.label}")
        self._side.press(self._chat, message.message.message_id, value, person=self._person)
        return self._record(Said("", f"[{label}]", time.monotonic()), f"(presses the button [{label}])")

    def _record(self, said: Said, shown: str) -> Said:
        self.said.append(said)
        self._show(Entry(Kind.SAID, shown, said.at_s, self.name, self.label))
        return said

    async def until_answered(self, *said: Said, by: str, parts: int = 1) -> list[Seen]:
        """Wait for the complete answer to these messages: `parts` messages, the first of which contains `by`.

        Raises:
            StoryBroken: it did not come.
        """
        await self.until(lambda: bool(self._answer(by, parts)), f"“{by}” in {self.label}")
        answer = self._answer(by, parts)
        for line in said:
            line.answer = [seen.message.message_id for seen in answer]
            line.answer_after_s = answer[-1].at_s - line.at_s
        return answer

    async def until_told(self, by: str) -> Seen:
        """Wait for a message that contains `by` and answers nothing.

        Raises:
            StoryBroken: it did not come.
        """
        await self.until(lambda: bool(self._answer(by, 1)), f"“{by}” in {self.label}")
        found = self._answer(by, 1)[0]
        self.unasked.add(found.message.message_id)
        return found

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds in this chat.

        Raises:
            StoryBroken: it did not within 25 s.
        """
        try:
            async with asyncio.timeout(WAIT_S):
                while not condition():
                    news = self._news
                    await news.wait()
        except TimeoutError:
            raise StoryBroken(f"waited {WAIT_S:.0f} s in vain for {what}") from None

    @property
    def open(self) -> Seen | None:
        """Return the answer that is being written, or None."""
        return next((seen for seen in self.seen.values() if not seen.whole), None)

    def reaction(self, said: Said) -> str:
        """Return the bot's reaction on a message."""
        return self._reactions.get(said.message_id, "")

    def stray(self) -> list[Seen]:
        """Return the bot's messages that answer nothing."""
        asked = self.unasked.union(*(line.answer for line in self.said))
        return [seen for message_id, seen in self.seen.items() if message_id not in asked]

    def _answer(self, by: str, parts: int) -> list[Seen]:
        free = self.stray()
        start = next((at for at, seen in enumerate(free) if by in seen.text), None)
        found = free[start : start + parts] if start is not None else []
        return found if len(found) == parts and all(seen.whole for seen in found) else []

    # ------------------------------------------------------------ the bot

    async def watch(self) -> None:
        """Record what the bot does, until cancelled."""
        while True:
            with suppress(TimeoutError):
                await self._side.until(self._look, QUIET_S)

    def _look(self) -> bool:
        """Record what is new. Return False always: the simulator calls it after every change."""
        news = False
        for message in map(as_read, self._side.messages(self._chat, self._person)):
            news = (self._note_message(message) if message.by_bot else self._note_reaction(message)) or news
        if news:
            happened, self._news = self._news, asyncio.Event()
            happened.set()
        return False

    def _note_reaction(self, message: AnyMessage) -> bool:
        if message.reaction == self._reactions.get(message.message_id, ""):
            return False
        self._reactions[message.message_id] = message.reaction
        self._show(Entry(Kind.REACTION, message.text, time.monotonic(), BOT, self.label, new=message.reaction))
        return True

    def _note_message(self, message: AnyMessage) -> bool:
        before = self.seen.get(message.message_id)
        if before is not None and before.message == message:
            return False
        changed = before is None or before.text != message.text or before.message.streaming != message.streaming
        now_s, edits = time.monotonic(), 0 if before is None else before.edits + changed
        self.seen[message.message_id] = now = Seen(message, now_s if changed or before is None else before.at_s, edits)
        if changed:
            kind, new = (Kind.ANSWER, "") if now.whole else (Kind.GROWING, _find_growth(message.text, before))
            where = f"{self.label}, in a thread" if message.thread is not None else self.label
            self._show(Entry(kind, _with_files(message), now_s, BOT, where, message.entities or (), new))
        return True


def _find_growth(text: str, before: Seen | None) -> str:
    """Return the end that a growing text has more than before."""
    earlier = before.text.removesuffix(GROWS).rstrip() if before is not None else ""
    return text.removesuffix(GROWS).rstrip().removeprefix(earlier).strip() or GROWS


def _with_files(message: AnyMessage) -> str:
    """Return the text, with a line for each file and one for the buttons."""
    files = [f"[{_kind_of(file)}, {len(file.content):,} bytes]" for file in message.files]
    buttons = ["  ".join(f"[{label}]" for label, _ in message.buttons)] if message.buttons else []
    return "\n".join([message.text, *files, *buttons]).strip()


def _kind_of(file: File) -> str:
    """Return a file's name, or the size of a PNG (PNG specification, 11.2.2)."""
    if not file.content.startswith(PNG_HEAD):
        return f"file {file.name}"
    wide, high = (int.from_bytes(file.content[at : at + 4]) for at in (16, 20))
    return f"PNG, {wide} x {high} pixels"
