"""The data of a weekly plan, read before the model is asked: three reads at once, told as one message."""

import asyncio
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from agent.calendar import today_of
from agent.coach.patterns import MAX_SESSIONS
from agent.coach.reader import PracticeReader
from agent.coach.reports import (
    JourneyReport,
    PatternsReport,
    SkillsReport,
    journey_report,
    patterns_report,
    skills_report,
)
from agent.language import NAMES
from agent.ports import Principal
from agent.transcript import UserItem


class Prefetched(BaseModel):
    """Everything a weekly plan is written from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    skills: SkillsReport
    journey: JourneyReport
    patterns: PatternsReport


async def prefetch(reader: PracticeReader, principal: Principal, now: datetime) -> Prefetched:
    """The three reports, read side by side."""
    async with asyncio.TaskGroup() as reads:
        reading_skills = reads.create_task(reader.skills(principal))
        reading_days = reads.create_task(reader.days(principal))
        reading_sessions = reads.create_task(reader.sessions(principal, limit=MAX_SESSIONS))
    skills, today = reading_skills.result(), today_of(principal, now)
    return Prefetched(
        skills=skills_report(skills),
        journey=journey_report(skills, reading_days.result(), today, principal.week_start),
        patterns=patterns_report(reading_sessions.result(), today),
    )


def plan_request(prefetched: Prefetched, language: str, asked: str) -> UserItem:
    """The one message of the plan's model call: what the person asked, what to write, and the data."""
    return UserItem(
        f"{asked}\n\n"
        f"Write my weekly plan in {NAMES[language]}, in four sections: summary, plan, focus, goal. My data is below, "
        "read just now; use no other numbers. You have no tools in this answer, and the plan is saved for me.\n\n"
        f"```json\n{prefetched.model_dump_json()}\n```"
    )
