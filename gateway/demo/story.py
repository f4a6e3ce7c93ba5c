"""The story: a stranger is let in, practises, asks, corrects, and loses nothing when the process is killed."""

import re
import time
from collections.abc import Callable

from gateway.demo.chat import Chat, Said
from gateway.demo.errors import StoryBroken
from gateway.demo.stage import Stage
from gateway.demo.transcript import Entry, Kind

ANA, BEN = 1001, 1002
SLOW_WORDS_PER_S = 20.0
"""How fast the offline coach speaks at first: slowly enough that somebody can interrupt it."""

QUICK_WORDS_PER_S = 150.0
"""And after the restart, so that the rest is soon told."""

PRACTISED = "3 h 30 min"
"""What Ana's entries add up to: 45 + 90 + 30 + 30 + 15 minutes."""

CODE = re.compile(r"^[A-HJ-NP-Z2-9]{8}$", re.MULTILINE)
"""A pairing code, alone on its line."""


class Story:
    """Plays it, scene by scene, on a stage."""

    def __init__(self, stage: Stage, show: Callable[[Entry], None]) -> None:
        """Nothing is played before `play`."""
        self._stage = stage
        self._show = show
        self._begun_s = time.monotonic()
        self.ana = Chat(stage.simulator, ANA, "Ana", self._begun_s, show)
        self.ben = Chat(stage.simulator, BEN, "Ben", self._begun_s, show)
        self.while_down: list[Said] = []
        self.memory_mb: float | None = None

    @property
    def chats(self) -> tuple[Chat, ...]:
        """Everybody's chat."""
        return self.ana, self.ben

    @property
    def lasted_s(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._begun_s

    async def play(self) -> None:
        """All of it.

        Raises:
            StoryBroken: a step did not come to its end.
        """
        await self._curtain()
        await self._a_stranger()
        await self._practice()
        await self._a_correction()
        await self._a_kill()
        await self._plan_and_numbers()
        await self._another_person()
        await self._the_end()

    # ------------------------------------------------------------ scenes

    async def _curtain(self) -> None:
        self._note("Starting the gateway (tenk run) with an empty database, against a simulated Telegram.")
        await self._stage.start(SLOW_WORDS_PER_S)
        self._note(f"It reads from Telegram after {self.lasted_s:.1f} s.")

    async def _a_stranger(self) -> None:
        self._scene("1. A stranger writes, and is let in")
        hello = self.ana.say("Hello! Are you the practice coach?")
        await self.ana.answered(hello, by="This bot is private")
        self._note("She gives the code to the operator, who runs this on the gateway's machine:")
        await self._approve(self.ana)
        await self.ana.told("owner")

    async def _practice(self) -> None:
        self._scene("2. She logs what she practised")
        for text, by in (
            ("/log 45m guitar scales", "Logged 45 min"),
            ("/log yesterday 1h30 guitar", "Logged 1 h 30 min"),
            ("I practised piano for 20 minutes", "Logged 20 min"),
        ):
            await self.ana.answered(self.ana.say(text), by=by)

    async def _a_correction(self) -> None:
        self._scene("3. She asks how it goes, and corrects herself while the answer is being written")
        asked = self.ana.say("How am I doing?")
        await self._written(self.ana, edits=2)
        corrected = self.ana.say("Sorry, the piano was 30 minutes, not 20")
        await self.ana.answered(asked, corrected, by="Corrected")
        if not self.ana.reaction(corrected):
            raise StoryBroken("the correction got no reaction that shows it was taken")
        self._note("One answer to both. The reaction on her correction says that it was taken.")

    async def _a_kill(self) -> None:
        self._scene("4. The process is killed in the middle of an answer")
        logged = self.ana.say("30m guitar, the new song")
        asked = self.ana.say("Now show me everything, please")
        await self._written(self.ana, edits=1)
        open_before = self.ana.open
        self._command(f"kill -9 {self._stage.pid}")
        await self._stage.kill()
        self._note("The gateway is gone; the answer stands half written. Ana writes on, not knowing:")
        self.while_down.append(self.ana.say("/log 15m guitar warm-up"))
        before_s = self.lasted_s
        self._note("The gateway is started again (and told to speak faster, so that the rest is soon told).")
        await self._stage.start(QUICK_WORDS_PER_S)
        self._note(f"It reads again after {self.lasted_s - before_s:.1f} s, and goes on where it stood.")
        answer = await self.ana.answered(logged, asked, by="Logged 30 min")
        await self.ana.answered(*self.while_down, by="Logged 15 min")
        if open_before is None or answer[0].message_id != open_before.message_id:
            raise StoryBroken("the half-written answer was not finished in its place")

    async def _plan_and_numbers(self) -> None:
        self._scene("5. A plan for her week, and all her numbers")
        await self.ana.answered(self.ana.say("/plan"), by="Summary")
        stats = await self.ana.answered(self.ana.say("/stats"), by="Your journey")
        if PRACTISED not in stats[0].text:
            raise StoryBroken(f"her practice should add up to {PRACTISED}: an entry was lost or doubled")
        self._note(f"{PRACTISED} in all: each entry counts once, also those around the kill.")

    async def _another_person(self) -> None:
        self._scene("6. A second person has a chat and data of their own")
        await self.ben.answered(self.ben.say("Hi, Ana told me about you"), by="This bot is private")
        await self.ana.told("asks to be let in")
        self._note("Ana, as the owner, is told of it. The operator lets Ben in:")
        await self._approve(self.ben)
        await self.ben.told("You are in")
        stats = await self.ben.answered(self.ben.say("/stats"), by="Nothing is logged yet")
        if "guitar" in stats[0].text.removesuffix("/log 45m guitar scales."):
            raise StoryBroken("Ben sees Ana's data")
        self._note("Nothing of Ana's. He asks for something long, which Telegram takes in parts only:")
        asked = self.ben.say("Explain how deliberate practice works")
        await self.ben.answered(asked, by="How deliberate practice works", parts=2)

    async def _the_end(self) -> None:
        self.memory_mb = self._stage.memory_mb()
        await self._stage.end()

    # ------------------------------------------------------------ parts of scenes

    async def _approve(self, chat: Chat) -> None:
        """The operator lets somebody in by the code that stands in their chat."""
        code = next((found[0] for seen in chat.seen.values() if (found := CODE.search(seen.text))), None)
        if code is None:
            raise StoryBroken(f"{chat.name} was given no pairing code")
        self._command(f"tenk pairing approve {code}")
        printed = await self._stage.tenk("pairing", "approve", code)
        self._show(Entry(Kind.OUTPUT, printed, self.lasted_s))

    async def _written(self, chat: Chat, edits: int) -> None:
        """Wait until a live answer has grown so many times."""

        def grown() -> bool:
            return chat.open is not None and chat.open.edits >= edits

        await chat.until(grown, f"an answer that grows in {chat.name}'s chat")

    def _scene(self, text: str) -> None:
        self._show(Entry(Kind.SCENE, text, self.lasted_s))

    def _note(self, text: str) -> None:
        self._show(Entry(Kind.NOTE, text, self.lasted_s))

    def _command(self, text: str) -> None:
        self._show(Entry(Kind.COMMAND, text, self.lasted_s))
