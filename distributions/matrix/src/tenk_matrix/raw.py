"""The events of a timeline as we read them; the rest of a homeserver's answers is read as it comes."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

Content = dict[str, Any]


class RawEvent(BaseModel):
    """One event of a room's timeline."""

    model_config = ConfigDict(defer_build=True)

    type: str
    event_id: str = Field(min_length=1, max_length=255)
    sender: str = Field(min_length=1, max_length=255)
    content: Content
    origin_server_ts: int = 0  # Unix time in milliseconds
    state_key: str | None = None
    redacts: str | None = None  # up to room version 10; later in the content
    unsigned: Content = {}

    def membership_of(self, user: str) -> tuple[str, str] | None:
        """Return the user's membership before and after this event; None if it is about something else."""
        if self.type != "m.room.member" or self.state_key != user:
            return None
        before = part_of(self.unsigned, "prev_content").get("membership")
        return str(before or "leave"), str(self.content.get("membership"))


def part_of(content: object, *names: str) -> Content:
    """Return the object at a path; {} if there is none."""
    for name in names:
        content = content.get(name) if isinstance(content, dict) else None
    return content if isinstance(content, dict) else {}


def list_of(content: Content, name: str) -> list[Any]:
    """Return a list in an object; [] if there is none."""
    found = content.get(name)
    return found if isinstance(found, list) else []
