"""Cache of channel kinds: direct conversation, server channel or thread; learned from events, or asked once."""

from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from channels.bounded_dict import BoundedDict
from channels.discord.raw import RawChannel, RawGuild, RawThreads
from channels.messages import ChatKind

DIRECT_TYPES = frozenset({1, 3})  # DM, group DM
THREAD_TYPES = frozenset({10, 11, 12})  # announcement, public and private threads
READ_TYPES = frozenset({0, 2, 5, 10, 11, 12, 13})  # those that have messages in servers

MOST_PLACES = 20_000

_GUILD = TypeAdapter(RawGuild)
_CHANNEL = TypeAdapter(RawChannel)
_THREADS = TypeAdapter(RawThreads)


@dataclass(frozen=True, slots=True)
class Place:
    """One channel id and its kind."""

    id: str
    guild: str | None = None  # None: a direct conversation
    parent: str | None = None  # of a thread: the channel it hangs under
    last_message: int = 0  # id of the newest message at that time; 0: unknown or none

    @property
    def kind(self) -> ChatKind:
        return ChatKind.DIRECT if self.guild is None else ChatKind.GROUP

    @property
    def chat(self) -> str:
        """Return the address's chat: for a thread, the channel above it."""
        return self.parent or self.id

    @property
    def thread(self) -> str | None:
        """Return the address's thread id, or None."""
        return self.id if self.parent is not None else None


def place_of(raw: RawChannel, guild: str | None = None) -> Place:
    """Return the place that Discord describes."""
    if raw.type in DIRECT_TYPES:
        return Place(raw.id, last_message=int(raw.last_message_id or 0))
    parent = raw.parent_id if raw.type in THREAD_TYPES else None
    return Place(raw.id, raw.guild_id or guild or "0", parent, int(raw.last_message_id or 0))


class ChannelCache:
    """Known channels; the least recently used is forgotten first."""

    def __init__(self) -> None:
        self._known: BoundedDict[str, Place] = BoundedDict(MOST_PLACES)
        self.joined_ms: dict[str, int] = {}  # guild -> when we came, Unix milliseconds

    def get(self, channel: str) -> Place | None:
        """Return the place, or None if unknown."""
        place = self._known.get(channel)
        if place is not None:
            self._known.move_to_end(channel)
        return place

    def put(self, place: Place) -> None:
        """Store this place."""
        self._known[place.id] = place

    def learn(self, event: str, data: object) -> None:
        """Learn places from a dispatch; a malformed one is ignored and its channels are asked for when needed."""
        try:
            if event == "GUILD_CREATE":
                self._learn_guild(_GUILD.validate_python(data))
            elif event in ("CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE"):
                self.put(place_of(_CHANNEL.validate_python(data)))
            elif event == "THREAD_LIST_SYNC":
                for thread in _THREADS.validate_python(data).threads:
                    self.put(place_of(thread))
        except ValidationError:
            return

    def _learn_guild(self, guild: RawGuild) -> None:
        for channel in (*guild.channels, *guild.threads):
            self.put(place_of(channel, guild.id))
        if guild.joined_at is not None:
            self.joined_ms[guild.id] = int(guild.joined_at.timestamp() * 1000)
