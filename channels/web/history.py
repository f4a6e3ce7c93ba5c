"""Keeps the last messages of each chat in memory, for a page that comes back or a second one.

It is a convenience, not the truth: inbox, outbox and journal are. It starts empty with the process; what was said
before comes from `recollection` when its person's page does.
"""

import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence

from pydantic import JsonValue

from channels.bounded_dict import BoundedDict
from channels.viewers.viewer_hub import Frame

MESSAGES_KEPT = 200  # of one chat
CHARS_OF_CHAT = 400_000  # the same, and what one page is told at most; the newest message stays in any case
CHATS_WHOLE = 10_000  # of which it is remembered that nothing earlier is missing
CHARS_KEPT = 8_000_000  # over all chats; the chat unused for longest is forgotten first


class History:
    """What was said in every chat, newest state of each message, with a number that grows with each change."""

    def __init__(
        self, *, messages: int = MESSAGES_KEPT, chars_of_chat: int = CHARS_OF_CHAT, chars: int = CHARS_KEPT
    ) -> None:
        """Empty, with an epoch of its own."""
        self.epoch = secrets.token_hex(8)
        self._most_messages = messages
        self._most_of_chat = chars_of_chat
        self._most_chars = chars
        self._chats: OrderedDict[str, OrderedDict[str, Frame]] = OrderedDict()
        self._chars_of: dict[str, int] = {}
        self._chars = 0
        self._seq = 0
        self._whole: BoundedDict[str, None] = BoundedDict(CHATS_WHOLE)

    def is_whole(self, chat: str) -> bool:
        """Whether what was said before this process is in it; what is forgotten for room is to be begun anew."""
        return chat in self._whole

    def begin(self, chat: str, frames: Sequence[Frame]) -> None:
        """Put before all else what was said earlier, as far as it is not there."""
        newer = list(self._chats.get(chat, ()))
        for frame in frames:
            if frame["id"] not in newer:
                self.put(chat, frame)
        for id_ in newer:
            if id_ in self._chats[chat]:
                self._chats[chat].move_to_end(id_)
        self._whole[chat] = None

    def put(self, chat: str, frame: Frame) -> Frame:
        """Keep a `message` or `said` frame under its id, in the place it had; the frame with its number."""
        kept = self._chats.setdefault(chat, OrderedDict())
        self._chats.move_to_end(chat)
        self._seq = max(self._seq + 1, time.monotonic_ns() // 1000)  # says nothing of how much others write
        numbered = {**frame, "seq": self._seq}
        before = kept.get(str(frame["id"]))
        kept[str(frame["id"])] = numbered
        self._count(chat, size_of(numbered) - (size_of(before) if before is not None else 0))
        while len(kept) > 1 and (len(kept) > self._most_messages or self._chars_of[chat] > self._most_of_chat):
            self._count(chat, -size_of(kept.popitem(last=False)[1]))
        self._trim(chat)
        return numbered

    def _count(self, chat: str, chars: int) -> None:
        self._chars += chars
        self._chars_of[chat] = self._chars_of.get(chat, 0) + chars

    def get(self, chat: str, message_id: str) -> Frame | None:
        """The message as it stands; None where it is not kept."""
        kept = self._chats.get(chat)
        return None if kept is None else kept.get(message_id)

    def change(self, chat: str, message_id: str, **fields: JsonValue) -> None:
        """Change some of a message, if it is kept."""
        frame = self.get(chat, message_id)
        if frame is not None:
            self.put(chat, {**{name: value for name, value in frame.items() if name != "kept"}, **fields})

    def growing(self, chat: str) -> Sequence[str]:
        """Our messages that are not done yet."""
        return [id_ for id_, kept in self._chats.get(chat, {}).items() if kept.get("live") or kept.get("waiting")]

    def lower(self, chat: str, message_id: str, below_id: str) -> Frame | None:
        """Let a message stand right below another one, if it stood above; as it stands now, None where it stays."""
        kept = self._chats.get(chat, OrderedDict())
        places = list(kept)
        if message_id not in kept or below_id not in kept or places.index(message_id) > places.index(below_id):
            return None
        for place in (message_id, *places[places.index(below_id) + 1 :]):
            kept.move_to_end(place)
        return self.put(chat, {**kept[message_id], "below": below_id})

    def delete(self, chat: str, message_id: str) -> None:
        """Keep no more than that there was a message."""
        if self.get(chat, message_id) is not None:
            self.put(chat, {"type": "deleted", "id": message_id})

    def since(self, chat: str, epoch: str, seen: int) -> Frame:
        """What a page has not seen, as one frame; a page of another epoch has seen nothing."""
        least = seen if epoch == self.epoch else 0
        messages: list[JsonValue] = [dict(frame) for frame in self._chats.get(chat, {}).values() if _seq(frame) > least]
        return {"type": "history", "epoch": self.epoch, "seq": self._seq, "messages": messages}

    def _trim(self, chat: str) -> None:
        while self._chars > self._most_chars and len(self._chats) > 1:
            oldest = next(iter(self._chats))
            if oldest == chat:
                break
            del self._chats[oldest]
            self._whole.pop(oldest, None)
            self._chars -= self._chars_of.pop(oldest)


def size_of(frame: Frame) -> int:
    """The characters of a frame, about; of a history all of its messages."""
    inner = frame.get("messages")
    if isinstance(inner, list):
        return sum(size_of(message) for message in inner if isinstance(message, dict))
    return len(str(frame.get("html") or frame.get("text") or "")) + 200


def _seq(frame: Frame) -> int:
    seq = frame.get("seq")
    return seq if isinstance(seq, int) else 0
