"""One person's window on a chat of a simulated platform: what they do there, and what they see, alike for all three."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.discord.state import ShownMessage as DiscordMessage
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.slack.state import ShownMessage as SlackMessage
from channels.simulators.telegram.checks import JsonObject
from channels.simulators.telegram.server import TelegramSimulator
from channels.simulators.telegram.state import ShownMessage as TelegramMessage
from gateway.demo.marks import without_marks

_MENTIONS = ("mention", "text_mention")
_NAMED = re.compile(r"(?<![\w`])@[A-Za-z]\w{3,31}")
"""What Telegram takes for a mention by itself, wherever a bot writes it."""


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file in a message."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Shown:
    """A message as somebody sees it now."""

    message_id: str
    by_bot: bool
    text: str  # without marks
    at_s: float  # time.monotonic() when it appeared
    entities: tuple[JsonObject, ...] = ()  # the looks of `text`, as the Bot API gives them
    reaction: str = ""
    thread: str | None = None
    streaming: bool = False  # the platform itself says that it is being written
    files: tuple[SharedFile, ...] = ()
    buttons: tuple[tuple[str, str], ...] = ()  # label and what a press says
    pings: tuple[str, ...] = ()  # whom it notified


class Window(Protocol):
    """A chat as one person sees it."""

    platform: str
    mention: str
    """How somebody writes to the bot where others are; "" where nobody else is."""
    types_in_threads: bool
    """Whether the bot is seen typing in threads alone."""

    def say(self, text: str, under: str | None = None) -> str:
        """Write; `under` is the message whose thread it belongs into. Returns the message's id."""
        ...

    def command(self, name: str, text: str) -> None:
        """Use a slash command of the platform's own, which says nothing in the chat."""
        ...

    def press(self, message_id: str, value: str) -> None:
        """Press a button."""
        ...

    def shown(self) -> list[Shown]:
        """Everything this person sees, in order."""
        ...

    def typing(self) -> int:
        """How often the bot was seen typing."""
        ...

    async def until(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """Wait for a change after which `condition()` holds.

        Raises:
            TimeoutError: there was none.
        """
        ...


class TelegramWindow:
    """A private chat."""

    platform = "Telegram"
    types_in_threads = False
    mention = ""

    def __init__(self, simulator: TelegramSimulator, person: int, name: str) -> None:
        simulator.add_person(person, name, language_code="en")
        self._simulator, self._person = simulator, person

    def say(self, text: str, under: str | None = None) -> str:
        """See `Window`."""
        return str(self._simulator.say(self._person, text, reply_to=None if under is None else int(under)))

    def command(self, name: str, text: str) -> None:
        """See `Window`; on Telegram a command is a message like others."""
        self.say(f"/{name} {text}".strip())

    def press(self, message_id: str, value: str) -> None:
        """See `Window`."""
        self._simulator.press(self._person, int(message_id), value)

    def shown(self) -> list[Shown]:
        """See `Window`."""
        return [self._as_seen(one) for one in self._simulator.messages_in(self._person)]

    def _as_seen(self, one: TelegramMessage) -> Shown:
        files = () if one.file is None else (SharedFile(one.file.name, self._simulator.content(one.file)),)
        told = [str(entity["type"]) for entity in one.entities if entity["type"] in _MENTIONS]
        return Shown(
            str(one.message_id), one.by_bot, one.text, one.at_s, one.entities,
            reaction=next(iter(one.reactions.values()), ""), files=files, buttons=tuple(one.buttons),
            pings=(*told, *_NAMED.findall(one.text)),
        )  # fmt: skip

    def typing(self) -> int:
        """See `Window`."""
        return sum(call.method == "sendChatAction" for call in self._simulator.history(self._person))

    async def until(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """See `Window`."""
        await self._simulator.until(condition, timeout_s=timeout_s)


class SlackWindow:
    """A direct message (D1 with U1) or a channel."""

    platform = "Slack"
    types_in_threads = True  # Slack shows a status nowhere else

    def __init__(self, simulator: SlackSimulator, chat: str, person: str, name: str) -> None:
        simulator.add_person(person, name)
        self._simulator, self._chat, self._person = simulator, chat, person
        self.mention = "" if chat.startswith("D") else f"<@{simulator.world.the_app().user}>"

    def say(self, text: str, under: str | None = None) -> str:
        """See `Window`."""
        return self._simulator.say(self._chat, text, person=self._person, thread=under)

    def command(self, name: str, text: str) -> None:
        """See `Window`."""
        self._simulator.command(self._chat, f"/{name}", text, person=self._person)

    def press(self, message_id: str, value: str) -> None:
        """See `Window`."""
        self._simulator.press(self._chat, message_id, value, person=self._person)

    def shown(self) -> list[Shown]:
        """See `Window`; what only others see is not among it."""
        mine = (None, self._person)
        return [self._as_seen(one) for one in self._simulator.messages_in(self._chat) if one.ephemeral_for in mine]

    def _as_seen(self, one: SlackMessage) -> Shown:
        text, entities = without_marks(one.text)
        return Shown(
            one.ts, one.by_bot, text, one.at_s, entities,
            reaction=next((f":{name}:" for name, who in one.reactions.items() if who), ""), thread=one.thread,
            streaming=one.streaming, files=tuple([self._file(str(file["id"])) for file in one.files]),
            buttons=tuple([(str(button.get("text")), str(button.get("value"))) for button in one.buttons]),
            pings=one.pings,
        )  # fmt: skip

    def _file(self, file_id: str) -> SharedFile:
        file = self._simulator.world.files[file_id]
        return SharedFile(file.name, file.content)

    def typing(self) -> int:
        """See `Window`."""
        return sum(bool(status) for _, status, _ in self._simulator.world.chat(self._chat).statuses)

    async def until(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """See `Window`."""
        await self._simulator.until(condition, timeout_s=timeout_s)


class DiscordWindow:
    """A channel of a server."""

    platform = "Discord"
    types_in_threads = False

    def __init__(self, simulator: DiscordSimulator, channel: int, person: int, name: str) -> None:
        simulator.add_person(person, name)
        self._simulator, self._channel, self._person = simulator, channel, person
        self.mention = f"<@{simulator.world.bot().id}>"

    def say(self, text: str, under: str | None = None) -> str:
        """See `Window`."""
        reply_to = None if under is None else int(under)
        return str(self._simulator.say(self._channel, text, person=self._person, reply_to=reply_to))

    def command(self, name: str, text: str) -> None:
        """See `Window`."""
        self._simulator.command(self._channel, name, {"text": text} if text else None, person=self._person)

    def press(self, message_id: str, value: str) -> None:
        """See `Window`."""
        self._simulator.press(self._channel, int(message_id), value, person=self._person)

    def shown(self) -> list[Shown]:
        """See `Window`; a command that is being thought about shows nothing yet."""
        theirs = self._simulator.shown(self._channel, self._person)
        return [self._as_seen(one) for one in theirs if not one.loading]

    def _as_seen(self, one: DiscordMessage) -> Shown:
        text, entities = without_marks(one.text)
        reactions = [emoji for who, emojis in one.reactions.items() if who != self._person for emoji in emojis]
        keys = [key for row in one.components for key in _objects(row.get("components"))]
        return Shown(
            str(one.message_id), one.by_bot, text, one.at_s, entities, reaction="".join(reactions[:1]),
            files=tuple([SharedFile(file.name, file.content) for file in one.files]),
            buttons=tuple([(str(key.get("label")), str(key.get("custom_id"))) for key in keys]), pings=one.pings,
        )  # fmt: skip

    def typing(self) -> int:
        """See `Window`."""
        return len(self._simulator.world.channels[self._channel].typing)

    async def until(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """See `Window`."""
        await self._simulator.until(condition, timeout_s=timeout_s)


def _objects(value: object) -> list[JsonObject]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
