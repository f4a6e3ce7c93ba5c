"""A chart of practice: minutes a week and skill, the goal, and the same in words. Pure; `chart_picture` draws it."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from pydantic import BaseModel, ConfigDict

from agent.calendar import week_of
from agent.catalogue import escape
from agent.coach.durations import spell_minutes
from agent.coach.entry_arguments import take_skill
from agent.coach.practice import DayTotal, Skill
from agent.coach.texts import COACH_TEXTS, say
from agent.wellformed import clean

WEEK = timedelta(days=7)
MAX_WEEKS = 60
A_YEAR = 52
USUAL_WEEKS = 12
MAX_SKILLS = 8
"""Colours that a reader can distinguish; of more skills the smallest are drawn as one."""

OTHERS_COLOUR = "#94a3b8"
MAX_CHARS = 200

_LAST = r"the last|last|the past|past|an?|one|(?:el )?último|(?:la )?última|una?"
_UNIT = r"(?:weeks?|semanas?|w|s)|(?P<months>months?|mes(?:es)?)|(?P<years>years?|años?)"
_SPAN = re.compile(
    rf"(?<!\w)(?:(?:of|for|over|del?)\s+)?(?:(?P<count>\d{{1,3}})\s?|(?:{_LAST})\s)(?:{_UNIT})(?!\w)", re.IGNORECASE
)
_BARE = re.compile(r"(?<!\w)(?P<count>\d{1,3})(?P<months>)(?P<years>)(?!\w)")
_DARK = re.compile(r"\b(?:dark|night|oscur[oa]|noche)\b", re.IGNORECASE)


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ChartSkill(_Report):
    """One colour of the chart."""

    name: str  # "": several small ones together
    colour: str  # "#rrggbb"
    minutes: int  # in all the weeks


class ChartWeek(_Report):
    """One bar."""

    week: date  # its first day
    minutes: tuple[int, ...]  # a number a skill of the chart, in its order

    @property
    def total(self) -> int:
        """Return the minutes of all skills."""
        return sum(self.minutes)


class ChartReport(_Report):
    """All that is drawn."""

    skills: tuple[ChartSkill, ...]  # the most practised first; at most MAX_SKILLS
    weeks: tuple[ChartWeek, ...]  # the oldest first, the running one last
    goal_minutes: int | None  # a week; None: none was set
    only: str | None = None  # the one skill that it is about; None: all
    wanted_weeks: int = 0  # more than these if the person asked for more; 0: they named no number

    @property
    def total(self) -> int:
        """Minutes in all its weeks."""
        return sum(week.total for week in self.weeks)


@dataclass(frozen=True, slots=True)
class DrawnChart:
    """A chart, and its picture as it goes out with an answer."""

    chart: ChartReport
    png: bytes  # b"": none
    name: str
    description: str  # the chart in words, for a person who does not see it


@dataclass(frozen=True, slots=True)
class ChartWish:
    """The chart that a person asked for."""

    skill: Skill | None = None  # None: all
    weeks: int | None = None  # None: not said
    is_dark: bool = False
    rest: str = ""  # what is not understood


def read_chart_wish(text: str, skills: Sequence[Skill]) -> ChartWish:
    """Return the arguments of `/chart`, in any order: a skill, how many weeks, "dark"."""
    said = clean(text[:MAX_CHARS])
    dark = _DARK.search(said)
    said = _DARK.sub(" ", said, count=1)
    named = take_skill(said.strip(), skills)
    skill, said = named if named is not None else (None, said)
    span = _SPAN.search(said) or _BARE.search(said)
    if span is not None:
        said = f"{said[: span.start()]} {said[span.end() :]}"
    if skill is None and (named := take_skill(said.strip(), skills)) is not None:
        skill, said = named
    return ChartWish(skill, None if span is None else _count(span), dark is not None, said.strip(" ,."))


def weeks_in(text: str) -> int | None:
    """Return the number of weeks that a sentence names, months and years as weeks; None if it names none."""
    span = _SPAN.search(clean(text[:MAX_CHARS]))
    return None if span is None else _count(span)


def _count(span: re.Match[str]) -> int:
    return max(round(int(span["count"] or 1) * (13 / 3 if span["months"] else 52 if span["years"] else 1)), 1)


def chart_of(
    skills: Sequence[Skill], totals: Sequence[DayTotal], today: date, week_start: int, wish: ChartWish, goal: int | None
) -> ChartReport:
    """Return the weeks up to this one, from the first with practice on; `goal` is that of a week over all skills."""
    wanted = [skill for skill in skills if wish.skill is None or skill.id == wish.skill.id]
    by_week: dict[date, Counter[str]] = {}
    known = {skill.id for skill in wanted}
    for total in totals:
        if total.skill_id in known:
            by_week.setdefault(week_of(total.day, week_start), Counter())[total.skill_id] += total.minutes
    last, most = week_of(today, week_start), min(wish.weeks or USUAL_WEEKS, MAX_WEEKS)
    first = min(last, max(min(by_week, default=last), last - (most - 1) * WEEK))  # a day of next week: it is not
    weeks = [first + at * WEEK for at in range((last - first) // WEEK + 1)]
    counted = {week: by_week.get(week, Counter()) for week in weeks}
    minutes = {skill.id: sum(counted[week][skill.id] for week in weeks) for skill in wanted}
    shown = sorted((skill for skill in wanted if minutes[skill.id]), key=lambda skill: -minutes[skill.id])
    kept = shown if len(shown) <= MAX_SKILLS else shown[: MAX_SKILLS - 1]
    rest = shown[len(kept) :]
    drawn = [ChartSkill(name=each.name, colour=each.colour, minutes=minutes[each.id]) for each in kept]
    if rest:
        drawn.append(ChartSkill(name="", colour=OTHERS_COLOUR, minutes=sum(minutes[each.id] for each in rest)))
    rows = []
    for week in weeks:
        row = [counted[week][each.id] for each in kept]
        row += [sum(counted[week][each.id] for each in rest)] if rest else []
        rows.append(ChartWeek(week=week, minutes=tuple(row)))
    return ChartReport(
        skills=tuple(drawn),
        weeks=tuple(rows),
        goal_minutes=goal if wish.skill is None else wish.skill.weekly_minutes,
        only=None if wish.skill is None else wish.skill.name,
        wanted_weeks=wish.weeks or 0,
    )


def title_text(language: str, chart: ChartReport) -> str:
    """Return the title of the chart."""
    return say(language, "chart.title") if chart.only is None else say(language, "chart.title_of", skill=chart.only)


def summary_text(language: str, chart: ChartReport) -> str:
    """All of it in one number, and of how many weeks."""
    return COACH_TEXTS.plural(language, "chart.summary", len(chart.weeks), total=spell_minutes(chart.total))


def name_of(language: str, skill: ChartSkill) -> str:
    """As it is called in the chart."""
    return skill.name or say(language, "chart.others")


def short_date(language: str, day: date) -> str:
    """As "2 Mar", "2 mar"."""
    return f"{day.day} {say(language, f'month.{day.month}')[:3]}"


def week_date(language: str, weeks: Sequence[ChartWeek], day: date) -> str:
    """Return a date such as "2 Mar", or "2 Mar 2026" if the chart shows more than a year: then a day comes twice."""
    return f"{short_date(language, day)} {day.year}" if len(weeks) > A_YEAR else short_date(language, day)


def caption_text(language: str, chart: ChartReport) -> str:
    """Return the line that goes with the picture, as Markdown, and why it shows fewer weeks than were asked for."""
    if not chart.total:
        return COACH_TEXTS.plural(language, "chart.empty", len(chart.weeks))
    line = f"**{escape(title_text(language, chart))}**: {summary_text(language, chart)}."
    if chart.wanted_weeks > len(chart.weeks) == MAX_WEEKS:
        return f"{line} {say(language, 'chart.most', most=MAX_WEEKS)}"
    if chart.wanted_weeks > len(chart.weeks):
        first, last = chart.weeks[0].week, chart.weeks[-1].week
        day = short_date(language, first) + ("" if first.year == last.year else f" {first.year}")
        return f"{line} {say(language, 'chart.first', first=day)}"
    return line


def chart_text(language: str, chart: ChartReport) -> str:
    """Return the chart's numbers in words, as Markdown, for a person who does not see the picture."""
    lines = [caption_text(language, chart)]
    if not chart.total:
        return lines[0]
    if len(chart.skills) > 1:
        parts = (f"{escape(name_of(language, skill))} {spell_minutes(skill.minutes)}" for skill in chart.skills)
        lines.append(f"{' · '.join(parts)}.")
    dates = (week_date(language, chart.weeks, week.week) for week in chart.weeks)
    weeks = (f"{date}: {spell_minutes(week.total)}" for date, week in zip(dates, chart.weeks, strict=True))
    lines.append(say(language, "chart.weeks", weeks=" · ".join(weeks)))
    if chart.goal_minutes:
        lines.append(say(language, "chart.goal_line", goal=spell_minutes(chart.goal_minutes)))
    return "\n".join(lines)
