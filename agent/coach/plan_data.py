"""Reads the material of a weekly plan: the person's data, the week, and the sessions that suit them.

The model and the rules get the same material; `read_wish` parses the person's request.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from pydantic import BaseModel, ConfigDict

from agent.calendar import today_of, week_of, zone_of
from agent.coach.journey import journey_report
from agent.coach.patterns import MAX_READ, of_skills, patterns_report
from agent.coach.plan_conditions import NO_CONDITIONS, NOTHING_SAID, PlanConditions, SaidConditions, read_conditions
from agent.coach.practice import PracticeReader, Skill, name_key
from agent.coach.reports import JourneyReport, PatternsReport, SkillsReport, skills_report
from agent.ports import Principal

MAX_CHARS = 400

_COMMAND = re.compile(r"\s*/plan(?:\s+|\Z)", re.IGNORECASE)
OPENING = "/plan open"
"""The request with which the coach itself opens a week."""

_NEW = frozenset(["new", "nuevo", "nueva", "otro", "another"])
_NEXT = frozenset(["next", "próxima", "proxima", "próximo", "proximo", "siguiente"])
NEXT_WEEK = re.compile(
    r"\bnext week\b|\bpr[oó]xima semana\b|\bsemana (?:que viene|pr[oó]xima|siguiente)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class PlanWish:
    """One wish about a plan."""

    shows: bool = False  # the saved plan is wanted, if there is one
    is_next: bool = False  # of the next week
    skill: str | None = None  # for this skill alone, by name
    opens: bool = False  # the coach itself opens a week
    conditions: SaidConditions = NOTHING_SAID
    rest: str = field(default="", compare=False)  # words behind `/plan` that say neither "new" nor "next"

    def of(self, skills: Sequence[Skill]) -> Sequence[Skill]:
        """Return the skills that the plan is for."""
        if self.skill is None:
            return skills
        return [skill for skill in skills if skill.name == self.skill]


def read_wish(text: str, skills: Sequence[Skill]) -> PlanWish:
    """Parse a request for a plan from `/plan ...` or from words; `/plan` alone shows the saved plan."""
    if text.strip() == OPENING:
        return PlanWish(shows=True, opens=True)
    called = _COMMAND.match(text)
    words = name_key(text[called.end() if called else 0 :][:MAX_CHARS])
    listed = words.split()
    conditions = read_conditions(words)
    is_next = NEXT_WEEK.search(words) is not None or bool(called and _NEXT.intersection(listed))
    is_new = not called or bool(_NEW.intersection(listed))
    rest = [word for word in listed if word not in _NEXT | _NEW] if called else listed
    skill = _find_skill(" ".join(rest), skills)
    said = " ".join(rest)
    behind = said if called and not (skill and name_key(skill).startswith(said)) else ""
    return PlanWish(not is_new and not rest, is_next, skill, conditions=conditions, rest=behind)


def _find_skill(words: str, skills: Sequence[Skill]) -> str | None:
    """Return the longest skill name that occurs in the words, else the only one that begins with them, else None."""
    found = [skill for skill in skills if f" {name_key(skill.name)} " in f" {words} "]
    if found:
        return max(found, key=lambda skill: len(skill.name)).name
    begun = [skill for skill in skills if words and name_key(skill.name).startswith(words)]
    return begun[0].name if len(begun) == 1 else None


FROM_HOUR = 12
"""From this hour of the last day of the week on, a plan is for the next week."""

WEEK = timedelta(days=7)

FIRST_SESSION_MINUTES = 30
"""The longest planned session of a skill without entries, in minutes."""


class PlanFrame(BaseModel):
    """Which days a plan is for, and what fits the person."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    week: date  # its first day
    days: tuple[date, ...]  # those left of it, today included
    is_next: bool  # not the running one
    most_minutes: dict[str, int]  # of a session by skill, as `practice.name_key` has it: a fifth over its longest
    minutes_done: int  # in that week already
    conditions: PlanConditions = NO_CONDITIONS  # the person's own

    def most_of(self, skill: str) -> int:
        """Return the longest session of this skill that fits them and their conditions."""
        most = self.most_minutes.get(name_key(skill), FIRST_SESSION_MINUTES)
        return most if self.conditions.most_day_minutes is None else min(most, self.conditions.most_day_minutes)

    @property
    def free_days(self) -> tuple[date, ...]:
        """Return the days left of the week that the person has not ruled out."""
        return tuple(day for day in self.days if day.weekday() not in self.conditions.weekdays_off)


class Prefetched(BaseModel):
    """Everything a weekly plan is written from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    skills: SkillsReport
    journey: JourneyReport
    patterns: PatternsReport
    frame: PlanFrame


def plan_week(principal: Principal, now: datetime, *, is_next: bool = False) -> date:
    """Return the first day of the week that a plan asked for now is about: the next one at the end of this."""
    local = now.astimezone(zone_of(principal.timezone))
    week = week_of(local.date(), principal.week_start)
    over = local.date() == week + timedelta(days=6) and local.hour >= FROM_HOUR
    return week + WEEK if is_next or over else week


def _planned_week(principal: Principal, now: datetime, conditions: PlanConditions, *, is_next: bool) -> date:
    """Return the first day of the planned week: the next one if no day is free in what is left of this."""
    week, today = plan_week(principal, now, is_next=is_next), today_of(principal, now)
    left = {(week + timedelta(days=ahead)).weekday() for ahead in range(7) if week + timedelta(days=ahead) >= today}
    is_over = not conditions.leaves_no_day and left <= set(conditions.weekdays_off)
    return week + WEEK if is_over else week


def max_session(longest_minutes: int) -> int:
    """Return the longest session that a plan may ask for, in minutes: the person's longest so far plus a fifth."""
    return longest_minutes * 6 // 5 if longest_minutes else FIRST_SESSION_MINUTES


async def prefetch(reader: PracticeReader, principal: Principal, now: datetime, wish: PlanWish) -> Prefetched:
    """Return the reports, read side by side; of one skill where the wish names one."""
    async with asyncio.TaskGroup() as reads:
        reading_skills = reads.create_task(reader.skills(principal))
        reading_days = reads.create_task(reader.days(principal))
        reading_sessions = reads.create_task(reader.sessions(principal, limit=MAX_READ))
        reading_goal = reads.create_task(reader.weekly_goal(principal))
        reading_conditions = reads.create_task(reader.plan_conditions(principal))
    conditions = wish.conditions.over(reading_conditions.result())
    skills, today = wish.of(reading_skills.result()), today_of(principal, now)
    sessions = of_skills(reading_sessions.result(), skills)
    only = skills[0].id if wish.skill is not None and skills else None
    patterns = patterns_report(sessions, today, only, principal.week_start)
    week = _planned_week(principal, now, conditions, is_next=wish.is_next)
    goal = reading_goal.result() if wish.skill is None else None
    journey = journey_report(skills, reading_days.result(), today, principal.week_start, week, goal)
    return Prefetched(
        skills=skills_report(skills),
        journey=journey,
        patterns=patterns,
        frame=frame_of(journey, patterns, week, conditions),
    )


def frame_of(
    journey: JourneyReport, patterns: PatternsReport, week: date, conditions: PlanConditions = NO_CONDITIONS
) -> PlanFrame:
    """Return the days of this week that are still to come, and the bounds of a session."""
    is_next = week > journey.today
    days = tuple(week + timedelta(days=ahead) for ahead in range(7))
    longest = patterns.longest_by_skill
    return PlanFrame(
        week=week,
        days=tuple(day for day in days if day >= journey.today),
        is_next=is_next,
        most_minutes={name_key(each.skill.name): max_session(longest.get(each.skill.id, 0)) for each in journey.skills},
        minutes_done=0 if is_next else journey.overall.this_week_minutes,
        conditions=conditions,
    )
