"""The coach's tools. Reads answer with reports; a change is a function of the `PracticeWriter`, run by the gateway.

Whose data it is comes from the call's context alone: no tool has an argument that names a person, and one that a
model makes up is refused. Names and arguments are fixed: models and tests know them. What people rarely ask for is
deferred, so that a small model reads less before it speaks; the five tools that advice and plans stand on never are.
"""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta

from pydantic import BaseModel, JsonValue

from agent.calendar import today_of, week_of, zone_of
from agent.catalogue import language_of
from agent.coach import reports
from agent.coach.chart import ChartWish, chart_of
from agent.coach.chart_picture import plot
from agent.coach.journey import journey_report
from agent.coach.patterns import MAX_READ, longest_by_skill, of_skills, patterns_report
from agent.coach.plan_answer import bounded_sessions
from agent.coach.plan_conditions import PlanConditions
from agent.coach.plan_data import WEEK, max_session, plan_week
from agent.coach.practice import (
    Insight,
    PlannedSession,
    PracticeReader,
    PracticeWriter,
    Skill,
    SkillEdit,
    WeeklyPlan,
    check_entry,
    clean_name,
    name_key,
)
from agent.coach.reminders import Reminder
from agent.coach.saved_plan import plan_report
from agent.coach.tool_arguments import (
    Conditions,
    MaybeSkill,
    NewLog,
    NewPlan,
    NewReminder,
    NewSkill,
    NoArguments,
    PlannedArgument,
    SessionChange,
    SkillChange,
    TimerEnd,
    TimerSkill,
    TwoSkills,
    WeeklyGoal,
    WhichChart,
    WhichEntries,
    WhichReminder,
    WhichSession,
    WhichSessions,
    WhichSkills,
    WhichWeek,
)
from agent.ports import LocalEffect, Principal
from agent.schedules.rules import EVERY_DAY
from agent.tools.base import Effect, ToolContext, ToolError, tool


class CoachTools:
    """The tools of the coach, for the person of the turn."""

    def __init__(self, reader: PracticeReader, writer: PracticeWriter) -> None:
        self._reader = reader
        self._writer = writer

    @tool(WhichSkills, effect=Effect.NONE, concurrency_safe=True, says="tool.get_user_skills")
    async def get_user_skills(self, context: ToolContext, arguments: WhichSkills) -> JsonValue:
        """Skills with total practice, level, goal and progress."""
        skills = await self._reader.skills(context.principal, include_archived=arguments.include_archived)
        return _json(reports.skills_report(skills))

    @tool(WhichSessions, effect=Effect.NONE, concurrency_safe=True, says="tool.get_practice_sessions")
    async def get_practice_sessions(self, context: ToolContext, arguments: WhichSessions) -> JsonValue:
        """One skill's sessions in the last days, with notes and ids."""
        skill = await self._skill(context.principal, arguments.skill_id)
        context.report("tool.reading_days", days=arguments.days)
        since = today_of(context.principal, context.now) - timedelta(days=arguments.days - 1)
        found = await self._reader.sessions(context.principal, skill_id=skill.id, since=since, limit=10_000)
        return _json(reports.sessions_report(skill, found, arguments.days))

    @tool(NoArguments, effect=Effect.NONE, concurrency_safe=True, says="tool.get_journey_stats")
    async def get_journey_stats(self, context: ToolContext, arguments: NoArguments) -> JsonValue:
        """Totals, weekly average, bests, streaks and projected goal date, in all and by skill."""
        principal = context.principal
        today, week = today_of(principal, context.now), plan_week(principal, context.now)
        skills = await self._reader.skills(principal)
        totals = await self._reader.days(principal)
        goal = await self._reader.weekly_goal(principal)
        return _json(journey_report(skills, totals, today, principal.week_start, week, goal))

    @tool(MaybeSkill, effect=Effect.NONE, concurrency_safe=True, says="tool.analyze_practice_patterns")
    async def analyze_practice_patterns(self, context: ToolContext, arguments: MaybeSkill) -> JsonValue:
        """Habits: minutes by weekday, four-week trend with both averages, breaks, active days of 30."""
        wanted, principal = arguments.skill_id, context.principal
        skill_id = None if wanted is None else (await self._skill(principal, wanted)).id
        sessions = await self._reader.sessions(principal, skill_id=skill_id, limit=MAX_READ)
        if skill_id is None:
            sessions = tuple(of_skills(sessions, await self._reader.skills(principal)))
        return _json(patterns_report(sessions, today_of(principal, context.now), skill_id, principal.week_start))

    @tool(WhichWeek, effect=Effect.NONE, concurrency_safe=True, says="tool.show_plan")
    async def show_plan(self, context: ToolContext, arguments: WhichWeek) -> JsonValue:
        """Return the saved plan of a week, and what was done of it."""
        principal, today = context.principal, today_of(context.principal, context.now)
        this_week = week_of(today, principal.week_start)
        week = this_week + {"this": 0, "next": 1, "last": -1}[arguments.week] * WEEK
        plan = await self._reader.plan(principal, week)
        skills = await self._reader.skills(principal)
        sessions = await self._reader.sessions(principal, since=week, limit=MAX_READ)
        return _json(plan_report(plan, week, today, skills, sessions, this_week=this_week))

    @tool(NewPlan, effect=Effect.LOCAL, says="tool.save_weekly_plan")
    async def save_weekly_plan(self, context: ToolContext, arguments: NewPlan) -> LocalEffect:
        """Keep the plan of `plan_week`, replacing an earlier one."""
        principal = context.principal
        skills = await self._reader.skills(principal)
        week = plan_week(principal, context.now)
        insights = tuple(Insight(i.type, i.title, i.description, i.skill_id) for i in arguments.insights)
        sessions = await self._read_sessions(context, arguments.sessions, tuple(skill.name for skill in skills))
        plan = WeeklyPlan(week, arguments.content, insights, tuple(skill.id for skill in skills), sessions)
        return LocalEffect(self._writer.save_plan, plan)

    @tool(NewSkill, effect=Effect.LOCAL, says="tool.create_skill", should_defer=True)
    async def create_skill(self, context: ToolContext, arguments: NewSkill) -> LocalEffect:
        """Add a skill."""
        name, goal = clean_name(arguments.name), arguments.goal_hours * 60
        return LocalEffect(self._writer.create_skill, name, arguments.emoji, arguments.colour, goal)

    @tool(NewLog, effect=Effect.LOCAL, says="tool.log_practice")
    async def log_practice(self, context: ToolContext, arguments: NewLog) -> LocalEffect:
        """Log practice the person says they have done, never what is only planned."""
        day = _day(arguments.date, context) or today_of(context.principal, context.now)
        check_entry(arguments.minutes, day, today_of(context.principal, context.now))
        skill = await self._find_or_name(context.principal, arguments.skill)
        return LocalEffect(self._writer.log, skill, arguments.minutes, day, arguments.notes)

    @tool(NoArguments, effect=Effect.LOCAL, says="tool.undo_last_log")
    async def undo_last_log(self, context: ToolContext, arguments: NoArguments) -> LocalEffect:
        """Take back the last log, or bring back an entry deleted since."""
        return LocalEffect(self._writer.undo_last_log)

    @tool(SessionChange, effect=Effect.LOCAL, says="tool.edit_session")
    async def edit_session(self, context: ToolContext, arguments: SessionChange) -> LocalEffect:
        """Correct a logged session."""
        day = _day(arguments.date, context)
        if arguments.minutes is None and arguments.notes is None and day is None and arguments.skill is None:
            raise ToolError("Say what to change: minutes, notes, date or skill.")
        if day is not None:
            check_entry(arguments.minutes or 1, day, today_of(context.principal, context.now))
        skill = None if arguments.skill is None else await self._find_or_name(context.principal, arguments.skill)
        edit = self._writer.edit_session
        return LocalEffect(edit, arguments.session_id, arguments.minutes, day, arguments.notes, skill)

    @tool(WhichEntries, effect=Effect.NONE, concurrency_safe=True)
    async def get_entries(self, context: ToolContext, arguments: WhichEntries) -> JsonValue:
        """Total of a range of days or a weekday, by skill, and its sessions with ids; filter by skill or notes."""
        principal = context.principal
        skills = await self._reader.skills(principal, include_archived=True)
        skill = None if arguments.skill is None else await self._skill(principal, arguments.skill)
        since, until = _day(arguments.since, context), _day(arguments.until, context)
        found = await self._reader.sessions(principal, since=since, limit=MAX_READ)
        report = reports.entries_report(
            found,
            skills,
            since=since,
            until=until,
            skill=skill,
            text=arguments.text,
            weekday=arguments.weekday,
            shown=0 if arguments.totals_only else reports.MAX_SESSIONS_SHOWN,
        )
        return _json(report)

    @tool(WhichSession, effect=Effect.LOCAL, says="tool.delete_session", should_defer=True)
    async def delete_session(self, context: ToolContext, arguments: WhichSession) -> LocalEffect:
        """Take back one logged session."""
        return LocalEffect(self._writer.delete_session, arguments.session_id)

    @tool(SkillChange, effect=Effect.LOCAL, should_defer=True)
    async def edit_skill(self, context: ToolContext, arguments: SkillChange) -> LocalEffect:
        """Rename, archive or restore a skill, or change its colour, emoji or goals."""
        skill = await self._skill(context.principal, arguments.skill)
        goal_minutes = None if arguments.goal_hours is None else arguments.goal_hours * 60
        edit = SkillEdit(
            arguments.name,
            arguments.archived,
            arguments.colour,
            arguments.emoji,
            goal_minutes,
            arguments.weekly_minutes,
        )
        if edit == SkillEdit():
            raise ToolError("Say what to change.")
        return LocalEffect(self._writer.edit_skill, skill.id, edit)

    @tool(TwoSkills, effect=Effect.LOCAL, should_defer=True)
    async def merge_skills(self, context: ToolContext, arguments: TwoSkills) -> LocalEffect:
        """Give all sessions of a skill to another; it is no more. Ask first."""
        skill = await self._skill(context.principal, arguments.skill)
        into = await self._skill(context.principal, arguments.into)
        return LocalEffect(self._writer.merge_skills, skill.id, into.id)

    @tool(WeeklyGoal, effect=Effect.LOCAL, should_defer=True)
    async def set_weekly_goal(self, context: ToolContext, arguments: WeeklyGoal) -> LocalEffect:
        """Minutes a week over all skills."""
        return LocalEffect(self._writer.set_weekly_goal, arguments.minutes)

    @tool(Conditions, effect=Effect.LOCAL, should_defer=True)
    async def set_plan_conditions(self, context: ToolContext, arguments: Conditions) -> LocalEffect:
        """Keep what every plan must respect: days they cannot, minutes a day. Replaces what was kept."""
        if not all(0 <= weekday <= 6 for weekday in arguments.weekdays_off):
            raise ToolError("Weekdays are 0 (Monday) to 6 (Sunday).")
        off = tuple(sorted(set(arguments.weekdays_off)))
        return LocalEffect(self._writer.set_plan_conditions, PlanConditions(off, arguments.most_day_minutes))

    @tool(WhichChart, effect=Effect.LOCAL, says="tool.plot_progress", should_defer=True)
    async def plot_progress(self, context: ToolContext, arguments: WhichChart) -> LocalEffect:
        """Send a chart of minutes a week with your answer, as a picture that shows its numbers: do not repeat them."""
        principal, today = context.principal, today_of(context.principal, context.now)
        skill = None if arguments.skill is None else await self._skill(principal, arguments.skill)
        wish = ChartWish(skill, arguments.weeks, arguments.dark)
        skills = await self._reader.skills(principal) if skill is None else (skill,)
        totals, goal = await self._reader.days(principal), await self._reader.weekly_goal(principal)
        chart = chart_of(skills, totals, today, principal.week_start, wish, goal)
        drawn = await plot(language_of(principal.locale), chart, is_dark=wish.is_dark)
        numbers = chart.model_dump(mode="json")
        return LocalEffect(self._writer.keep_chart, numbers, drawn.png, drawn.name, drawn.description)

    @tool(NewReminder, effect=Effect.LOCAL, should_defer=True)
    async def set_reminder(self, context: ToolContext, arguments: NewReminder) -> LocalEffect:
        """Remind them to practise, in their zone."""
        at = time.fromisoformat(arguments.time.zfill(5))
        if not all(0 <= weekday <= 6 for weekday in arguments.weekdays):
            raise ToolError("Weekdays are 0 (Monday) to 6 (Sunday).")
        day = None if arguments.date is None else _plan_day(arguments.date)
        weekdays = () if day is not None else tuple(sorted(set(arguments.weekdays))) or EVERY_DAY
        return LocalEffect(self._writer.set_reminder, at, weekdays, day, arguments.about)

    @tool(NoArguments, effect=Effect.NONE, concurrency_safe=True, should_defer=True)
    async def list_reminders(self, context: ToolContext, arguments: NoArguments) -> JsonValue:
        """Their reminders, with ids."""
        found = await self._reader.reminders(context.principal)
        return {"reminders": [_reminder_json(reminder) for reminder in found]}

    @tool(WhichReminder, effect=Effect.LOCAL, should_defer=True)
    async def cancel_reminders(self, context: ToolContext, arguments: WhichReminder) -> LocalEffect:
        """Take a reminder away, or all."""
        return LocalEffect(self._writer.cancel_reminders, arguments.reminder_id)

    @tool(TimerSkill, effect=Effect.LOCAL, should_defer=True)
    async def start_timer(self, context: ToolContext, arguments: TimerSkill) -> LocalEffect:
        """Start a clock for a skill they begin to practise now."""
        skill = await self._skill(context.principal, arguments.skill)
        return LocalEffect(self._writer.start_timer, skill.name)

    @tool(TimerEnd, effect=Effect.LOCAL, should_defer=True)
    async def stop_timer(self, context: ToolContext, arguments: TimerEnd) -> LocalEffect:
        """Stop the clock and log it."""
        return LocalEffect(self._writer.stop_timer, arguments.minutes, arguments.notes)

    async def _read_sessions(
        self, context: ToolContext, rows: Sequence[PlannedArgument], names: Sequence[str]
    ) -> tuple[PlannedSession, ...]:
        """Return the sessions of a plan, none longer than fits the person."""
        logged = await self._reader.sessions(context.principal, limit=MAX_READ) if rows else ()
        longest = longest_by_skill(logged)
        known = {
            name_key(skill.name): longest.get(skill.id, 0) for skill in await self._reader.skills(context.principal)
        }

        def most_of(skill: str) -> int:
            return max_session(known.get(name_key(skill), 0))

        for row in rows:
            if row.minutes > (most := most_of(row.skill)):
                raise ToolError(f"No session of {row.skill} over {most} min: more does not fit them yet.")
        planned = [PlannedSession(_plan_day(row.date), row.skill, row.minutes) for row in rows]
        return bounded_sessions(planned, names, most_of)

    async def _find_or_name(self, principal: Principal, name_or_id: str) -> str:
        """Return the id of a skill there is, archived ones included; else the name of one that may be."""
        match = _match(await self._reader.skills(principal, include_archived=True), name_or_id)
        return match.id if match is not None else clean_name(name_or_id)

    async def _skill(self, principal: Principal, name_or_id: str) -> Skill:
        known = await self._reader.skills(principal, include_archived=True)
        found = _match(known, name_or_id)
        if found is None:
            names = ", ".join(skill.name for skill in known) or "none yet"
            raise ToolError(f"There is no skill {name_or_id!r}. The person's skills: {names}.")
        return found


def _match(skills: tuple[Skill, ...], name_or_id: str) -> Skill | None:
    by_id = next((skill for skill in skills if skill.id == name_or_id), None)
    return by_id or next((skill for skill in skills if name_key(skill.name) == name_key(name_or_id)), None)


def _plan_day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise ToolError(f"{text!r} is no date: write YYYY-MM-DD.") from None


def _day(text: str | None, context: ToolContext) -> date | None:
    today = today_of(context.principal, context.now)
    if text is None or not text.strip():
        return None
    word = text.strip().lower()
    if word in ("today", "yesterday"):
        return today - timedelta(days=word == "yesterday")
    try:
        return _local_day(text.strip(), context.principal)
    except (ValueError, OverflowError):
        raise ToolError(f"{text!r} is no date: write YYYY-MM-DD, today or yesterday.") from None


def _local_day(text: str, principal: Principal) -> date:
    """Return an ISO date, or the day on which an ISO instant falls for the person; one without a zone is their
    own time.
    """
    try:
        return date.fromisoformat(text)
    except ValueError:
        at = datetime.fromisoformat(text.upper())
    return at.date() if at.tzinfo is None else at.astimezone(zone_of(principal.timezone)).date()


def _reminder_json(reminder: Reminder) -> JsonValue:
    return {
        "id": reminder.id,
        "time": f"{reminder.at:%H:%M}",
        "weekdays": list(reminder.weekdays),
        "date": None if reminder.day is None else reminder.day.isoformat(),
        "about": reminder.about,
    }


def _json(report: BaseModel) -> JsonValue:
    dumped: JsonValue = report.model_dump(mode="json")
    return dumped
