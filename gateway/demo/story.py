"""The demo's story: people are let in, practise, ask and correct on three platforms, and lose nothing by a kill."""

import re
from collections.abc import Callable, Mapping

from channels.simulators.shared.world import AnyMessage
from gateway.demo.chat import PNG_HEAD, Chat, Entry, Kind, Said
from gateway.demo.stage import DISCORD_PERSON, DISCORD_ROOM, SLACK_ROOM, Stage, StoryBroken

SLOW_WORDS_PER_S = 20.0  # the offline coach at first: slowly enough to be interrupted
QUICK_WORDS_PER_S = 220.0  # after the restart, so that the rest is soon told

INTRODUCED = "I am the offline coach"  # begins the first answer of a conversation
PRACTISED, ENTRIES = "3 h 30 min", 5  # Ana's: 45 + 90 + 30 + 30 + 15 minutes

CODE = re.compile(r"^[A-HJ-NP-Z2-9]{8}$", re.MULTILINE)
"""A pairing code, alone on its line."""

SENDER = re.compile(r"\((\S+?)[,)]")
"""The sender in the output of `tenk pairing approve`."""


class Story:
    """Plays the story, scene by scene, on a stage."""

    def __init__(self, stage: Stage, show: Callable[[Entry], None]) -> None:
        """Open the chats of four people."""
        self._stage, self._show = stage, show
        self.ana, self.ben = Chat(stage.telegram, 1001, "Ana", show), Chat(stage.telegram, 1002, "Ben", show)
        self.cleo = Chat(stage.slack, 3, "Cleo", show)
        self.practice = Chat(stage.slack, 3, "Cleo", show, room=(SLACK_ROOM, "#practice"))
        self.general = Chat(stage.discord, DISCORD_PERSON, "Dan", show, room=(DISCORD_ROOM, "#general"))
        self.chats = (self.ana, self.ben, self.cleo, self.practice, self.general)
        self.while_down: list[Said] = []  # messages that had to wait for the restart
        self.memory_mb: float | None = None

    async def play(self) -> None:
        """Play all scenes.

        Raises:
            StoryBroken: a step failed.
        """
        self._note("Starting the gateway (tenk run): one process, an empty database, three platforms.")
        self._note(_spell(await self._stage.start(SLOW_WORDS_PER_S)))
        await self._a_stranger()
        await self._practice()
        await self._a_correction()
        await self._a_kill()
        await self._plan_and_numbers()
        await self._another_person()
        await self._slack()
        await self._discord()
        self.memory_mb = self._stage.memory_mb()
        await self._stage.end()

    # ------------------------------------------------------------ scenes

    async def _a_stranger(self) -> None:
        self._scene("1. A stranger writes, and is let in")
        hello = self.ana.say("Hello! Are you the practice coach?")
        await self.ana.until_told("This bot is private")
        self._note("She gives the code to the operator, who runs this on the gateway's machine:")
        await self._approve(self.ana)
        await self.ana.until_told("owner")
        await self.ana.until_answered(hello, by=INTRODUCED)
        self._note("What she had said before was kept, and is answered now.")

    async def _practice(self) -> None:
        self._scene("2. She logs what she practised")
        for text, by in (
            ("/log 45m guitar scales", "Logged 45 min"),
            ("/log yesterday 1h30 guitar", "Logged 1 h 30 min"),
        ):
            await self.ana.until_answered(self.ana.say(text), by=by)
        offer = await self.ana.until_answered(self.ana.say("I practised piano for 20 minutes"), by="Shall I log")
        pressed = self.ana.press(offer[0], "Log 20 min piano (new skill), today")
        await self.ana.until_answered(pressed, by="Logged 20 min")

    async def _a_correction(self) -> None:
        self._scene("3. She asks how it goes, and corrects herself while the answer is being written")
        asked = self.ana.say("How am I doing?")
        await self._until_written(self.ana, edits=2)
        corrected = self.ana.say("Sorry, the piano was 30 minutes, not 20")
        label = "piano, 20 min, today → 30 min"
        answer = await self.ana.until_answered(asked, corrected, by=label)
        await self.ana.until_answered(self.ana.press(answer[0], label), by="Corrected")
        if not self.ana.reaction(corrected):
            raise StoryBroken("the correction got no reaction that shows it was taken")
        self._note("One answer to both. The reaction on her correction says that it was taken.")

    async def _a_kill(self) -> None:
        self._scene("4. The process is killed in the middle of an answer")
        logged = self.ana.say("30m guitar")
        asked = self.ana.say("Now show me my numbers, please")
        await self._until_written(self.ana, edits=1)
        open_before = self.ana.open
        self._command(f"kill -9 {self._stage.pid}")
        await self._stage.kill()
        self._note("The gateway is gone; the answer stands half written. People write on, not knowing:")
        warm_up = self.ana.say("/log 15m guitar warm-up")
        hello, chess = self.cleo.say("Hi, may I use this too?"), self.general.say("/log 50m chess")
        self.while_down += [warm_up, hello, chess]
        self._note("The gateway is started again (and told to speak faster, so that the rest is soon told).")
        self._note(f"{_spell(await self._stage.start(QUICK_WORDS_PER_S))} It goes on where it stood.")
        answer = await self.ana.until_answered(logged, asked, by="Logged 30 min")
        await self.ana.until_answered(warm_up, by="Logged 15 min")
        await self.cleo.until_told("This bot is private")
        await self.general.until_answered(chess, by="Logged 50 min")
        if open_before is None or answer[0].message_id != open_before.message_id:
            raise StoryBroken("the half-written answer was not finished in its place")
        self._note(
            "The answer that was cut is whole now, where it had begun: above the command, whose 15 minutes came later."
        )

    async def _plan_and_numbers(self) -> None:
        self._scene("5. A plan for her week, a chart, and all her numbers")
        await self.ana.until_answered(self.ana.say("/plan"), by="Summary")
        drawn = await self._confirm()
        if not any(file.content.startswith(PNG_HEAD) for seen in drawn for file in seen.files):
            raise StoryBroken("the chart should be a PNG")
        stats = await self.ana.until_answered(self.ana.say("/stats"), by="Your journey")
        if PRACTISED not in stats[0].text:
            raise StoryBroken(f"her practice should add up to {PRACTISED}: an entry was lost or doubled")
        self._note(f"{PRACTISED} in all: each entry counts once, also those around the kill.")
        exported = await self.ana.until_answered(self.ana.say("/export"), by=f"{ENTRIES} entries")
        rows = [file.content.count(b"\n") for seen in exported for file in seen.files]
        if rows != [1 + ENTRIES]:
            raise StoryBroken(f"the exported file should hold a head and {ENTRIES} lines")

    async def _confirm(self) -> list[AnyMessage]:
        self._note("The operator wants pictures confirmed (ask = plot_progress), so she is asked first:")
        wish = self.ana.say("Draw me a chart, please")
        question = await self.ana.until_told("May I do this")
        pressed = self.ana.press(question, "Allow once")
        return await self.ana.until_answered(wish, pressed, by="Your practice")

    async def _another_person(self) -> None:
        self._scene("6. A second person has a chat and data of their own")
        hello = self.ben.say("Hi, Ana told me about you")
        await self.ben.until_told("This bot is private")
        request = await self.ana.until_told("asks to be let in")
        self._note("Ana is the owner, so she is asked, and decides with a button:")
        await self.ana.until_answered(self.ana.press(request, "Approve"), by="is in. I have told them")
        await self.ben.until_told("You are in")
        await self.ben.until_answered(hello, by=INTRODUCED)
        stats = await self.ben.until_answered(self.ben.say("/stats"), by="Nothing is logged yet")
        if "guitar" in stats[0].text.removesuffix("/log 45m guitar scales."):
            raise StoryBroken("Ben sees Ana's data")
        self._note("Nothing of Ana's. He asks for something long, which Telegram takes in parts only:")
        asked = self.ben.say("Explain how deliberate practice works")
        await self.ben.until_answered(asked, by="How deliberate practice works", parts=2)

    async def _slack(self) -> None:
        self._scene("7. The same coach on Slack: slash commands and a thread")
        self._note("Cleo has had her code since the restart. The operator lets her in:")
        await self._approve(self.cleo)
        await self.cleo.until_told("You are in")
        await self.cleo.until_answered(*self.cleo.said, by=INTRODUCED)
        for name, text, by in (
            ("log", "25m singing", "Logged 25 min"),
            ("coach", "I practised singing for 15 minutes", "Logged 15 min"),
            ("stats", "", "40 min"),
            ("plan", "", "Summary"),
        ):
            await self.cleo.until_answered(self.cleo.command(name, text), by=by)
        asked = self.practice.say("30m singing")
        found = await self.practice.until_answered(asked, by="Logged 30 min")
        found += await self.practice.until_answered(self.practice.say("How am I doing?", under=asked), by="singing")
        if {seen.thread for seen in found} != {asked.message_id}:
            raise StoryBroken("the answers do not stand in the thread under Cleo's message")
        self._note("Both answers stand in the thread under her message; there she need not name the bot.")

    async def _discord(self) -> None:
        self._scene("8. And on Discord, in a channel where not all is meant for it")
        self._note("The configuration names the channel and lets Dan in. He asks the others something first:")
        self.general.say("Anybody up for a game of chess tonight?", meant=False)
        quoted = await self.general.until_answered(self.general.say("/log 20m @everyone"), by="everyone")
        if any(seen.pings for seen in quoted):
            raise StoryBroken("the answer pinged everyone")
        self._note("The answer says @everyone and notifies no one. It left alone what he said to the others.")
        await self.general.until_answered(self.general.command("stats"), by="1 h 10 min")
        discord = self._stage.discord
        if any("1 h 10 min" in answer.text for answer in discord.answers(discord.room(DISCORD_ROOM))):
            raise StoryBroken("the others see how Dan is doing")
        self._note("Only he sees how he is doing.")
        await self.general.until_answered(self.general.command("plan"), by="Summary")

    # ------------------------------------------------------------ parts of scenes

    def _scene(self, text: str) -> None:
        self._show(Entry(Kind.SCENE, text))

    def _note(self, text: str) -> None:
        self._show(Entry(Kind.NOTE, text))

    def _command(self, text: str) -> None:
        self._show(Entry(Kind.COMMAND, text))

    async def _approve(self, chat: Chat) -> None:
        """Approve a chat's person as an operator would, by the pairing code shown in the chat."""
        code = next((found[0] for seen in chat.seen.values() if (found := CODE.search(seen.text))), None)
        if code is None:
            raise StoryBroken(f"{chat.name} was given no pairing code")
        self._command(f"tenk pairing approve {code}")
        self._show(Entry(Kind.OUTPUT, await self._stage.tenk("pairing", "approve", code)))

    async def _until_written(self, chat: Chat, edits: int) -> None:
        """Wait until a live answer has grown so many times."""

        def has_grown() -> bool:
            return chat.open is not None and len(chat.open.edits) >= edits

        await chat.until(has_grown, f"an answer that grows in {chat.label}")


def _spell(ready: Mapping[str, float]) -> str:
    return f"It reads from {', '.join(f'{name} after {after_s:.1f} s' for name, after_s in ready.items())}."
