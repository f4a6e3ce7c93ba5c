"""What people do and see on a simulated platform with one bot on it, alike on all platforms.

Ids are words here, as the gateway stores them; people are numbers, and each has a direct chat with the bot. What only
one platform has, and the faults by script, are asked of its simulator.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import ClassVar, Self

from pydantic import JsonValue

from channels.simulators.shared.history import Arrived
from channels.simulators.shared.server import Served


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file in a message."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class SeenMessage:
    """A message as somebody sees it now, its edits applied."""

    message_id: str
    chat: str
    by_bot: bool
    text: str
    at_s: float  # time.monotonic() when it appeared
    entities: tuple[dict[str, JsonValue], ...] | None = None  # as the Bot API gives them; None: `text` holds Markdown
    reaction: str = ""
    thread: str | None = None
    streaming: bool = False  # the platform itself says that it is being written
    files: tuple[SeenFile, ...] = ()
    buttons: tuple[tuple[str, str], ...] = ()  # label and what a press says
    pings: tuple[str, ...] = ()  # whom it notified
    private: bool = False  # nobody else in the chat sees it
    key: str = ""  # what the bot marked it with against doubles; "" where the platform keeps no such mark


class PersonSide(ABC):
    """One platform, its bot and its people; `async with` starts and stops its server."""

    name: ClassVar[str]  # as the gateway's configuration calls it
    title: ClassVar[str]  # as people call it
    types_in_threads: ClassVar[bool] = False  # the bot is seen typing in threads alone

    def __init__(self, served: Served[int] | Served[str]) -> None:
        """`served` is the simulator, which need not listen yet."""
        self._served = served

    async def __aenter__(self) -> Self:
        await self._served.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._served.aclose()

    # ------------------------------------------------------------ the gateway

    @abstractmethod
    def environment(self) -> Mapping[str, str]:
        """The gateway's environment variables with which it comes here; once the server listens."""

    @abstractmethod
    def is_connected(self) -> bool:
        """Whether the gateway listens, as far as the platform can tell."""

    @abstractmethod
    def arrivals(self) -> int:
        """How often the gateway has begun to listen; on Telegram each poll counts."""

    @abstractmethod
    def count_unacknowledged(self) -> int:
        """How much waits for the gateway's acknowledgement, as far as the platform keeps it."""

    @abstractmethod
    def forget(self) -> None:
        """Keep nothing for a gateway that is away but the chats' histories, where the platform may do that."""

    async def until(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """Wait for a change after which `condition()` holds.

        Raises:
            TimeoutError: there was none.
        """
        await self._served.until(condition, timeout_s=timeout_s)

    @property
    def newest_seq(self) -> int:
        """The number of the newest call of the bot's; 0 before the first."""
        return self._served.newest_seq

    def bot_messages(self, after: int) -> list[SeenMessage]:
        """The bot's messages that calls with a number above `after` sent or changed, as they read now."""
        found: list[SeenMessage] = []
        for call in self._served.history(after=after):
            if call.applied and call.chat_id is not None and call.message_id is not None:
                message = self._find(str(call.chat_id), str(call.message_id))
                if message is not None and message.by_bot:
                    found.append(message)
        return found

    @abstractmethod
    def _find(self, chat: str, message_id: str) -> SeenMessage | None:
        """A message that stands in a chat."""

    @abstractmethod
    def calls(self, chat: str) -> int:
        """How many calls of the bot's have come in for this chat."""

    def recent_calls(self, most: int) -> Sequence[Arrived[int] | Arrived[str]]:
        """The newest calls of the bot's, oldest first."""
        return self._served.history(after=self.newest_seq - most)

    def cut_wire(self, *, mended: bool = False) -> None:
        """Cut the wire between the gateway and this platform, or mend it."""
        self._served.cut_wire(mended=mended)

    @property
    def is_cut(self) -> bool:
        """Whether the wire is cut."""
        return self._served.is_cut

    @abstractmethod
    def script_fault(self, **fault: JsonValue) -> None:
        """Let a fault hit a coming call; its fields are those of `ScriptedFault` and of the platform's own kinds."""

    # ------------------------------------------------------------ people and chats

    @abstractmethod
    def name_person(self, person: int, name: str) -> None:
        """Somebody gets a name; others are called by their numbers."""

    @abstractmethod
    def direct(self, person: int) -> str:
        """The chat of a person with the bot alone."""

    @abstractmethod
    def room(self, number: int) -> str:
        """The chat of several people with this number, with the bot in it; made when it is new."""

    @abstractmethod
    def chats(self) -> list[str]:
        """Every chat there is."""

    @property
    @abstractmethod
    def mention(self) -> str:
        """How somebody writes to the bot where others are."""

    # ------------------------------------------------------------ what they do and see

    @abstractmethod
    def say(self, chat: str, text: str, *, person: int | None = None, under: str | None = None) -> str:
        """Write; returns the message's id.

        Args:
            chat: where.
            text: what.
            person: who; None is the one of a direct chat.
            under: the message that is replied to, or whose thread it belongs into.
        """

    @abstractmethod
    def send_picture(self, chat: str, content: bytes, text: str = "", *, person: int | None = None) -> str:
        """Send a picture, with words under it or without; returns the message's id."""

    @abstractmethod
    def command(self, chat: str, name: str, text: str = "", *, person: int | None = None) -> Callable[[], bool]:
        """Use a command as the platform has them; what comes back says whether the gateway has taken it."""

    def has_command(self, name: str, text: str) -> bool:
        """Whether the platform itself takes this for a command; elsewhere it is a message that begins with "/"."""
        return True

    @abstractmethod
    def press(self, chat: str, message_id: str, value: str, *, person: int | None = None) -> None:
        """Press the button with this value under a message."""

    @abstractmethod
    def edit(self, chat: str, message_id: str, text: str) -> None:
        """Change what somebody wrote."""

    @abstractmethod
    def delete(self, chat: str, message_id: str) -> None:
        """Take back what somebody wrote."""

    @abstractmethod
    def messages(self, chat: str, person: int | None = None) -> list[SeenMessage]:
        """What `person` sees of a chat, in order; None: what everybody does."""

    def answers(self, chat: str, person: int | None = None) -> list[SeenMessage]:
        """Of `messages`, what the bot said."""
        return [message for message in self.messages(chat, person) if message.by_bot]

    @abstractmethod
    def typing(self, chat: str) -> int:
        """How often the bot was seen typing there."""
