"""The story: people are let in, practise, ask and correct on three platforms, and lose nothing by a kill."""

import re
import time
from collections.abc import Callable, Mapping

from gateway.demo.chat import INTRODUCED, PNG_HEAD, Chat, Said
from gateway.demo.stage import DISCORD_PERSON, DISCORD_ROOM, SLACK_ROOM, Stage, StoryBroken
from gateway.demo.transcript import Entry, Kind

ANA, BEN, CLEO = 1001, 1002, 3
SLOW_WORDS_PER_S = 20.0
"""How fast the offline coach speaks at first: slowly enough that somebody can interrupt it."""

QUICK_WORDS_PER_S = 220.0
"""And after the restart, so that the rest is soon told."""

PRACTISED = "3 h 30 min"
"""What Ana's entries add up to: 45 + 90 + 30 + 30 + 15 minutes."""

ENTRIES = 5
"""And how many they are."""

CODE = re.compile(r"^[A-HJ-NP-Z2-9]{8}$", re.MULTILINE)
"""A pairing code, alone on its line."""


class Narrator:
    """Tells scenes, notes and commands to `show`, and when they were."""

    def __init__(self, stage: Stage, show: Callable[[Entry], None]) -> None:
        """The story begins now."""
        self.stage = stage
        self.show = show
        self.begun_s = time.monotonic()

    @property
    def lasted_s(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.begun_s

    def scene(self, text: str) -> None:
        """A heading."""
        self.show(Entry(Kind.SCENE, text, self.lasted_s))

    def note(self, text: str) -> None:
        """A remark."""
        self.show(Entry(Kind.NOTE, text, self.lasted_s))

    def command(self, text: str) -> None:
        """What the operator types."""
        self.show(Entry(Kind.COMMAND, text, self.lasted_s))

    async def approve(self, chat: Chat) -> None:
        """The operator lets somebody in by the code that stands in their chat.

        Raises:
            StoryBroken: there is no code, or it is not taken.
        """
        code = next((found[0] for seen in chat.seen.values() if (found := CODE.search(seen.text))), None)
        if code is None:
            raise StoryBroken(f"{chat.name} was given no pairing code")
        self.command(f"tenk pairing approve {code}")
        printed = await self.stage.tenk("pairing", "approve", code)
        self.show(Entry(Kind.OUTPUT, printed, self.lasted_s))


class OnSlack:
    """A person who is let in, uses slash commands, and talks in a thread of a channel."""

    def __init__(self, narrator: Narrator) -> None:
        """Nothing is played before `play`."""
        slack = narrator.stage.slack
        self._narrator = narrator
        self.direct = Chat(slack, CLEO, "Cleo", narrator.begun_s, narrator.show)
        self.room = Chat(slack, CLEO, "Cleo", narrator.begun_s, narrator.show, room=(SLACK_ROOM, "#practice"))

    def knock(self) -> Said:
        """A stranger writes."""
        return self.direct.say("Hi, may I use this too?")

    async def told_code(self) -> None:
        """They are told their code.

        Raises:
            StoryBroken: they are not.
        """
        await self.direct.until_told("This bot is private")

    async def play(self) -> None:
        """The scene, for somebody who has knocked and was told a code.

        Raises:
            StoryBroken: a step did not come to its end.
        """
        self._narrator.scene("7. The same coach on Slack: slash commands and a thread")
        self._narrator.note("Cleo has had her code since the restart. The operator lets her in:")
        await self._narrator.approve(self.direct)
        await self.direct.until_told("You are in")
        await self.direct.until_answered(*self.direct.said, by=INTRODUCED)
        for name, text, by in (
            ("log", "25m singing", "Logged 25 min"),
            ("coach", "I practised singing for 15 minutes", "Logged 15 min"),
            ("stats", "", "40 min"),
            ("plan", "", "Summary"),
        ):
            await self.direct.until_answered(self.direct.command(name, text), by=by)
        await self._in_a_thread()

    async def _in_a_thread(self) -> None:
        asked = self.room.say("30m singing, the choir piece")
        found = await self.room.until_answered(asked, by="Logged 30 min")
        further = self.room.say("How am I doing?", under=asked)
        found += await self.room.until_answered(further, by="singing")
        if {seen.message.thread for seen in found} != {asked.message_id}:
            raise StoryBroken("the answers do not stand in the thread under Cleo's message")
        self._narrator.note("Both answers stand in the thread under her message; there she need not name the bot.")


class OnDiscord:
    """A channel of a server, where not everything is meant for the bot."""

    def __init__(self, narrator: Narrator) -> None:
        """Nothing is played before `play`."""
        self._narrator, self._discord = narrator, narrator.stage.discord
        room = (DISCORD_ROOM, "#general")
        self.room = Chat(self._discord, DISCORD_PERSON, "Dan", narrator.begun_s, narrator.show, room=room)

    def log(self) -> Said:
        """Somebody the configuration lets in logs practice."""
        return self.room.say("/log 50m chess")

    async def told_logged(self, logged: Said) -> None:
        """They are told that it is logged.

        Raises:
            StoryBroken: they are not.
        """
        await self.room.until_answered(logged, by="Logged 50 min")

    async def play(self) -> None:
        """The scene, for somebody who logged something.

        Raises:
            StoryBroken: a step did not come to its end.
        """
        self._narrator.scene("8. And on Discord, in a channel where not all is meant for it")
        self._narrator.note("The configuration names the channel and lets Dan in. He asks the others something first:")
        self.room.say("Anybody up for a game of chess tonight?", meant=False)
        quoted = await self.room.until_answered(self.room.say("/log 20m @everyone"), by="everyone")
        if any(seen.message.pings for seen in quoted):
            raise StoryBroken("the answer pinged everyone")
        self._narrator.note("The answer says @everyone and notifies nobody. What he said to others was left alone.")
        await self.room.until_answered(self.room.command("stats"), by="1 h 10 min")
        if any("1 h 10 min" in answer.text for answer in self._discord.answers(self._discord.room(DISCORD_ROOM))):
            raise StoryBroken("the others see how somebody is doing")
        self._narrator.note("How he is doing nobody else in the channel sees.")
        await self.room.until_answered(self.room.command("plan"), by="Summary")


class Story:
    """Plays it, scene by scene, on a stage."""

    def __init__(self, stage: Stage, show: Callable[[Entry], None]) -> None:
        """Nothing is played before `play`."""
        self._stage = stage
        self._narrator = narrator = Narrator(stage, show)
        self.ana, self.ben = (
            Chat(stage.telegram, person, name, narrator.begun_s, show) for person, name in ((ANA, "Ana"), (BEN, "Ben"))
        )
        self._slack, self._discord = OnSlack(narrator), OnDiscord(narrator)
        self.while_down: list[Said] = []
        self.memory_mb: float | None = None

    @property
    def chats(self) -> tuple[Chat, ...]:
        """Everybody's chats."""
        return self.ana, self.ben, self._slack.direct, self._slack.room, self._discord.room

    @property
    def lasted_s(self) -> float:
        """Seconds since it began."""
        return self._narrator.lasted_s

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
        await self._slack.play()
        await self._discord.play()
        await self._the_end()

    # ------------------------------------------------------------ scenes

    async def _curtain(self) -> None:
        self._narrator.note("Starting the gateway (tenk run): one process, an empty database, three platforms.")
        ready = await self._stage.start(SLOW_WORDS_PER_S)
        self._narrator.note(_spell(ready))

    async def _a_stranger(self) -> None:
        self._narrator.scene("1. A stranger writes, and is let in")
        hello = self.ana.say("Hello! Are you the practice coach?")
        await self.ana.until_told("This bot is private")
        self._narrator.note("She gives the code to the operator, who runs this on the gateway's machine:")
        await self._narrator.approve(self.ana)
        await self.ana.until_told("owner")
        await self.ana.until_answered(hello, by=INTRODUCED)
        self._narrator.note("What she had said before was kept, and is answered now.")

    async def _practice(self) -> None:
        self._narrator.scene("2. She logs what she practised")
        for text, by in (
            ("/log 45m guitar scales", "Logged 45 min"),
            ("/log yesterday 1h30 guitar", "Logged 1 h 30 min"),
        ):
            await self.ana.until_answered(self.ana.say(text), by=by)
        new_skill = await self.ana.until_answered(
            self.ana.say("I practised piano for 20 minutes"), by="New skill “piano”?"
        )
        await self.ana.until_answered(self.ana.press(new_skill[0], "Yes"), by="Logged 20 min")

    async def _a_correction(self) -> None:
        self._narrator.scene("3. She asks how it goes, and corrects herself while the answer is being written")
        asked = self.ana.say("How am I doing?")
        await self._until_written(self.ana, edits=2)
        corrected = self.ana.say("Sorry, the piano was 30 minutes, not 20")
        await self.ana.until_answered(asked, corrected, by="Corrected")
        if not self.ana.reaction(corrected):
            raise StoryBroken("the correction got no reaction that shows it was taken")
        self._narrator.note("One answer to both. The reaction on her correction says that it was taken.")

    async def _a_kill(self) -> None:
        self._narrator.scene("4. The process is killed in the middle of an answer")
        logged = self.ana.say("30m guitar, the new song")
        asked = self.ana.say("Now show me everything, please")
        await self._until_written(self.ana, edits=1)
        open_before = self.ana.open
        self._narrator.command(f"kill -9 {self._stage.pid}")
        await self._stage.kill()
        self._narrator.note("The gateway is gone; the answer stands half written. People write on, not knowing:")
        warm_up, hello, chess = self.ana.say("/log 15m guitar warm-up"), self._slack.knock(), self._discord.log()
        self.while_down += [warm_up, hello, chess]
        self._narrator.note("The gateway is started again (and told to speak faster, so that the rest is soon told).")
        self._narrator.note(f"{_spell(await self._stage.start(QUICK_WORDS_PER_S))} It goes on where it stood.")
        answer = await self.ana.until_answered(logged, asked, by="Logged 30 min")
        await self.ana.until_answered(warm_up, by="Logged 15 min")
        await self._slack.told_code()
        await self._discord.told_logged(chess)
        if open_before is None or answer[0].message_id != open_before.message_id:
            raise StoryBroken("the half-written answer was not finished in its place")
        self._narrator.note("The short command came first; the answer that was cut is whole now, where it had begun.")

    async def _plan_and_numbers(self) -> None:
        self._narrator.scene("5. A plan for her week, a chart, and all her numbers")
        await self.ana.until_answered(self.ana.say("/plan"), by="Summary")
        await self._confirm()
        drawn = await self.ana.until_answered(self.ana.say("/chart"), by="Your practice")
        if not any(file.content.startswith(PNG_HEAD) for seen in drawn for file in seen.message.files):
            raise StoryBroken("the chart should be a PNG")
        stats = await self.ana.until_answered(self.ana.say("/stats"), by="Your journey")
        if PRACTISED not in stats[0].text:
            raise StoryBroken(f"her practice should add up to {PRACTISED}: an entry was lost or doubled")
        self._narrator.note(f"{PRACTISED} in all: each entry counts once, also those around the kill.")
        exported = await self.ana.until_answered(self.ana.say("/export"), by=f"{ENTRIES} entries")
        rows = [file.content.count(b"\n") for seen in exported for file in seen.message.files]
        if rows != [1 + ENTRIES]:
            raise StoryBroken(f"the exported file should hold a head and {ENTRIES} lines")

    async def _confirm(self) -> None:
        self._narrator.note("The operator wants changes of skills confirmed (ask = edit_skill), so she is asked first:")
        wish = self.ana.say("Rename piano to keyboard")
        question = await self.ana.until_told("May I use")
        pressed = self.ana.press(question, "Allow once")
        await self.ana.until_answered(wish, pressed, by="keyboard")

    async def _another_person(self) -> None:
        self._narrator.scene("6. A second person has a chat and data of their own")
        hello = self.ben.say("Hi, Ana told me about you")
        await self.ben.until_told("This bot is private")
        request = await self.ana.until_told("asks to be let in")
        self._narrator.note("Ana is the owner, so she is asked, and decides with a button:")
        await self.ana.until_answered(self.ana.press(request, "Approve"), by="is in, and has been told")
        await self.ben.until_told("You are in")
        await self.ben.until_answered(hello, by=INTRODUCED)
        stats = await self.ben.until_answered(self.ben.say("/stats"), by="Nothing is logged yet")
        if "guitar" in stats[0].text.removesuffix("/log 45m guitar scales."):
            raise StoryBroken("Ben sees Ana's data")
        self._narrator.note("Nothing of Ana's. He asks for something long, which Telegram takes in parts only:")
        asked = self.ben.say("Explain how deliberate practice works")
        await self.ben.until_answered(asked, by="How deliberate practice works", parts=2)

    async def _the_end(self) -> None:
        self.memory_mb = self._stage.memory_mb()
        await self._stage.end()

    # ------------------------------------------------------------ parts of scenes

    async def _until_written(self, chat: Chat, edits: int) -> None:
        """Wait until a live answer has grown so many times."""

        def has_grown() -> bool:
            return chat.open is not None and chat.open.edits >= edits

        await chat.until(has_grown, f"an answer that grows in {chat.label}")


def _spell(ready: Mapping[str, float]) -> str:
    """From when on each platform was read."""
    return f"It reads from {', from '.join(f'{name} after {after_s:.1f} s' for name, after_s in ready.items())}."
