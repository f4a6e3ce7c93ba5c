"""One person's chat with the bot on a simulated platform, and a record of what both sides do in it."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from channels.simulators.shared.simulator import AnySimulator
from channels.simulators.shared.world import AnyMessage, File
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
    GROWING = "growing"  # a live answer so far
    REACTION = "reaction"  # the bot's, on the person's message `text`


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the record."""

    kind: Kind
    text: str
    at_s: float = 0.0  # time.monotonic()
    who: str = ""  # in chats: the sender
    chat: str = ""  # the name of the chat; "" outside of chats
    new: str = ""  # the end that a GROWING answer has gained; for a REACTION the emoji, "" if it was taken away


@dataclass(slots=True)
class Said:
    """A message, command or press of a person, and its answer."""

    message_id: Any  # "" for a slash command or a press
    text: str
    at_s: float  # time.monotonic()
    meant: bool = True  # for the bot
    answer_after_s: float | None = None  # until the answer was complete
    answer: list[Any] = field(default_factory=list)  # ids of the messages that answer it, in order


class Chat:
    """A chat as one person sees it."""

    def __init__(
        self,
        side: AnySimulator,
        person: int,
        name: str,
        show: Callable[[Entry], None],
        *,
        room: tuple[int, str] | None = None,
    ) -> None:
        """Open the person's direct chat with the bot, or the group chat `room` (number, name)."""
        side.name_person(person, name)
        self.name, self.platform = name, side.title
        self.label = f"{room[1] if room else name} on {side.title}"
        self.said: list[Said] = []
        self.seen: dict[Any, AnyMessage] = {}
        self.unasked: set[Any] = set()  # ids of messages that rightly answer nothing, such as "you are let in"
        self._side, self._person, self._show = side, person, show
        self._chat = side.room(room[0]) if room else side.direct(person)
        self._mention = f"{side.mention} " if room else ""
        self._news = asyncio.Event()

    def say(self, text: str, *, under: Said | None = None, meant: bool = True) -> Said:
        """Write; in a group chat with the bot's name, unless it is not `meant` for the bot or is in a thread."""
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

    def press(self, message: AnyMessage, label: str) -> Said:
        """Press a button under a message.

        Raises:
            StoryBroken: no button has this label.
        """
        value = dict(message.buttons).get(label)
        if value is None:
            raise StoryBroken(f"there is no button {label} in {self.label}")
        self._side.press(self._chat, message.message_id, value, person=self._person)
        return self._record(Said("", f"[{label}]", time.monotonic()), f"(presses the button [{label}])")

    def _record(self, said: Said, shown: str) -> Said:
        self.said.append(said)
        self._show(Entry(Kind.SAID, shown, said.at_s, self.name, self.label))
        return said

    async def until_answered(self, *said: Said, by: str, parts: int = 1) -> list[AnyMessage]:
        """Wait for the complete answer to these messages: `parts` messages, the first of which contains `by`.

        Raises:
            StoryBroken: it did not come.
        """
        await self.until(lambda: bool(self._answer(by, parts)), f"“{by}” in {self.label}")
        answer = self._answer(by, parts)
        complete_at_s = answer[-1].edits[-1].at_s if answer[-1].edits else answer[-1].at_s
        for line in said:
            line.answer = [message.message_id for message in answer]
            line.answer_after_s = complete_at_s - line.at_s
        return answer

    async def until_told(self, by: str) -> AnyMessage:
        """Wait for a message that contains `by` and answers nothing.

        Raises:
            StoryBroken: it did not come.
        """
        (found,) = await self.until_answered(by=by)
        self.unasked.add(found.message_id)
        return found

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds in this chat.

        Raises:
            StoryBroken: it did not within 25 s.
        """
        try:
            async with asyncio.timeout(WAIT_S):
                while not condition():
                    await self._news.wait()
                    self._news.clear()
        except TimeoutError:
            raise StoryBroken(f"waited {WAIT_S:.0f} s in vain for {what}") from None

    @property
    def open(self) -> AnyMessage | None:
        """Return the answer that is being written, or None."""
        return next((message for message in self.seen.values() if message.by_bot and not is_whole(message)), None)

    def reaction(self, said: Said) -> str:
        """Return the bot's reaction on a message."""
        return self.seen[said.message_id].reaction

    def stray(self) -> list[AnyMessage]:
        """Return the bot's messages that answer nothing."""
        asked = self.unasked.union(*(line.answer for line in self.said))
        return [message for message in self.seen.values() if message.by_bot and message.message_id not in asked]

    def _answer(self, by: str, parts: int) -> list[AnyMessage]:
        free = self.stray()
        start = next((at for at, message in enumerate(free) if by in message.text), len(free))
        found = free[start : start + parts]
        return found if len(found) == parts and all(map(is_whole, found)) else []

    async def watch(self) -> None:
        """Record what the bot does, until cancelled."""
        while True:
            with suppress(TimeoutError):
                await self._side.until(self._look, QUIET_S)

    def _look(self) -> bool:
        """Record what is new. Return False always: the simulator calls it after every change."""
        messages = self._side.messages(self._chat, self._person)
        for at, shown in enumerate(messages):
            message = replace(as_read(shown), reactions=dict(shown.reactions), edits=list(shown.edits))
            before = self.seen.get(message.message_id)
            if message == before:
                continue
            self.seen[message.message_id] = message
            self._news.set()
            if not message.by_bot and message.reaction != (before.reaction if before else ""):
                self._show(Entry(Kind.REACTION, message.text, time.monotonic(), BOT, self.label, new=message.reaction))
            elif message.by_bot and (
                before is None or (message.text, message.streaming) != (before.text, before.streaming)
            ):
                kind, new = (Kind.ANSWER, "") if is_whole(message) else (Kind.GROWING, _find_growth(message, before))
                where = f"{self.label}, in a thread" if message.thread is not None else self.label
                if any(below.by_bot and below.thread == shown.thread for below in messages[at + 1 :]):
                    where += ", above its last answer"
                self._show(Entry(kind, _with_files(message), time.monotonic(), BOT, where, new))
        return False


def is_whole(message: AnyMessage) -> bool:
    """Return True if the message is complete."""
    return not message.streaming and not message.text.endswith(GROWS)


def _find_growth(message: AnyMessage, before: AnyMessage | None) -> str:
    """Return the end that a growing text has more than before."""
    earlier = before.text.removesuffix(GROWS).rstrip() if before is not None else ""
    return message.text.removesuffix(GROWS).rstrip().removeprefix(earlier).strip() or GROWS


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
