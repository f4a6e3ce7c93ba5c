"""The person's side of the simulated Slack, in the words that all platforms share."""

from collections.abc import Callable, Iterable, Mapping

from pydantic import JsonValue

from channels.simulators.shared.person_side import PersonSide, SeenFile, SeenMessage
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.slack.state import ShownMessage


class SlackPersonSide(PersonSide):
    """Direct messages and channels, by Socket Mode: the person 7 is U7 and writes in D7, the room 7 is C7."""

    name = "slack"
    title = "Slack"
    types_in_threads = True  # Slack shows a status nowhere else

    def __init__(self, simulator: SlackSimulator | None = None, commands: Iterable[str] | None = None) -> None:
        """An app with these slash commands is made known; None is a simulator as it comes, and any command."""
        self.simulator = simulator or SlackSimulator()
        self.app = self.simulator.add_app(commands=commands)
        super().__init__(self.simulator)

    def environment(self) -> Mapping[str, str]:
        """See `PersonSide`."""
        tokens = {"SLACK_BOT_TOKEN": self.app.bot_token, "SLACK_APP_TOKEN": self.app.app_token}
        return tokens | {"SLACK_API_BASE": self.simulator.base_url}

    def is_connected(self) -> bool:
        """See `PersonSide`."""
        return self.simulator.sockets.connected > 0

    def arrivals(self) -> int:
        """See `PersonSide`."""
        return self.simulator.sockets.connections

    def count_unacknowledged(self) -> int:
        """See `PersonSide`."""
        return len(self.simulator.sockets.open)

    def forget(self) -> None:
        """See `PersonSide`: what waits for a socket has waited too long."""
        self.simulator.sockets.lost += self.simulator.sockets.open
        self.simulator.sockets.open.clear()

    def script_fault(self, **fault: JsonValue) -> None:
        """See `PersonSide`."""
        self.simulator.faults.load([fault])

    def calls(self, chat: str) -> int:
        """See `PersonSide`."""
        return len(self.simulator.history(chat))

    def name_person(self, person: int, name: str) -> None:
        """See `PersonSide`."""
        self.simulator.add_person(f"U{person}", name)

    def direct(self, person: int) -> str:
        """See `PersonSide`."""
        return f"D{person}"

    def room(self, number: int) -> str:
        """See `PersonSide`."""
        return self.simulator.world.chat(f"C{number}").id

    def chats(self) -> list[str]:
        """See `PersonSide`."""
        return list(self.simulator.world.chats)

    @property
    def mention(self) -> str:
        """See `PersonSide`."""
        return f"<@{self.app.user}>"

    def say(self, chat: str, text: str, *, person: int | None = None, under: str | None = None) -> str:
        """See `PersonSide`."""
        return self.simulator.say(chat, text, person=_user(person), thread=under)

    def send_picture(self, chat: str, content: bytes, text: str = "", *, person: int | None = None) -> str:
        """See `PersonSide`."""
        file = self.simulator.upload("picture.png", content, "image/png")
        return self.simulator.say(chat, text, person=_user(person), files=[file])

    def command(self, chat: str, name: str, text: str = "", *, person: int | None = None) -> Callable[[], bool]:
        """See `PersonSide`."""
        used = self.simulator.command(chat, f"/{name}", text, person=_user(person))
        return lambda: used.acked

    def press(self, chat: str, message_id: str, value: str, *, person: int | None = None) -> None:
        """See `PersonSide`."""
        self.simulator.press(chat, message_id, value, person=_user(person))

    def edit(self, chat: str, message_id: str, text: str) -> None:
        """See `PersonSide`."""
        self.simulator.edit(chat, message_id, text)

    def delete(self, chat: str, message_id: str) -> None:
        """See `PersonSide`."""
        self.simulator.delete(chat, message_id)

    def messages(self, chat: str, person: int | None = None) -> list[SeenMessage]:
        """See `PersonSide`; in a direct message None is its person."""
        who = chat.replace("D", "U", 1) if person is None else _user(person)
        shown = self.simulator.messages_in(chat)
        return [self._as_seen(message) for message in shown if message.ephemeral_for in (None, who)]

    def _find(self, chat: str, message_id: str) -> SeenMessage | None:
        known = self.simulator.world.chats.get(chat)
        message = None if known is None else known.messages.get(message_id)
        return None if message is None else self._as_seen(message)

    def _as_seen(self, message: ShownMessage) -> SeenMessage:
        return SeenMessage(
            message.ts, message.chat, message.by_bot, message.text, message.at_s,
            reaction=next((f":{name}:" for name, who in message.reactions.items() if who), ""), thread=message.thread,
            streaming=message.streaming, files=tuple([self._file(str(file["id"])) for file in message.files]),
            buttons=tuple(message.labels), pings=message.pings, private=message.ephemeral_for is not None,
            key=message.key or "",
        )  # fmt: skip

    def _file(self, file_id: str) -> SeenFile:
        file = self.simulator.world.files[file_id]
        return SeenFile(file.name, file.content)

    def typing(self, chat: str) -> int:
        """See `PersonSide`."""
        known = self.simulator.world.chats.get(chat)
        return 0 if known is None else sum(bool(status) for _, status, _ in known.statuses)


def _user(person: int | None) -> str | None:
    return None if person is None else f"U{person}"
