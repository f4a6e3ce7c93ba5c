"""A saved plan beside what was done of it: the report of `show_plan`, and its text. Pure."""

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta

from agent.catalogue import escape
from agent.coach.durations import spell_minutes
from agent.coach.practice import Insight, PracticeSession, Skill, WeeklyPlan, emoji_for, name_key
from agent.coach.reports import PlannedRow, PlanReport
from agent.coach.texts import COACH_TEXTS, say, say_day

WEEK = timedelta(days=7)


def plan_report(
    plan: WeeklyPlan | None,
    week: date,
    today: date,
    skills: Sequence[Skill],
    sessions: Sequence[PracticeSession],
    *,
    this_week: date,
) -> PlanReport:
    """Return the plan of a week against the practice of these skills in it."""
    names = {skill.id: name_key(skill.name) for skill in skills}
    done: Counter[tuple[date, str]] = Counter()
    for session in sessions:
        if week <= session.day < week + WEEK and session.skill_id in names:
            done[session.day, names[session.skill_id]] += session.minutes
    planned = () if plan is None else plan.sessions
    rows = tuple(
        PlannedRow(
            date=each.day,
            skill=each.skill,
            planned_minutes=each.minutes,
            done_minutes=done[each.day, name_key(each.skill)],
        )
        for each in planned
    )
    return PlanReport(
        week=week,
        is_next=week > this_week,
        is_this=week == this_week,
        today=today,
        found=plan is not None,
        content="" if plan is None else plan.content,
        insights=() if plan is None else plan.insights,
        planned=rows,
        planned_minutes=sum(each.minutes for each in planned),
        done_minutes=sum(done.values()),
    )


def saved_plan_text(language: str, report: PlanReport) -> str:
    """Return the progress of the plan day by day and the plan itself; how to get one if there is none."""
    if not report.found:
        return say(language, "plan.none_next" if report.is_next else "plan.none")
    blocks = [_title(language, report)]
    if not report.is_next:
        blocks += [progress] if (progress := _progress(language, report)) else []
        has_begun = any(row.done_minutes or row.date < report.today for row in report.planned)
        blocks += [_rows(language, report)] if has_begun else []  # else the plan itself says it all
    blocks.append(report.content)
    found = insights_text(language, report.insights)
    return "\n\n".join([*blocks, *([found] if found else []), say(language, "plan.another")])


def insights_text(language: str, insights: Sequence[Insight]) -> str:
    """Return the insights, a line each; "" if there are none."""
    if not insights:
        return ""
    lines = (f"- **{each.title}**" + (f": {each.description}" if each.description else "") for each in insights)
    return "\n\n".join((say(language, "plan.insights"), "\n".join(lines)))


def _title(language: str, report: PlanReport) -> str:
    first = say_day(language, report.week, report.today)
    if report.is_next:
        return say(language, "plan.title_next", date=first)
    return say(language, "plan.title_this") if report.is_this else say(language, "plan.title_of", date=first)


def _progress(language: str, report: PlanReport) -> str:
    """Return the practice that follows the plan, and the week's whole practice if that is more."""
    every, planned = spell_minutes(report.done_minutes), spell_minutes(report.planned_minutes)
    if not report.planned:
        return say(language, "plan.done_only", done=every)
    done = sum(min(row.done_minutes, row.planned_minutes) for row in report.planned)
    if not report.done_minutes and not any(row.date < report.today for row in report.planned):
        return ""  # it has only just begun
    kept, count = sum(row.done_minutes >= row.planned_minutes for row in report.planned), len(report.planned)
    key = "plan.progress" if done == report.done_minutes else "plan.progress_apart"
    values = {"all": every, "done": spell_minutes(done), "planned": planned, "kept": kept}
    return COACH_TEXTS.plural(language, key, count, **values)


def _rows(language: str, report: PlanReport) -> str:
    lines = []
    for row in report.planned:
        values = {
            "day": say_day(language, row.date, report.today),
            "emoji": emoji_for(row.skill),
            "skill": escape(row.skill),
            "planned": spell_minutes(row.planned_minutes),
            "done": spell_minutes(row.done_minutes),
        }
        if row.done_minutes >= row.planned_minutes:
            key = "plan.row_done"
        elif row.date < report.today:
            key = "plan.row_short" if row.done_minutes else "plan.row_missed"
        else:
            key = "plan.row_begun" if row.done_minutes else "plan.row_open"
        lines.append(f"- {say(language, key, **values)}")
    return "\n".join(lines)
