"""The person's side of the simulated Telegram, in the words that all platforms share."""

import re
from collections.abc import Callable, Mapping

from pydantic import JsonValue

from channels.simulators.shared.person_side import PersonSide, SeenFile, SeenMessage
from channels.simulators.telegram.server import TelegramSimulator
from channels.simulators.telegram.state import PersonFile, ShownMessage

TOKEN = "123456:AAF-made_up_token_for_tests"  # noqa: S105  of a bot that only the simulator knows

_MENTIONS = ("mention", "text_mention")
_NAMED = re.compile(r"(?<![\w`])@[A-Za-z]\w{3,31}")
"""What Telegram takes for a mention by itself, wherever a bot writes it."""


class TelegramPersonSide(PersonSide):
    """Private chats, whose ids are their people's, and supergroups."""

    name = "telegram"
    title = "Telegram"

    def __init__(self, simulator: TelegramSimulator | None = None, token: str = TOKEN) -> None:
        """A bot with this token is made known; None is a simulator as it comes."""
        self.simulator = simulator or TelegramSimulator()
        self.bot = self.simulator.add_bot(token)
        super().__init__(self.simulator)

    def environment(self) -> Mapping[str, str]:
        """See `PersonSide`."""
        return {"TELEGRAM_BOT_TOKEN": self.bot.token, "TELEGRAM_API_BASE": self.simulator.base_url}

    def is_connected(self) -> bool:
        """Whether it has ever polled."""
        return self.bot.updates.polls > 0

    def arrivals(self) -> int:
        """See `PersonSide`."""
        return self.bot.updates.polls

    def count_unacknowledged(self) -> int:
        """See `PersonSide`."""
        return len(self.bot.updates)

    def forget(self) -> None:
        """Telegram keeps updates for a day."""

    def script_fault(self, **fault: JsonValue) -> None:
        """See `PersonSide`."""
        self.simulator.faults.load([fault])

    def calls(self, chat: str) -> int:
        """See `PersonSide`."""
        return len(self.simulator.history(int(chat)))

    def name_person(self, person: int, name: str) -> None:
        """See `PersonSide`; their Telegram is an English one."""
        self.simulator.add_person(person, name, language_code="en")

    def direct(self, person: int) -> str:
        """See `PersonSide`."""
        return str(person)

    def room(self, number: int) -> str:
        """See `PersonSide`."""
        return str(self.simulator.add_chat(-(10**12) - number, "supergroup").id)

    def chats(self) -> list[str]:
        """See `PersonSide`."""
        return [str(chat) for chat in self.bot.chats]

    @property
    def mention(self) -> str:
        """See `PersonSide`."""
        return f"@{self.bot.username}"

    def say(self, chat: str, text: str, *, person: int | None = None, under: str | None = None) -> str:
        """See `PersonSide`."""
        return str(self.simulator.say(int(chat), text, person=person, reply_to=None if under is None else int(under)))

    def send_picture(self, chat: str, content: bytes, text: str = "", *, person: int | None = None) -> str:
        """See `PersonSide`."""
        photo = PersonFile("photo", content)
        return str(self.simulator.send_file(int(chat), photo, caption=text, person=person))

    def command(self, chat: str, name: str, text: str = "", *, person: int | None = None) -> Callable[[], bool]:
        """See `PersonSide`; on Telegram it is a message like others, and kept like them."""
        self.say(chat, f"/{name} {text}".strip(), person=person)
        return lambda: True

    def has_command(self, name: str, text: str) -> bool:
        """See `PersonSide`."""
        return False

    def press(self, chat: str, message_id: str, value: str, *, person: int | None = None) -> None:
        """See `PersonSide`."""
        self.simulator.press(int(chat), int(message_id), value, person=person)

    def edit(self, chat: str, message_id: str, text: str) -> None:
        """See `PersonSide`."""
        self.simulator.edit(int(chat), int(message_id), text)

    def delete(self, chat: str, message_id: str) -> None:
        """See `PersonSide`."""
        self.simulator.delete(int(chat), int(message_id))

    def messages(self, chat: str, person: int | None = None) -> list[SeenMessage]:
        """See `PersonSide`; everybody sees the same."""
        return [self._as_seen(message) for message in self.simulator.messages_in(int(chat))]

    def _find(self, chat: str, message_id: str) -> SeenMessage | None:
        shown = self.bot.chats.get(int(chat))
        message = None if shown is None else shown.messages.get(int(message_id))
        return None if message is None else self._as_seen(message)

    def _as_seen(self, message: ShownMessage) -> SeenMessage:
        files = () if message.file is None else (SeenFile(message.file.name, self.simulator.content(message.file)),)
        named = [str(entity["type"]) for entity in message.entities if entity["type"] in _MENTIONS]
        return SeenMessage(
            str(message.message_id), str(message.chat_id), message.by_bot, message.text, message.at_s, message.entities,
            reaction=next(iter(message.reactions.values()), ""), files=files, buttons=tuple(message.buttons),
            pings=(*named, *_NAMED.findall(message.text)),
        )  # fmt: skip

    def typing(self, chat: str) -> int:
        """See `PersonSide`."""
        return sum(call.method == "sendChatAction" for call in self.simulator.history(int(chat)))
