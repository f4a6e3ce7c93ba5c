"""Gives each entry its day, and says where that is not clear or may be still to come. Pure."""

from collections.abc import Sequence
from datetime import date, datetime

from agent.coach.understanding.clauses import Clause
from agent.coach.understanding.entries import Candidate, Chunk
from agent.coach.understanding.tables import Twist, WordRole

_THAT_WAS = frozenset(["that", "it", "this", "was", "were", "all", "eso", "esto", "fue", "fueron", "era", "todo"])
NEAR_WEEKDAYS = 5
NEAR_TIMES = 3
"""A weekday so many days back is the last one in a log book's line too; one further back may be the next."""

EVENING_MINUTE = 17 * 60
"""From then on "tonight" may be over."""

NOON = 12 * 60
_WAS = frozenset({"was", "fue", "era", "that was", "it was"})
_THIS_WEEK = frozenset({"this week", "esta semana"})


def give_days(clauses: Sequence[Clause], entries: Sequence[Candidate], now: datetime) -> None:
    """Each entry its day; where that is not clear, it is not sure."""
    done = any(clause.has(WordRole.DONE) for clause in clauses)
    for entry in entries:
        own = [chunk for clause in clauses[entry.first : entry.last + 1] for chunk in clause.days]
        if own:
            dated = [chunk for chunk in own if _date_of(chunk) is not None or chunk.plain not in _THIS_WEEK]
            entry.day = _date_of(dated[0]) if dated else None
            clear = entry.day is not None and len(set(map(_date_of, dated))) == 1
            clear = clear and (done or not _may_come(own[0], entry, now)) and not _is_spread(clauses, entry)
        else:
            day, clear = _day_around(clauses, entry, now, done=done)
            entry.day = day or now.date()
        entry.is_sure = entry.is_sure and clear and not _ends_later(clauses, entry, now)


def _is_spread(clauses: Sequence[Clause], entry: Candidate) -> bool:
    """As "between yesterday and today 40 minutes": over more than one day."""
    before = clauses[entry.first - 1] if entry.first else None
    joined = before is not None and clauses[entry.first].mark is WordRole.AND and not before.amounts
    return joined and before is not None and bool(before.days) and not before.has(WordRole.CONTENT, WordRole.SUBJECT)


def _may_come(day: Chunk, entry: Candidate, now: datetime) -> bool:
    """Whether a day may be still to come: a weekday in a log book's line, tonight at noon."""
    named = _date_of(day)
    if day.role is not WordRole.DAY_EITHER or entry.is_said or named is None:
        return False
    back = (now.date() - named).days
    if back == 0:
        tonight = "night" in day.plain or "noche" in day.plain
        return not tonight or entry.first > 0 or now.hour * 60 < EVENING_MINUTE
    return back > (NEAR_TIMES if entry.amount.role is WordRole.AMOUNT_CLOCK else NEAR_WEEKDAYS)


def _ends_later(clauses: Sequence[Clause], entry: Candidate, now: datetime) -> bool:
    """Whether it ends at an hour of today that is still to come."""
    if entry.day != now.date():
        return False
    minute = now.hour * 60 + now.minute
    said = [chunk for clause in clauses[entry.first : entry.last + 1] for chunk in clause.chunks]
    until = entry.amount.until if entry.amount.role is WordRole.AMOUNT_CLOCK else 0
    if 0 < until < NOON and any("night" in chunk.plain or "noche" in chunk.plain for chunk in said):
        until += NOON
    if until > minute and (not entry.is_said or until % NOON > minute):
        return True
    return not entry.is_said and any(chunk.role is WordRole.TIME and chunk.until > minute for chunk in said)


def _day_around(clauses: Sequence[Clause], entry: Candidate, now: datetime, *, done: bool) -> tuple[date | None, bool]:
    """The day that other clauses name for an entry that names none, and whether that is clear."""
    before = next((clause for clause in reversed(clauses[: entry.first]) if clause.days), None)
    if before is not None:
        return _day_before(before, clauses[entry.first], entry, now, done=done)
    own = clauses[entry.last]
    for clause in clauses[entry.last + 1 :]:
        for chunk in clause.days:
            day = _date_of(chunk)
            was = [each.plain for each in clause.chunks if each is not chunk and each.role is not WordRole.OF]
            if day == now.date() or (day and chunk.role is WordRole.DAY and set(" ".join(was).split()) <= _THAT_WAS):
                return day, True  # "..., eso fue ayer"
            words = [each for each in clause.chunks if each.role is WordRole.CONTENT]
            names = clause.amounts or clause.is_aside or (len(words) <= 1 and clause.verb is None)
            if clause.sentence == own.sentence and clause.block is None and names and day is not None:
                return day, done or not _may_come(chunk, entry, now)
            if clause.is_fragment or names or any(each.plain in _WAS for each in clause.chunks):
                return None, False
    return None, True


def _day_before(
    clause: Clause, own: Clause, entry: Candidate, now: datetime, *, done: bool
) -> tuple[date | None, bool]:
    """The day that a clause before names: as "On Monday I sat down and ..."; "Monday was odd. Did ..." is not clear."""
    days = {day for day in map(_date_of, clause.days) if day is not None}
    if now.date() in days:
        return now.date(), True
    if not days:
        return None, not clause.is_fragment
    tells = not clause.has(WordRole.CONTENT) or clause.has(WordRole.SUBJECT) or clause.verb is not None
    tells = tells or bool(clause.amounts or clause.skills)
    own_words = clause.has(WordRole.SUBJECT) or entry.has_subject
    denied = clause.block in (Twist.NEGATED, Twist.WISH) and own_words and not clause.skills
    first = clause.chunks[0] is clause.days[0] and (own.mark is WordRole.BUT or own.has(WordRole.SUBJECT))
    near = clause.sentence == own.sentence and (((clause.block is None or denied) and tells) or first)
    led = not clause.amounts or clause.chunks.index(clause.days[0]) < clause.chunks.index(clause.amounts[0])
    come = not done and clause.verb is None and _may_come(clause.days[-1], entry, now)
    return min(days), near and led and not come and len(days) == 1


def _date_of(chunk: Chunk) -> date | None:
    return None if chunk.day is None else chunk.day.day
