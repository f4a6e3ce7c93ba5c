"""What a message does that arrives while its person is being answered: the modes of a session, and "! ". Pure.

    steer      it joins the turn at work          followup   it waits for a turn of its own
    collect    what waits becomes one turn        interrupt  the turn at work ends, and another begins

"! words" interrupts in any mode. What another member of a group says never steers, merges into or interrupts a turn:
a turn acts for one person.
"""

from collections.abc import Callable, Iterable
from itertools import takewhile

from gateway.store.inbox import InboxRow

MERGING = ("collect", "interrupt")
"""In these whatever a person has waiting becomes one turn."""

INTERRUPTION = "! "

Is = Callable[[InboxRow], bool]


def strip_mark(words: str) -> str | None:
    """The words behind "! "; None where they do not begin so, or nothing is behind it."""
    said = words.lstrip()
    return said.removeprefix(INTERRUPTION).strip() or None if said.startswith(INTERRUPTION) else None


def same_voice(row: InboxRow, other: InboxRow) -> bool:
    """Whether one person said both in one place."""
    return row.user_id == other.user_id and row.event.address == other.event.address


def rows_to_merge(
    first: InboxRow, waiting: Iterable[InboxRow], mode: str, *, joins: Is, is_marked: Is
) -> list[InboxRow]:
    """What of `waiting` becomes one turn with the row before it, in order.

    In the modes that merge whatever its person said; in the others what came before an interruption of theirs, and
    that: a turn of its own would be begun only to be ended. Nothing of the person's own is overtaken.
    """
    mine = list(takewhile(joins, (row for row in waiting if same_voice(row, first))))
    if mode in MERGING:
        return mine
    count = max((place for place, row in enumerate(mine, 1) if is_marked(row)), default=0)
    return mine[:count]


def rows_to_steer(waiting: Iterable[InboxRow], *, joins: Is, is_marked: Is) -> list[InboxRow]:
    """What of `waiting` joins the turn at work: of its person whatever stands before an interruption of theirs."""
    return list(takewhile(lambda row: not is_marked(row), filter(joins, waiting)))
