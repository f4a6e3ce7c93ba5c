"""The person's side of the simulated Discord, in the words that all platforms share."""

from collections.abc import Callable, Mapping

from pydantic import JsonValue

from channels.simulators.discord.checks import objects_in
from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.discord.state import ShownMessage
from channels.simulators.shared.person_side import PersonSide, SeenFile, SeenMessage

TOKEN = "made-up.token.for-tests"  # noqa: S105  of a bot that only the simulator knows
GUILD = 5_000


class DiscordPersonSide(PersonSide):
    """Direct conversations, whose ids are their people's, and the channels of one server."""

    name = "discord"
    title = "Discord"

    def __init__(self, simulator: DiscordSimulator | None = None, token: str = TOKEN) -> None:
        """A bot with this token is made known; None is a simulator as it comes."""
        self.simulator = simulator or DiscordSimulator()
        self.bot = self.simulator.add_bot(token)
        super().__init__(self.simulator)

    def environment(self) -> Mapping[str, str]:
        """See `PersonSide`."""
        return {"DISCORD_BOT_TOKEN": self.bot.token, "DISCORD_API_BASE": self.simulator.base_url}

    def is_connected(self) -> bool:
        """See `PersonSide`."""
        return self.bot.sessions.connected

    def arrivals(self) -> int:
        """See `PersonSide`."""
        return self.bot.sessions.identifies + self.bot.sessions.resumes

    def count_unacknowledged(self) -> int:
        """Nothing: Discord is told how far a session is only when it is taken up again."""
        return 0

    def forget(self) -> None:
        """See `PersonSide`: no session can be resumed."""
        self.simulator.forget_sessions()

    def script_fault(self, **fault: JsonValue) -> None:
        """See `PersonSide`."""
        self.simulator.faults.load([fault])

    def calls(self, chat: str) -> int:
        """See `PersonSide`."""
        return len(self.simulator.history(int(chat)))

    def name_person(self, person: int, name: str) -> None:
        """See `PersonSide`."""
        self.simulator.add_person(person, name)

    def direct(self, person: int) -> str:
        """See `PersonSide`."""
        return str(person)

    def room(self, number: int) -> str:
        """See `PersonSide`."""
        if number not in self.simulator.world.channels:
            self.simulator.add_channel(number, GUILD)
        return str(number)

    def chats(self) -> list[str]:
        """See `PersonSide`."""
        return [str(channel) for channel in self.simulator.world.channels]

    @property
    def mention(self) -> str:
        """See `PersonSide`."""
        return f"<@{self.bot.id}>"

    def say(self, chat: str, text: str, *, person: int | None = None, under: str | None = None) -> str:
        """See `PersonSide`."""
        return str(self.simulator.say(int(chat), text, person=person, reply_to=None if under is None else int(under)))

    def send_picture(self, chat: str, content: bytes, text: str = "", *, person: int | None = None) -> str:
        """See `PersonSide`."""
        return str(self.simulator.say(int(chat), text, person=person, files={"picture.png": content}))

    def command(self, chat: str, name: str, text: str = "", *, person: int | None = None) -> Callable[[], bool]:
        """See `PersonSide`; its text is the option of that name."""
        used = self.simulator.command(int(chat), name, {"text": text} if text else None, person=person)
        return lambda: used.acked_at_s is not None

    def has_command(self, name: str, text: str) -> bool:
        """See `PersonSide`: one that takes these words, as its option `text` or as none at all."""
        options = next((command.get("options") for command in self.bot.commands if command["name"] == name), None)
        return not text if not options else any(option.get("name") == "text" for option in objects_in(options))

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
        """See `PersonSide`; with the conversation that the bot began with the person of this number.

        A command that is being thought about shows nothing yet.
        """
        begun = [channel.id for channel in self.simulator.world.channels.values() if channel.person_id == int(chat)]
        return [
            self._as_seen(message)
            for channel in dict.fromkeys((int(chat), *begun))
            for message in self.simulator.messages_in(channel, person)
            if not message.loading
        ]

    def _find(self, chat: str, message_id: str) -> SeenMessage | None:
        channel = self.simulator.world.channels.get(int(chat))
        message = None if channel is None else channel.messages.get(int(message_id))
        return None if message is None else self._as_seen(message)

    def _as_seen(self, message: ShownMessage) -> SeenMessage:
        return SeenMessage(
            str(message.message_id), str(message.chat_id), message.by_bot, message.text, message.at_s,
            reaction=next(iter(message.reactions.get(self.bot.id, ())), ""),
            files=tuple([SeenFile(file.name, file.content) for file in message.files]),
            buttons=tuple(message.labels), pings=message.pings,
            private=message.only_for is not None, key=message.nonce or "",
        )  # fmt: skip

    def typing(self, chat: str) -> int:
        """See `PersonSide`."""
        channel = self.simulator.world.channels.get(int(chat))
        return 0 if channel is None else len(channel.typing)
