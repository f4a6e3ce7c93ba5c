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
class ShownMessage:
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


class ClientWindow(Protocol):
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

    def visible_messages(self) -> list[ShownMessage]:
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
        """See `ClientWindow`."""
        return str(self._simulator.say(self._person, text, reply_to=None if under is None else int(under)))

    def command(self, name: str, text: str) -> None:
        """See `ClientWindow`; on Telegram a command is a message like others."""
        self.say(f"/{name} {text}".strip())

    def press(self, message_id: str, value: str) -> None:
        """See `ClientWindow`."""
        self._simulator.press(self._person, int(message_id), value)

    def visible_messages(self) -> list[ShownMessage]:
        """See `ClientWindow`."""
        return [self._as_seen(message) for message in self._simulator.messages_in(self._person)]

    def _as_seen(self, message: TelegramMessage) -> ShownMessage:
        files = () if message.file is None else (SharedFile(message.file.name, self._simulator.content(message.file)),)
        told = [str(entity["type"]) for entity in message.entities if entity["type"] in _MENTIONS]
        return ShownMessage(
            str(message.message_id), message.by_bot, message.text, message.at_s, message.entities,
            reaction=next(iter(message.reactions.values()), ""), files=files, buttons=tuple(message.buttons),
            pings=(*told, *_NAMED.findall(message.text)),
        )  # fmt: skip

    def typing(self) -> int:
        """See `ClientWindow`."""
        return sum(call.method == "sendChatAction" for call in self._simulator.history(self._person))

    async def until(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """See `ClientWindow`."""
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
        """See `ClientWindow`."""
        return self._simulator.say(self._chat, text, person=self._person, thread=under)

    def command(self, name: str, text: str) -> None:
        """See `ClientWindow`."""
        self._simulator.command(self._chat, f"/{name}", text, person=self._person)

    def press(self, message_id: str, value: str) -> None:
        """See `ClientWindow`."""
        self._simulator.press(self._chat, message_id, value, person=self._person)

    def visible_messages(self) -> list[ShownMessage]:
        """See `ClientWindow`; what only others see is not among it."""
        mine = (None, self._person)
        return [
            self._as_seen(message)
            for message in self._simulator.messages_in(self._chat)
            if message.ephemeral_for in mine
        ]

    def _as_seen(self, message: SlackMessage) -> ShownMessage:
        text, entities = without_marks(message.text)
        return ShownMessage(
            message.ts, message.by_bot, text, message.at_s, entities,
            reaction=next((f":{name}:" for name, who in message.reactions.items() if who), ""), thread=message.thread,
            streaming=message.streaming, files=tuple([self._file(str(file["id"])) for file in message.files]),
            buttons=tuple([(str(button.get("text")), str(button.get("value"))) for button in message.buttons]),
            pings=message.pings,
        )  # fmt: skip

    def _file(self, file_id: str) -> SharedFile:
        file = self._simulator.world.files[file_id]
        return SharedFile(file.name, file.content)

    def typing(self) -> int:
        """See `ClientWindow`."""
        return sum(bool(status) for _, status, _ in self._simulator.world.chat(self._chat).statuses)

    async def until(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """See `ClientWindow`."""
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
        """See `ClientWindow`."""
        reply_to = None if under is None else int(under)
        return str(self._simulator.say(self._channel, text, person=self._person, reply_to=reply_to))

    def command(self, name: str, text: str) -> None:
        """See `ClientWindow`."""
        self._simulator.command(self._channel, name, {"text": text} if text else None, person=self._person)

    def press(self, message_id: str, value: str) -> None:
        """See `ClientWindow`."""
        self._simulator.press(self._channel, int(message_id), value, person=self._person)

    def visible_messages(self) -> list[ShownMessage]:
        """See `ClientWindow`; a command that is being thought about shows nothing yet."""
        theirs = self._simulator.messages_in(self._channel, self._person)
        return [self._as_seen(message) for message in theirs if not message.loading]

    def _as_seen(self, message: DiscordMessage) -> ShownMessage:
        text, entities = without_marks(message.text)
        reactions = [emoji for who, emojis in message.reactions.items() if who != self._person for emoji in emojis]
        keys = [key for row in message.components for key in _objects(row.get("components"))]
        return ShownMessage(
            str(message.message_id), message.by_bot, text, message.at_s, entities, reaction="".join(reactions[:1]),
            files=tuple([SharedFile(file.name, file.content) for file in message.files]),
            buttons=tuple([(str(key.get("label")), str(key.get("custom_id"))) for key in keys]), pings=message.pings,
        )  # fmt: skip

    def typing(self) -> int:
        """See `ClientWindow`."""
        return len(self._simulator.world.channels[self._channel].typing)

    async def until(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """See `ClientWindow`."""
        await self._simulator.until(condition, timeout_s=timeout_s)


def _objects(value: object) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
