"""Resume point: the gateway session, the sequence number in it, and the newest committed message. Pure.

Message ids are snowflakes, ordered by time over all of Discord: one id serves every channel, so the cursor does not
grow with them. The sink lists direct conversations, which Discord does not list.
"""

from dataclasses import dataclass, replace

import orjson

from channels.foreign import whole_of


@dataclass(frozen=True, slots=True)
class GatewaySession:
    """A gateway session that can be resumed."""

    id: str
    url: str  # resume_gateway_url
    seq: int  # the last committed sequence number


@dataclass(frozen=True, slots=True)
class Cursor:
    """The resume point that is committed with the events."""

    session: GatewaySession | None = None
    last: int = 0  # the greatest committed message id; 0: nothing was ever heard
    gap: bool = False  # whether messages between `last` and the session's start are still to be fetched
    behind: int = 0  # the message id from which on some channel could not be read yet; 0: there is none
    shards: int = 1  # how many there are, of which this is one's

    def at(self, seq: int) -> "Cursor":
        """Return the cursor with this sequence number."""
        return self if self.session is None else replace(self, session=replace(self.session, seq=seq))

    @property
    def unread_from(self) -> int | None:
        """Return the message id after which something is unread, or None if nothing is missing."""
        if self.gap:
            return min(self.last, self.behind or self.last)
        return self.behind or None


def write_cursor(cursor: Cursor) -> str:
    """Return the cursor as JSON."""
    session = cursor.session
    return orjson.dumps(
        {
            "session": None if session is None else {"id": session.id, "url": session.url, "seq": session.seq},
            "last": cursor.last,
            "gap": cursor.gap,
            "behind": cursor.behind,
            "shards": cursor.shards,
        }
    ).decode()


def read_cursor(text: str | None) -> Cursor:
    """Return the written cursor; malformed text counts as a first start."""
    try:
        raw = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return Cursor()
    if not isinstance(raw, dict):
        return Cursor()
    last, behind, shards = whole_of(raw.get("last", 0)), whole_of(raw.get("behind", 0)), whole_of(raw.get("shards", 1))
    if last is None or behind is None or shards is None:
        return Cursor()
    return Cursor(_session(raw.get("session")), last, raw.get("gap") is True, behind, shards)


def _session(raw: object) -> GatewaySession | None:
    if not isinstance(raw, dict):
        return None
    session_id, url, seq = raw.get("id"), raw.get("url"), whole_of(raw.get("seq"))
    if isinstance(session_id, str) and isinstance(url, str) and seq is not None:
        return GatewaySession(session_id, url, seq)
    return None
