"""The resume point: which gateway session, how far in it, and the newest message that was committed. Pure.

Message ids are snowflakes, made in the order of time over all of Discord: one id says for every channel what came
after it, so the cursor does not grow with them. Only direct conversations are listed, for nothing else lists them.
"""

from collections import OrderedDict
from dataclasses import dataclass, field, replace

import orjson

from channels.foreign import whole_of

MOST_DIRECT = 500  # conversations remembered, the latest


@dataclass(frozen=True, slots=True)
class Session:
    """A gateway session that can be resumed."""

    id: str
    url: str  # resume_gateway_url
    seq: int  # the last committed sequence number


@dataclass(frozen=True, slots=True)
class Cursor:
    """What is committed with the events."""

    session: Session | None = None
    last: int = 0  # the greatest committed message id; 0: nothing was ever heard
    gap: bool = False  # whether messages between `last` and the session's start are still to be fetched

    def at(self, seq: int) -> "Cursor":
        """The same session, further on."""
        return self if self.session is None else replace(self, session=replace(self.session, seq=seq))


@dataclass(slots=True)
class Direct:
    """Known direct conversations; written as text once per change."""

    channels: "OrderedDict[str, None]" = field(default_factory=OrderedDict)
    _text: str = "[]"

    def add(self, channel: str) -> None:
        """Know this conversation; the one that was added first is forgotten first."""
        if channel not in self.channels:
            self.channels[channel] = None
            if len(self.channels) > MOST_DIRECT:
                self.channels.popitem(last=False)
            self._text = orjson.dumps(list(self.channels)).decode()

    @property
    def text(self) -> str:
        """As JSON."""
        return self._text


def write_cursor(cursor: Cursor, direct: Direct) -> str:
    """As JSON."""
    session = cursor.session
    head = orjson.dumps(
        {
            "session": None if session is None else {"id": session.id, "url": session.url, "seq": session.seq},
            "last": cursor.last,
            "gap": cursor.gap,
        }
    ).decode()
    return f'{head[:-1]},"direct":{direct.text}}}'


def read_cursor(text: str | None) -> tuple[Cursor, Direct]:
    """What was written; anything else is a first start."""
    direct = Direct()
    try:
        raw = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return Cursor(), direct
    last = whole_of(raw.get("last", 0)) if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or last is None:
        return Cursor(), direct
    for channel in raw.get("direct") or []:
        if isinstance(channel, str) and whole_of(channel) is not None:
            direct.add(channel)
    return Cursor(_session(raw.get("session")), last, raw.get("gap") is True), direct


def _session(raw: object) -> Session | None:
    if not isinstance(raw, dict):
        return None
    session_id, url, seq = raw.get("id"), raw.get("url"), whole_of(raw.get("seq"))
    if isinstance(session_id, str) and isinstance(url, str) and seq is not None:
        return Session(session_id, url, seq)
    return None
