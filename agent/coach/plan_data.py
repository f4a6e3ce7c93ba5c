"""What a weekly plan is written from: the person's data read side by side, the week it is for, and what fits them.

The model and the rules get the same. Nothing is written or said here.
"""

import asyncio
from datetime import date, datetime, timedelta

from pydantic import BaseModel, ConfigDict

from agent.calendar import today_of, week_of, zone_of
from agent.coach.journey import journey_report
from agent.coach.patterns import MAX_READ, of_skills, patterns_report
from agent.coach.plan_wish import PlanWish
from agent.coach.practice import PracticeReader, name_key
from agent.coach.reports import JourneyReport, PatternsReport, SkillsReport, skills_report
from agent.ports import Principal

FROM_HOUR = 12
"""From this hour of the last day of the week on, a plan is for the next week."""

WEEK = timedelta(days=7)

FIRST_SESSION_MINUTES = 30
"""The longest session planned of what somebody has logged none of."""


class PlanFrame(BaseModel):
    """Which days a plan is for, and what fits the person."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    week: date  # its first day
    days: tuple[date, ...]  # those left of it, today included
    is_next: bool  # not the running one
    most_minutes: dict[str, int]  # of a session by skill, as `practice.name_key` has it: a fifth over its longest
    minutes_done: int  # in that week already

    def most_of(self, skill: str) -> int:
        """The longest session of this skill that fits them."""
        return self.most_minutes.get(name_key(skill), FIRST_SESSION_MINUTES)


class Prefetched(BaseModel):
    """Everything a weekly plan is written from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    skills: SkillsReport
    journey: JourneyReport
    patterns: PatternsReport
    frame: PlanFrame


def plan_week(principal: Principal, now: datetime, *, is_next: bool = False) -> date:
    """The first day of the week that a plan asked for now is about: the next one at the end of this."""
    local = now.astimezone(zone_of(principal.timezone))
    week = week_of(local.date(), principal.week_start)
    over = local.date() == week + timedelta(days=6) and local.hour >= FROM_HOUR
    return week + WEEK if is_next or over else week


def max_session(longest_minutes: int) -> int:
    """The longest session that a plan may ask of somebody: the longest they ever did of that skill plus a fifth."""
    return longest_minutes * 6 // 5 if longest_minutes else FIRST_SESSION_MINUTES


async def prefetch(reader: PracticeReader, principal: Principal, now: datetime, wish: PlanWish) -> Prefetched:
    """The reports, read side by side; of one skill where the wish names one."""
    async with asyncio.TaskGroup() as reads:
        reading_skills = reads.create_task(reader.skills(principal))
        reading_days = reads.create_task(reader.days(principal))
        reading_sessions = reads.create_task(reader.sessions(principal, limit=MAX_READ))
        reading_goal = reads.create_task(reader.weekly_goal(principal))
    skills, today = wish.of(reading_skills.result()), today_of(principal, now)
    sessions = of_skills(reading_sessions.result(), skills)
    only = skills[0].id if wish.skill is not None and skills else None
    patterns = patterns_report(sessions, today, only, principal.week_start)
    week = plan_week(principal, now, is_next=wish.is_next)
    goal = reading_goal.result() if wish.skill is None else None
    journey = journey_report(skills, reading_days.result(), today, principal.week_start, week, goal)
    return Prefetched(
        skills=skills_report(skills), journey=journey, patterns=patterns, frame=frame_of(journey, patterns, week)
    )


def frame_of(journey: JourneyReport, patterns: PatternsReport, week: date) -> PlanFrame:
    """The days of this week that are still to come, and the bounds of a session."""
    is_next = week > journey.today
    days = tuple(week + timedelta(days=ahead) for ahead in range(7))
    longest = patterns.longest_by_skill
    return PlanFrame(
        week=week,
        days=tuple(day for day in days if day >= journey.today),
        is_next=is_next,
        most_minutes={name_key(each.skill.name): max_session(longest.get(each.skill.id, 0)) for each in journey.skills},
        minutes_done=0 if is_next else journey.overall.this_week_minutes,
    )
