"""The scenes on Slack and Discord: the same coach, by what is usual there."""

from gateway.demo.chat import INTRODUCED, Chat, Said
from gateway.demo.errors import StoryBroken
from gateway.demo.narrator import Narrator
from gateway.demo.stage import DISCORD_CHANNEL, DISCORD_PERSON, SLACK_CHANNEL
from gateway.demo.windows import DiscordWindow, SlackWindow

CLEO = "U3"


class OnSlack:
    """A person who is let in, uses slash commands, and talks in a thread of a channel."""

    def __init__(self, narrator: Narrator) -> None:
        """Nothing is played before `play`."""
        slack = narrator.stage.slack
        self._narrator = narrator
        direct, room = SlackWindow(slack, "D3", CLEO, "Cleo"), SlackWindow(slack, SLACK_CHANNEL, CLEO, "Cleo")
        self.direct = Chat(direct, "Cleo", narrator.begun_s, narrator.show)
        self.room = Chat(room, "Cleo", narrator.begun_s, narrator.show, room="#practice")

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
        self._narrator = narrator
        window = DiscordWindow(narrator.stage.discord, DISCORD_CHANNEL, DISCORD_PERSON, "Dan")
        self.room = Chat(window, "Dan", narrator.begun_s, narrator.show, room="#general")

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
        if any("1 h 10 min" in answer.text for answer in self._narrator.stage.discord.answers(DISCORD_CHANNEL)):
            raise StoryBroken("the others see how somebody is doing")
        self._narrator.note("How he is doing nobody else in the channel sees.")
        await self.room.until_answered(self.room.command("plan"), by="Summary")
