"""One person's chat with the bot: what they write, and what they see come of it, told from their side."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from channels.simulators.shared.person_side import PersonSide, SeenFile, SeenMessage
from channels.simulators.telegram.checks import JsonObject
from gateway.demo.stage import StoryBroken
from gateway.demo.transcript import Entry, Kind, as_read

GOES_ON = "…"
"""Stands at the end of an answer that is still being written."""

BOT = "TenK"
PNG_HEAD = b"\x89PNG\r\n\x1a\n"
INTRODUCED = "I am the offline coach"  # begins the first answer of a conversation
QUIET_S = 600.0


@dataclass(slots=True)
class Said:
    """Something a person wrote or did, and what they got for it."""

    message_id: str  # "" for a slash command or a press
    text: str
    at_s: float  # time.monotonic()
    meant: bool = True  # for the bot
    sign_after_s: float | None = None  # until the first thing they saw: typing, a reaction, a message
    answer_after_s: float | None = None  # until the answer was whole
    answer: list[str] = field(default_factory=list)  # the messages that answer it, in order


@dataclass(frozen=True, slots=True)
class Seen:
    """A message of the bot's as it was last seen."""

    message: SeenMessage
    at_s: float  # when it was last seen to change
    edits: int = 0

    @property
    def text(self) -> str:
        """What it says."""
        return self.message.text

    @property
    def message_id(self) -> str:
        """Which it is."""
        return self.message.message_id

    @property
    def whole(self) -> bool:
        """Whether it is done."""
        return not self.text.endswith(GOES_ON) and not self.message.streaming


class Chat:
    """A chat as one person has it before them."""

    def __init__(
        self,
        side: PersonSide,
        person: int,
        name: str,
        begun_s: float,
        show: Callable[[Entry], None],
        *,
        room: tuple[int, str] | None = None,
    ) -> None:
        """Nothing is said yet.

        Args:
            side: the platform.
            person: whose chat it is.
            name: what they are called there.
            begun_s: when the story began.
            show: takes what the person sees.
            room: the number and the name of a chat of many; None is the person's own with the bot.
        """
        side.name_person(person, name)
        self.name = name
        self.platform = side.title
        self.label = f"{room[1] if room else name} on {side.title}"
        self._side, self._person = side, person
        self._chat = side.room(room[0]) if room else side.direct(person)
        self._mention = f"{side.mention} " if room else ""
        self.said: list[Said] = []
        self.seen: dict[str, Seen] = {}
        self.unasked: set[str] = set()  # messages that answer nothing, and should: the news of being let in
        self._begun_s = begun_s
        self._show = show
        self._news = asyncio.Event()
        self._typing = 0
        self._reactions: dict[str, str] = {}

    # ------------------------------------------------------------ the person

    def say(self, text: str, *, under: Said | None = None, meant: bool = True) -> Said:
        """Write. Where others are, what is `meant` for the bot begins with its name, but for what stands `under`."""
        mention = self._mention if meant and under is None else ""
        at_s = time.monotonic()
        above = None if under is None else under.message_id
        message_id = self._side.say(self._chat, mention + text, person=self._person, under=above)
        said = Said(message_id, text, at_s, meant)
        return self._did(said, f"@{BOT} {text}" if mention else text, thread=under is not None)

    def command(self, name: str, text: str = "") -> Said:
        """Use a slash command."""
        self._side.command(self._chat, name, text, person=self._person)
        told = f"/{name} {text}".strip()
        return self._did(Said("", told, time.monotonic()), told)

    def press(self, message: Seen, label: str) -> Said:
        """Press a button under a message.

        Raises:
            StoryBroken: there is none with this label.
        """
        value = next((value for shown, value in message.message.buttons if shown == label), None)
        if value is None:
            raise StoryBroken(f"there is no button {label} in {self.label}")
        self._side.press(self._chat, message.message_id, value, person=self._person)
        return self._did(Said("", f"[{label}]", time.monotonic()), f"(presses the button [{label}])")

    def _did(self, said: Said, told: str, *, thread: bool = False) -> Said:
        self.said.append(said)
        self._tell(Kind.SAID, told, said.at_s, who=self.name, thread=thread)
        return said

    async def until_answered(self, *said: Said, by: str, parts: int = 1, within_s: float = 25.0) -> list[Seen]:
        """Wait for the whole answer to these messages: `parts` messages, the first of which says `by`.

        Raises:
            StoryBroken: it did not come.
        """
        await self.until(lambda: bool(self._answer(by, parts)), f"“{by}” in {self.label}", within_s)
        answer = self._answer(by, parts)
        for line in said:
            line.answer = [seen.message_id for seen in answer]
            line.answer_after_s = answer[-1].at_s - line.at_s
        return answer

    async def until_told(self, by: str, within_s: float = 25.0) -> Seen:
        """Wait for a message that answers nothing.

        Raises:
            StoryBroken: it did not come.
        """
        await self.until(lambda: bool(self._answer(by, 1)), f"“{by}” in {self.label}", within_s)
        found = self._answer(by, 1)[0]
        self.unasked.add(found.message_id)
        return found

    async def until(self, condition: Callable[[], bool], what: str, within_s: float = 25.0) -> None:
        """Wait for something to be seen in this chat.

        Raises:
            StoryBroken: it was not.
        """
        try:
            async with asyncio.timeout(within_s):
                while not condition():
                    news = self._news
                    await news.wait()
        except TimeoutError:
            raise StoryBroken(f"waited {within_s:.0f} s in vain for {what}") from None

    @property
    def open(self) -> Seen | None:
        """The answer that is being written, as it stands."""
        return next((seen for seen in self.seen.values() if not seen.whole), None)

    def reaction(self, said: Said) -> str:
        """The bot's reaction on a message."""
        return self._reactions.get(said.message_id, "")

    def stray(self) -> list[Seen]:
        """What the bot said that nobody asked for."""
        asked = self.unasked.union(*(line.answer for line in self.said))
        return [seen for message_id, seen in self.seen.items() if message_id not in asked]

    def _answer(self, by: str, parts: int) -> list[Seen]:
        """The first `parts` messages from the one that says `by` on, where all are whole and answer nothing else."""
        free = self.stray()
        start = next((at for at, seen in enumerate(free) if by in seen.text), None)
        found = free[start : start + parts] if start is not None else []
        return found if len(found) == parts and all(seen.whole for seen in found) else []

    # ------------------------------------------------------------ what the bot does

    async def watch(self) -> None:
        """Tell what the bot does, as it does it; returns never."""
        while True:
            with suppress(TimeoutError):
                await self._side.until(self._look, QUIET_S)

    def _look(self) -> bool:
        """Show what is new. Never holds: it is called after every change."""
        now_s = time.monotonic()
        typing = self._side.typing(self._chat)
        news = typing > self._typing
        if news:
            self._typing = typing
            self._note_sign(None, now_s)
            if self.open is None:  # else the growing answer says it better
                self._tell(Kind.SIGN, "", now_s, sign="typing", thread=self._side.types_in_threads)
        for message in map(as_read, self._side.messages(self._chat, self._person)):
            news = (self._wrote(message, now_s) if message.by_bot else self._note_reaction(message, now_s)) or news
        if news:
            told, self._news = self._news, asyncio.Event()
            told.set()
        return False

    def _note_reaction(self, message: SeenMessage, at_s: float) -> bool:
        if message.reaction == self._reactions.get(message.message_id, ""):
            return False
        self._reactions[message.message_id] = message.reaction
        self._note_sign(message.message_id, at_s)
        self._tell(Kind.SIGN, message.text, at_s, sign=message.reaction)
        return True

    def _wrote(self, message: SeenMessage, at_s: float) -> bool:
        before = self.seen.get(message.message_id)
        if before is not None and before.message == message:
            return False
        changed = before is None or before.text != message.text or before.message.streaming != message.streaming
        self.seen[message.message_id] = now = Seen(
            message, at_s if changed or before is None else before.at_s, 0 if before is None else before.edits + changed
        )
        if not changed:
            return True  # other buttons, say: nobody reads a difference
        self._note_sign(None, at_s)
        text, thread = _as_told(message), message.thread is not None
        if now.whole:
            self._tell(Kind.ANSWER, text, at_s, entities=message.entities or (), thread=thread)
            return True
        grown = text.removesuffix(GOES_ON).rstrip()
        earlier = before.text.removesuffix(GOES_ON).rstrip() if before is not None else ""
        new = grown.removeprefix(earlier) if grown.startswith(earlier) else grown
        self._tell(Kind.GROWING, text, at_s, entities=message.entities or (), new=new.strip() or GOES_ON, thread=thread)
        return True

    def _note_sign(self, message_id: str | None, at_s: float) -> None:
        """Note the first sign of life: on one message, or for all that wait."""
        for line in self.said:
            if line.meant and line.sign_after_s is None and message_id in (None, line.message_id):
                line.sign_after_s = at_s - line.at_s

    def _tell(
        self,
        kind: Kind,
        text: str,
        at_s: float,
        *,
        who: str = BOT,
        entities: tuple[JsonObject, ...] = (),
        sign: str = "",
        new: str = "",
        thread: bool = False,
    ) -> None:
        where = f"{self.label}, in a thread" if thread else self.label
        self._show(Entry(kind, text, at_s - self._begun_s, who, where, entities, sign, new))


def _kind_of(file: SeenFile) -> str:
    """What a file is; of a PNG its size, which stands in its head (PNG specification, 11.2.2)."""
    if not file.content.startswith(PNG_HEAD):
        return f"file {file.name}"
    wide, high = (int.from_bytes(file.content[at : at + 4]) for at in (16, 20))
    return f"PNG, {wide} x {high} pixels"


def _as_told(message: SeenMessage) -> str:
    """A message with a line for each file, and one for its buttons."""
    files = [f"[{_kind_of(file)}, {len(file.content):,} bytes]" for file in message.files]
    buttons = ["  ".join(f"[{label}]" for label, _ in message.buttons)] if message.buttons else []
    return "\n".join([message.text, *files, *buttons]).strip()
