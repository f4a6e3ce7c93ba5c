"""Conditions that a person sets for their weekly plans: days that are not free, and minutes a day. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.coach.durations import spell_minutes
from agent.coach.texts import say
from agent.coach.vocabulary.amounts import find_amounts
from agent.coach.vocabulary.words import Phrases, Token, group_of, phrases, to_tokens

MAX_CHARS = 400
WORKING_DAYS = (0, 1, 2, 3, 4)
WEEKEND = (5, 6)


@dataclass(frozen=True, slots=True)
class PlanConditions:
    """Conditions for every plan, until the person changes them."""

    weekdays_off: tuple[int, ...] = ()  # Monday 0, ascending
    most_day_minutes: int | None = None  # None: any length

    @property
    def leaves_no_day(self) -> bool:
        """True if every weekday is ruled out."""
        return len(self.weekdays_off) == 7


NO_CONDITIONS = PlanConditions()


@dataclass(frozen=True, slots=True)
class SaidConditions:
    """The conditions in a message."""

    conditions: PlanConditions = NO_CONDITIONS
    lifts: bool = False  # earlier conditions end
    names_all: bool = False  # it names all free days ("only weekends"), not further ones that are off
    used: frozenset[int] = frozenset()  # its tokens about them

    def over(self, kept: PlanConditions) -> PlanConditions:
        """Return the conditions that hold after this message."""
        said, before = self.conditions, NO_CONDITIONS if self.lifts else kept
        off = said.weekdays_off if self.names_all else tuple(sorted({*before.weekdays_off, *said.weekdays_off}))
        most = before.most_day_minutes if said.most_day_minutes is None else said.most_day_minutes
        return PlanConditions(off, most)

    def __bool__(self) -> bool:
        return self.lifts or self.conditions != NO_CONDITIONS


NOTHING_SAID = SaidConditions()


def read_conditions(text: str) -> SaidConditions:
    """Parse "not on Wednesday, 30 minutes a day", "only weekends", "los miércoles no", "any day"."""
    tokens = to_tokens(text[:MAX_CHARS])
    used: set[int] = set()
    lifts = (lifting := phrases("any_day").find(tokens)) is not None
    used.update(range(*lifting or (0, 0)))
    off, names_all = _weekdays_off(tokens, used)
    return SaidConditions(PlanConditions(off, _most_minutes(tokens, used)), lifts, names_all, frozenset(used))


def _weekdays_off(tokens: Sequence[Token], used: set[int]) -> tuple[tuple[int, ...], bool]:
    """Return the days that are off, and if the free ones were named instead."""
    off: set[int] = set()
    at, names_all = 0, False
    while at < len(tokens):
        days, end = _read_days(tokens, at)
        if not days:
            at += 1
            continue
        only = _begin_before(phrases("only"), tokens, at)
        ruled_out = _begin_before(phrases("not_on"), tokens, at)
        after = phrases("not_then").end(tokens, end)
        only_then = phrases("only").end(tokens, end)
        if only is not None or only_then > end:
            off |= set(range(7)) - days
            names_all = True
            used.update(range(at if only is None else only, max(only_then, end)))
        elif ruled_out is not None or after > end:
            off |= days
            used.update(range(at if ruled_out is None else ruled_out, max(after, end)))
        at = max(after, end)
    return tuple(sorted(off)), names_all


def _read_days(tokens: Sequence[Token], at: int) -> tuple[set[int], int]:
    """Read the weekdays that stand one after another from here, and where they end."""
    days: set[int] = set()
    end = at
    while True:
        start = end
        if days:  # "Monday, Wednesday and on Friday"
            start += start < len(tokens) and tokens[start].text == ","
            start = max(phrases("and").end(tokens, start), phrases("or").end(tokens, start))
        start = phrases("on_days").end(tokens, start)
        found, stop = _one_day(tokens, start)
        if not found:
            return days, end
        days, end = days | found, stop


def _one_day(tokens: Sequence[Token], at: int) -> tuple[set[int], int]:
    for name, group in (("working_days", WORKING_DAYS), ("weekends", WEEKEND)):
        if (end := phrases(name).end(tokens, at)) > at:
            return set(group), end
    named = group_of("weekdays").at(tokens, at)
    return (set(), at) if named is None else ({named[1]}, named[0])


def _begin_before(marks: Phrases, tokens: Sequence[Token], at: int) -> int | None:
    """Return where the phrase begins that ends right before this place; None without one."""
    return next((begin for begin in range(max(at - 4, 0), at) if marks.end(tokens, begin) == at), None)


def _most_minutes(tokens: Sequence[Token], used: set[int]) -> int | None:
    """Return the minutes a day that are said; None without any."""
    for amount in find_amounts(tokens):
        end = phrases("every_day").end(tokens, amount.end)
        begin = _begin_before(phrases("at_most"), tokens, amount.first)
        if begin is None and _begin_before(phrases("at_least"), tokens, amount.first) is not None:
            continue
        of_some_days = end == amount.end and bool(_read_days(tokens, end)[0])  # "only 30 minutes on Wednesday"
        if (end > amount.end or begin is not None) and not of_some_days:
            used.update(range(amount.first if begin is None else begin, end))
            return max(amount.minutes, amount.other)
    return None


def conditions_text(language: str, conditions: PlanConditions) -> str:
    """Return the conditions as a person reads them: "not on Wednesday; at most 30 min a day"; "" without any."""
    parts = []
    if conditions.weekdays_off:
        *names, last = [say(language, f"weekdays.{weekday}") for weekday in conditions.weekdays_off]
        days = say(language, "remind.days_and", days=", ".join(names), last=last) if names else last
        parts.append(say(language, "plan.not_on", days=days))
    if conditions.most_day_minutes is not None:
        parts.append(say(language, "plan.most_a_day", minutes=spell_minutes(conditions.most_day_minutes)))
    return "; ".join(parts)
