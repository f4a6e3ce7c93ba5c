"""Makes the entries of a statement: which amount belongs to which skill and day. Pure.

A day said before all is that of all, one behind all too; where some have one and others not, it is not clear.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from agent.coach.understanding.chunk import Chunk
from agent.coach.understanding.contexts import MOST_BARE_HOURS
from agent.coach.understanding.tables import WordRole

AMOUNTS = frozenset({WordRole.AMOUNT, WordRole.AMOUNT_SHORT, WordRole.AMOUNT_CLOCK, WordRole.NUMBER})
_SKILLS = frozenset({WordRole.SKILL, WordRole.ACT, WordRole.ACTING})
_DAYS = frozenset({WordRole.DAY, WordRole.DAY_EITHER})
_VERBS = frozenset(WordRole(letter) for letter in "JIAHhVvsgeWGQqEfk") - _SKILLS
_SEPARATORS = frozenset({WordRole.COMMA, WordRole.AND, WordRole.THEN})


@dataclass(frozen=True, slots=True)
class Practised:
    """One stretch of practice that somebody says they did."""

    minutes: int | None  # None: not said, or not clearly
    skill: str  # a known skill's own spelling, a new name, or "" where none is said
    day: date
    is_new: bool = False  # the name is none of theirs yet


@dataclass(slots=True)
class Draft:
    """An entry as far as it has been read."""

    minutes: int | None = None
    skill: str = ""
    is_new: bool = False
    day: Chunk | None = None
    clock: Chunk | None = None
    hour: Chunk | None = None
    has_days: bool = False  # more than one was said
    is_led: bool = False  # its day was said before anything else of it

    @property
    def is_complete(self) -> bool:
        """Whether amount and skill have been said."""
        return self.minutes is not None and bool(self.skill)


def entries_of(core: Sequence[Chunk], now: datetime, *, is_said: bool) -> tuple[list[Practised], bool]:
    """The entries that a statement's chunks make, and whether they are clear."""
    drafts = drafts_of(core)
    done = [draft for draft in drafts if draft.minutes != 0]
    drafts = done if any(draft.is_complete for draft in done) else drafts  # "and 0 minutes of go" is no entry
    days, clear = _days_of(drafts, now.date())
    found = []
    for draft, day in zip(drafts, days, strict=True):
        when = day_of(day, now.date())
        clear = clear and draft.is_complete and bool(draft.minutes) and not draft.has_days
        clear = clear and not _is_to_come(draft, day, when, now, is_said=is_said)
        found.append(Practised(draft.minutes, draft.skill, when, draft.is_new))
    return found, clear


def day_of(chunk: Chunk | None, today: date) -> date:
    """The day that a chunk names, today where there is none."""
    return today if chunk is None or chunk.day is None or chunk.day.day is None else chunk.day.day


def _days_of(drafts: Sequence[Draft], today: date) -> tuple[list[Chunk | None], bool]:
    """The day of each, and whether it is clear."""
    days = [draft.day for draft in drafts]
    said = [day for day in days if day is not None]
    if len(said) in (0, len(days)) or all(day_of(day, today) == today for day in said):
        return days, True
    if len(said) == 1 and days[0] is not None and drafts[0].is_led:
        return [days[0]] * len(days), True
    if len(said) == 1 and days[-1] is not None and not drafts[-1].is_led:
        return [days[-1]] * len(days), True
    return days, False


def _is_to_come(draft: Draft, day: Chunk | None, when: date, now: datetime, *, is_said: bool) -> bool:
    """Whether it may not have happened yet: a weekday or an hour that may be the next one."""
    minute = now.hour * 60 + now.minute
    until = None if draft.clock is None or when != now.date() else draft.clock.until
    if until is not None and until > minute and (not is_said or until % 720 > minute):
        return True
    if not is_said and draft.hour is not None and when == now.date() and draft.hour.until > minute:
        return True
    return not is_said and day is not None and day.role is WordRole.DAY_EITHER


def drafts_of(core: Sequence[Chunk]) -> list[Draft]:
    """The amounts, skills and days of each entry."""
    reader = _DraftReader(core)
    for at, chunk in enumerate(core):
        reader.take(at, chunk)
    return reader.drafts


class _DraftReader:
    """Takes one chunk after the other."""

    def __init__(self, core: Sequence[Chunk]) -> None:
        self.drafts = [Draft()]
        self._core = core
        self._unit = 1  # minutes that a number without a unit counts
        self._ahead: Chunk | None = None  # a day of the entry that follows
        self._is_apart = True  # behind a comma or an "and"

    def take(self, at: int, chunk: Chunk) -> None:
        """One more chunk."""
        if chunk.role in _SEPARATORS:
            self._is_apart = True
        elif chunk.role in _DAYS:
            self._take_day(at, chunk)
        elif chunk.role is WordRole.TIME:
            self.drafts[-1].hour = chunk if chunk.until else self.drafts[-1].hour
        elif chunk.role in AMOUNTS | _SKILLS:
            self._take_part(chunk)
            self._is_apart = False
        elif chunk.role not in _VERBS:
            self._is_apart = self._is_apart and self._ahead is not None

    def _take_day(self, at: int, chunk: Chunk) -> None:
        draft = self.drafts[-1]
        if draft.is_complete and self._is_apart and any(later.role in AMOUNTS for later in self._core[at + 1 :]):
            self._ahead = chunk
            return
        if draft.day is not None and day_of(draft.day, date.max) != day_of(chunk, date.max):
            draft.has_days = True
        if draft.day is None:
            draft.day = chunk
            draft.is_led = draft.minutes is None and not draft.skill
        self._is_apart = False

    def _take_part(self, chunk: Chunk) -> None:
        draft = self.drafts[-1]
        if draft.is_complete and (chunk.role in AMOUNTS or self._is_apart):
            draft = Draft(day=self._ahead, is_led=self._ahead is not None)
            self.drafts.append(draft)
            self._ahead = None
        if chunk.role in _SKILLS:
            if not draft.skill or (chunk.role is WordRole.SKILL and draft.minutes is None):
                draft.skill, draft.is_new = chunk.skill, chunk.is_new
        elif draft.minutes is None:
            self._take_amount(draft, chunk)

    def _take_amount(self, draft: Draft, chunk: Chunk) -> None:
        if chunk.role is not WordRole.NUMBER:
            draft.minutes, self._unit = chunk.minutes, chunk.unit
            draft.clock = chunk if chunk.role is WordRole.AMOUNT_CLOCK else None
        elif self._unit == 1 or chunk.minutes <= MOST_BARE_HOURS:
            draft.minutes = chunk.minutes * self._unit
