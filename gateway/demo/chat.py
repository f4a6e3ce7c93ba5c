"""One person's chat with the bot: what they write, and what they see come of it, told from the simulator's side."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from channels.telegram.simulator.checks import JsonObject
from channels.telegram.simulator.server import TelegramSimulator
from channels.telegram.simulator.state import Arrived, ShownMessage
from gateway.demo.errors import StoryBroken
from gateway.demo.transcript import Entry, Kind

GOES_ON = "…"
"""Stands at the end of an answer that is still being written."""

BOT = "TenK"


@dataclass(slots=True)
class Said:
    """Something a person wrote, and what they got for it."""

    message_id: int
    text: str
    at_s: float  # time.monotonic()
    sign_after_s: float | None = None  # until the first thing they saw: typing, a reaction, a message
    answer_after_s: float | None = None  # until the answer was whole
    answer: list[int] = field(default_factory=list)  # the messages that answer it, in order


@dataclass(frozen=True, slots=True)
class Seen:
    """A message of the bot's as it was last seen."""

    message_id: int
    text: str
    at_s: float
    edits: int = 0

    @property
    def whole(self) -> bool:
        """Whether it is done."""
        return not self.text.endswith(GOES_ON)


class Chat:
    """The chat of one person; `note` is told of every call that the bot makes in it."""

    def __init__(
        self, simulator: TelegramSimulator, person_id: int, name: str, begun_s: float, show: Callable[[Entry], None]
    ) -> None:
        """`begun_s` is when the story began; `show` takes what the person sees."""
        simulator.add_person(person_id, name, language_code="en")
        self._simulator = simulator
        self._begun_s = begun_s
        self._show = show
        self._news = asyncio.Event()
        self.id = person_id
        self.name = name
        self.said: list[Said] = []
        self.seen: dict[int, Seen] = {}
        self.unasked: set[int] = set()  # messages that answer nothing, and should: the news of being let in

    # ------------------------------------------------------------ the person

    def say(self, text: str) -> Said:
        """Write to the bot."""
        message_id = self._simulator.say(self.id, text)
        message = self._message(message_id)
        said = Said(message_id, text, message.at_s)
        self.said.append(said)
        self._tell(Kind.SAID, text, message.at_s, who=self.name)
        return said

    async def answered(self, *said: Said, by: str, parts: int = 1, within_s: float = 25.0) -> list[Seen]:
        """Wait for the whole answer to these messages: `parts` messages, the first of which says `by`.

        Raises:
            StoryBroken: it did not come.
        """
        await self.until(lambda: bool(self._answer(by, parts)), f"“{by}” in {self.name}'s chat", within_s)
        answer = self._answer(by, parts)
        for one in said:
            one.answer = [seen.message_id for seen in answer]
            one.answer_after_s = answer[-1].at_s - one.at_s
        return answer

    async def told(self, by: str, within_s: float = 25.0) -> None:
        """Wait for a message that answers nothing.

        Raises:
            StoryBroken: it did not come.
        """
        await self.until(lambda: bool(self._answer(by, 1)), f"“{by}” in {self.name}'s chat", within_s)
        self.unasked.add(self._answer(by, 1)[0].message_id)

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
        return next(iter(self._message(said.message_id).reactions.values()), "")

    def stray(self) -> list[Seen]:
        """What the bot said that nobody asked for."""
        asked = self.unasked.union(*(one.answer for one in self.said))
        return [seen for message_id, seen in self.seen.items() if message_id not in asked]

    def _answer(self, by: str, parts: int) -> list[Seen]:
        """The first `parts` messages from the one that says `by` on, where all are whole and answer nothing else."""
        taken = self.unasked.union(*(one.answer for one in self.said))
        free = [seen for message_id, seen in sorted(self.seen.items()) if message_id not in taken]
        start = next((at for at, seen in enumerate(free) if by in seen.text), None)
        found = free[start : start + parts] if start is not None else []
        return found if len(found) == parts and all(seen.whole for seen in found) else []

    # ------------------------------------------------------------ what the bot does

    def note(self, call: Arrived) -> None:
        """Show what one call of the bot's changed for this person."""
        if call.method == "sendChatAction":
            self._signed(None, call.at_s)
            if self.open is None:  # else the growing answer says it better
                self._tell(Kind.SIGN, "", call.at_s, sign="typing")
        elif call.method == "setMessageReaction" and call.message_id is not None:
            self._reacted(call.message_id, call.at_s)
        elif call.method in ("sendMessage", "editMessageText") and call.message_id is not None:
            self._wrote(call.message_id, call.text or "", call.at_s)
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _reacted(self, message_id: int, at_s: float) -> None:
        message = self._message(message_id)
        self._signed(message_id, at_s)
        self._tell(Kind.SIGN, message.text, at_s, sign=next(iter(message.reactions.values()), ""))

    def _wrote(self, message_id: int, text: str, at_s: float) -> None:
        before = self.seen.get(message_id)
        if before is not None and before.text == text:
            return  # said again, with other entities at most: nobody sees a difference
        self._signed(None, at_s)
        now = Seen(message_id, text, at_s, 0 if before is None else before.edits + 1)
        self.seen[message_id] = now
        shown = self._message(message_id)
        entities = shown.entities if shown.text == text else ()
        if now.whole:
            self._tell(Kind.ANSWER, text, at_s, entities=entities)
            return
        grown = text.removesuffix(GOES_ON).rstrip()
        earlier = before.text.removesuffix(GOES_ON).rstrip() if before is not None else ""
        new = grown.removeprefix(earlier) if grown.startswith(earlier) else grown
        self._tell(Kind.GROWING, text, at_s, entities=entities, new=new.strip() or GOES_ON)

    def _signed(self, message_id: int | None, at_s: float) -> None:
        """Note the first sign of life: on one message, or for all that wait."""
        for one in self.said:
            if one.sign_after_s is None and message_id in (None, one.message_id):
                one.sign_after_s = at_s - one.at_s

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
    ) -> None:
        self._show(Entry(kind, text, at_s - self._begun_s, who, self.name, entities, sign, new))

    def _message(self, message_id: int) -> ShownMessage:
        return self._simulator.world.bot().chats[self.id].messages[message_id]


async def watch(simulator: TelegramSimulator, chats: Sequence[Chat]) -> None:
    """Tell each chat what the bot does in it; returns never."""
    last = 0
    by_id = {chat.id: chat for chat in chats}
    while True:
        with_news = simulator.history(after=last)
        for call in with_news:
            last = call.seq
            chat = by_id.get(call.chat_id or 0)
            if chat is not None and call.applied:
                chat.note(call)
        if not with_news:
            await simulator.until(lambda: bool(simulator.history(after=last)), timeout_s=600)  # noqa: B023  awaited here
