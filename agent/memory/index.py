"""The index of a person's memories, as the prompt and an export show it; pure."""

from collections.abc import Sequence
from datetime import datetime

from agent.memory.memory import MemoryHead
from agent.wellformed import cut_text

FILE = "MEMORY.md"
MAX_ENTRY_CHARS = 149
MAX_LINES = 200
MAX_BYTES = 25_000

TITLE = "# Memories"
TEAM_FOLDER = "team/"
WARNING = "WARNING: this index lists {shown} of {total} memories; the others are recalled only if they fit a message."


def entry(head: MemoryHead, folder: str = "") -> str:
    """Return the line of a memory, cut to its length."""
    place = f"- {folder}{head.name}.md ({head.type.value}, {head.updated_at:%Y-%m-%d}): "
    return place + cut_text(head.description, MAX_ENTRY_CHARS - len(place))


def write_index(own: Sequence[MemoryHead], total: int, team: Sequence[MemoryHead] = ()) -> str:
    """Return the text of `MEMORY.md`, "" without memories; `total` counts also those that are not given here.

    It has at most 200 lines and 25 KB, cut at a line, with a warning. Those of the team come first.
    """
    lines = [*(entry(head, TEAM_FOLDER) for head in team), *(entry(head) for head in own)]
    if not lines:
        return ""
    if total <= len(lines) <= MAX_LINES - 2 and len(whole := "\n".join([TITLE, "", *lines]).encode()) <= MAX_BYTES:
        return whole.decode()
    room = MAX_BYTES - len(f"{TITLE}\n\n\n\n{WARNING.format(shown=total, total=total)}".encode())
    shown = list[str]()
    for line in lines[: MAX_LINES - 4]:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        shown.append(line)
    warning = WARNING.format(shown=f"{len(shown):,}", total=f"{max(total, len(lines)):,}")
    return "\n".join([TITLE, "", *shown, "", warning])


def age_words(updated_at: datetime, now: datetime) -> str:
    """Return the age of a memory in words."""
    days = (now - updated_at).days
    if days < 1:
        return "less than a day old"
    return "1 day old" if days == 1 else f"{days:,} days old"
