"""Steering on Discord and Slack by native commands: reactions, modes, `! `, /btw, /stop, /retry."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.world import AnyMessage
from gateway.testing.model import Fault, Reply
from tests.journeys.house import said, slow
from tests.journeys.streets import DiscordStreet, PlatformStreet, SlackStreet, TelegramStreet, street

BOUNDED = "[access.limits]\nburst_messages = 26\nmessages_per_min = 1\n"


@dataclass(frozen=True, slots=True)
class Talker:
    here: PlatformStreet
    chat: str

    def say(self, words: str) -> str:
        return self.here.side.say(self.chat, words)

    def use(self, name: str, words: str = "") -> None:
        side = self.here.side
        if isinstance(self.here, TelegramStreet):
            side.say(self.chat, f"/{name} {words}".strip())
        elif isinstance(side, DiscordSimulator) and words:
            (command,) = [one for one in side.bot.commands if one["name"] == name]
            option = command["options"][0]["name"]  # type: ignore[index,call-overload]  as the gateway declared it
            side.command(self.chat, name, {str(option): words})
        else:
            side.command(self.chat, name, words)

    def texts(self) -> list[str]:
        return [one.text for one in self.here.side.answers(self.chat)]

    async def reads(self, words: str) -> str:
        """Wait for it."""
        await self.here.here.until(
            lambda: any(words in text for text in self.texts()), f"{words!r} among {self.texts()}"
        )
        return next(text for text in reversed(self.texts()) if words in text)

    def message(self, id_: str) -> AnyMessage:
        return next(one for one in self.here.side.messages(self.chat) if one.message_id == id_)

    async def signed(self, id_: str, *, wanted: bool = True) -> None:
        """Wait until a message has a sign, or none."""
        await self.here.here.until(lambda: bool(self.message(id_).reaction) == wanted, f"a sign: {wanted}")


async def answers_are_steered(owner: Talker) -> None:
    model, until = owner.here.here.model, owner.here.here.asked
    model.answers(slow("First thought."), Reply("Second thought."))
    owner.say("one")
    await until(1)
    await owner.signed(owner.say("two"))
    await owner.reads("Second thought.")
    owner.use("mode", "collect")
    await owner.reads("collect")
    model.answers(slow("Third."), Reply("All together."))
    owner.say("three")
    await until(3)
    waiting = [owner.say(words) for words in ("four", "five")]
    await owner.signed(waiting[0])
    await owner.reads("All together.")
    assert ["four", "five"] == said(model.requests[-1].body)[-2:]
    await owner.signed(waiting[0], wanted=False)
    model.answers(slow("word " * 200, 20.0), Reply("Tuesday."), Reply("In short: yes."))
    owner.say("tell me everything")
    await owner.reads("word")
    owner.use("btw", "which day is it?")
    await owner.reads("Tuesday.")
    owner.say("! briefly, please")
    await owner.reads("In short: yes.")


async def what_waits_is_changed_and_cleared(owner: Talker) -> None:
    model, here = owner.here.here.model, owner.here.here
    count = len(model.requests)
    owner.here.side.command(owner.chat, "coach", "mode followup")  # as whatever the platform does not declare
    await owner.reads("and gets its own answer")
    model.answers(slow("word " * 20, 2.0), Reply("Scales are patience."))
    owner.say("go on")
    await here.asked(count + 1)
    planned = owner.say("/plan")
    await owner.signed(planned)
    owner.here.side.edit(owner.chat, planned, "what are scales?")
    await owner.reads("Scales are patience.")
    assert said(model.requests[-1].body)[-1].endswith("what are scales?")
    model.answers(Fault(hang=True))
    owner.say("and again")
    await here.asked(count + 3)
    await owner.signed(owner.say("what about chords?"))
    owner.use("stop")
    assert "what about chords?" in await owner.reads("Cleared 1 waiting message")
    await here.settled()
    model.answers(Reply("Here again."))
    owner.use("retry")
    await owner.reads("Here again.")
    assert "and again" == said(model.requests[-1].body)[-1]


async def goes_back(owner: Talker) -> None:
    model = owner.here.here.model
    owner.use("new")
    await owner.reads("new conversation")
    model.answers(Reply("Noted: cats."), Reply("One."))
    owner.say("I like cats")
    await owner.reads("Noted: cats.")
    owner.use("sessions")
    await owner.reads("Conversations here")
    (listed,) = [one for one in owner.here.side.answers(owner.chat) if "Conversations here" in one.text]
    ((label, value),) = listed.buttons
    assert "2. one" == label
    owner.here.side.press(owner.chat, listed.message_id, value)
    await owner.reads("We are back in “one”")
    owner.say("what did I say first?")
    await owner.reads("One.")
    assert "one" == said(model.requests[-1].body)[0]


async def too_much_is_told_once(owner: Talker) -> None:
    for id_ in [owner.say(f"message {number}") for number in range(30)][-2:]:
        await owner.signed(id_)
    await owner.here.here.settled()
    assert 1 == sum("That was too much at once" in text for text in owner.texts()), owner.texts()


@pytest.mark.gate
@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", [DiscordStreet, SlackStreet])
async def test_an_owner_steers(tmp_path: Path, kind: Callable[[], PlatformStreet]) -> None:
    async with street(kind, tmp_path, people=1, config=BOUNDED) as one:
        here = cast(PlatformStreet, one)
        await here.let_in(1)
        owner = Talker(here, here.side.direct(1))
        await answers_are_steered(owner)
        await what_waits_is_changed_and_cleared(owner)
        await goes_back(owner)
        await too_much_is_told_once(owner)
