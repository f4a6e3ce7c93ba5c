"""Resume point: how far we have read, in which chats, and the threads we take part in.

It is small because every commit writes it: only the newest chats and threads are kept. The sink knows all chats and
threads in which people with access talk to us, and supplies them at the start and after a gap.
"""

import time
from collections.abc import Callable, Iterable

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from channels.base import KnownChat
from channels.bounded_dict import BoundedDict
from channels.foreign import number_of
from channels.messages import ChatKind, InboundEvent, InboundMessage
from channels.slack.translate import thread_key

CHATS_KEPT = 60
THREADS_KEPT = 60
THREADS_REMEMBERED = 50_000  # in memory, the most recent; others need a mention again
AHEAD_S = 86_400.0  # no clock differs by more


class _Saved(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    ts: str = "0"
    chats: list[str] = []
    threads: list[str] = []


class ResumePoint:
    """The resume point. A late event does not move it back; an unfilled gap holds it at the gap's start."""

    def __init__(
        self, cursor: str | None, known: Iterable[KnownChat] = (), now_s: Callable[[], float] = time.time
    ) -> None:
        """Read a committed resume point (a malformed one counts as none) and the sink's known chats, latest first.

        `now_s` is Unix time.
        """
        try:
            saved = _Saved.model_validate_json(cursor or "{}")
        except ValidationError:
            saved = _Saved()
        self._now_s = now_s
        self.ts = saved.ts if self._has_been(saved.ts) else f"{now_s() - AHEAD_S:.6f}"
        older = list(known)[::-1]
        self.chats: dict[str, None] = dict.fromkeys(chat.chat for chat in older if chat.thread is None)
        self.chats |= dict.fromkeys(saved.chats)
        talked_in = [
            thread_key(chat.chat, chat.thread) for chat in older if chat.thread is not None and not chat.direct
        ]
        self.threads: BoundedDict[str, None] = BoundedDict(THREADS_REMEMBERED)  # least recent first
        for key in (*talked_in, *saved.threads):
            self.threads.setdefault(key)
        self._tail: str | None = None
        self._gaps: list[str] = []  # starts of unfilled gaps

    def recent_threads(self) -> Iterable[tuple[str, str]]:
        """Return the most recently active threads, as chat and thread."""
        for key in list(self.threads)[-THREADS_KEPT:]:
            chat, _, thread = key.partition(":")
            yield chat, thread

    def hold(self, since: str) -> None:
        """Keep the resume point at a gap's start until `release`, so that a restart fills the gap again."""
        self._gaps.append(since)

    def release(self, since: str) -> None:
        """Let the resume point move on after its gap was filled."""
        self._gaps.remove(since)

    def note(self, event: InboundEvent) -> None:
        """Note an event's chat, its time, and the thread it will be answered in."""
        chat, thread = event.address.chat, event.address.thread
        if isinstance(event, InboundMessage):
            if chat not in self.chats:
                self.chats[chat] = None
                self._tail = None
            if not event.edited and later(event.message_id, self.ts) and self._has_been(event.message_id):
                self.ts = event.message_id
        if thread is not None and (getattr(event, "kind", None) is ChatKind.GROUP) and _wakes(event):
            self.join(chat, thread)

    def _has_been(self, ts: str) -> bool:
        """Return True unless the ts is far in the future, which would hide messages until then."""
        said_s = number_of(ts)
        return said_s is not None and said_s < self._now_s() + AHEAD_S

    def join(self, chat: str, thread: str) -> None:
        """Note that we take part in this thread."""
        self.threads[thread_key(chat, thread)] = None
        self._tail = None

    def has_direct(self, chat: str) -> bool:
        """Return True for a direct message with us, False for one between two people."""
        return chat.startswith("D") and chat in self.chats

    def cursor(self) -> str:
        """Return the current resume point as JSON."""
        if self._tail is None:
            chats, threads = list(self.chats)[-CHATS_KEPT:], list(self.threads)[-THREADS_KEPT:]
            self._tail = f'"chats":{orjson.dumps(chats).decode()},"threads":{orjson.dumps(threads).decode()}}}'
        return f'{{"ts":"{min(self._gaps, key=float, default=self.ts)}",{self._tail}'


class PastPoint:
    """A resume point of some minutes ago: the start of a gap that is noticed late."""

    def __init__(self, resume_point: ResumePoint, while_s: float, now_s: Callable[[], float]) -> None:
        """Take a resume point and a clock in Unix time; at first contact nothing before now is a gap."""
        self._resume_point = resume_point
        self._while_s = while_s
        self._now_s = now_s
        begun = resume_point.ts if resume_point.ts != "0" else f"{now_s():.6f}"
        self._older = self._newer = (now_s(), begun)

    def mark(self) -> None:
        """Note the current resume point; call it before handling a delivery."""
        now_s = self._now_s()
        if now_s - self._newer[0] > self._while_s and self._resume_point.ts != "0":
            self._older, self._newer = self._newer, (now_s, self._resume_point.ts)

    @property
    def since(self) -> str:
        """Return the resume point of at least `while_s` ago."""
        return self._older[1]


def later(ts: str, other: str) -> bool:
    """Return True if a ts comes after another."""
    return float(ts) > float(other)


def _wakes(event: InboundEvent) -> bool:
    return not isinstance(event, InboundMessage) or event.mentions_bot
