"""Reports as Markdown a person reads: what /stats, /skills and the offline coach say. Pure; words come from texts."""

from collections.abc import Sequence
from datetime import date

from agent.coach.durations import spell_minutes
from agent.coach.mastery import level_of, next_level
from agent.coach.reports import (
    GoalReport,
    JourneyNumbers,
    JourneyReport,
    PatternsReport,
    SessionsReport,
    SkillJourney,
    SkillReport,
    SkillsReport,
)
from agent.coach.texts import say, say_date, say_days, say_level
from agent.language import escape


def stats_text(language: str, journey: JourneyReport, patterns: PatternsReport | None = None) -> str:
    """The journey overall, its habits, and each skill with its level and goal."""
    if not journey.overall.total_minutes:
        return say(language, "stats.nothing_yet")
    blocks = [say(language, "stats.title"), _bullets(_number_lines(language, journey.overall, journey.today))]
    if patterns is not None:
        blocks += [say(language, "habits.title"), _bullets(_habit_lines(language, patterns))]
    for skill in journey.skills:
        if skill.numbers.total_minutes:
            blocks += [_skill_title(skill.skill, "###"), _bullets(_level_lines(language, skill))]
    return "\n\n".join(blocks)


def skill_stats_text(language: str, journey: SkillJourney, today: date, patterns: PatternsReport | None = None) -> str:
    """The journey of one skill."""
    skill = journey.skill
    if not journey.numbers.total_minutes:
        return say(language, "stats.nothing_of_skill", skill=escape(skill.name))
    lines = [*_number_lines(language, journey.numbers, today), *_level_lines(language, journey)]
    blocks = [_skill_title(skill, "##"), _bullets(lines)]
    if patterns is not None:
        blocks += [say(language, "habits.title"), _bullets(_habit_lines(language, patterns))]
    return "\n\n".join(blocks)


def skills_text(language: str, report: SkillsReport) -> str:
    """All skills, a line each."""
    if not report.skills:
        return say(language, "stats.nothing_yet")
    rows = []
    for skill in report.skills:
        row = say(
            language,
            "skill_list.row",
            emoji=skill.emoji,
            skill=escape(skill.name),
            total=spell_minutes(skill.total_minutes),
            level=say_level(language, level_of(skill.total_minutes)),
            percent=_percent(language, skill.percent_of_goal),
            goal=spell_minutes(skill.goal_minutes),
        )
        rows.append(row + (say(language, "skill_list.archived") if skill.archived else ""))
    return f"{say(language, 'skill_list.title')}\n\n{_bullets(rows)}"


def history_text(language: str, reports: Sequence[SessionsReport]) -> str:
    """Each session of each skill, newest first."""
    if not reports:
        return say(language, "stats.nothing_yet")
    blocks = [say(language, "history.title")]
    for report in reports:
        title = {"emoji": report.emoji, "skill": escape(report.skill), "total": spell_minutes(report.total_minutes)}
        blocks.append(say(language, "history.skill", days=say_days(language, report.days), **title))
        rows = [
            f"{row.date.isoformat()}: {spell_minutes(row.minutes)}" + (f" ({escape(row.notes)})" if row.notes else "")
            for row in report.sessions
        ]
        blocks.append(_bullets(rows or [say(language, "history.none")]))
    return "\n\n".join(blocks)


def _number_lines(language: str, numbers: JourneyNumbers, today: date) -> list[str]:
    lines = [
        say(
            language,
            "stats.total",
            total=spell_minutes(numbers.total_minutes),
            days=say_days(language, numbers.practice_days),
            first=(numbers.first_day or today).isoformat(),
        ),
        say(
            language,
            "stats.weeks",
            this=spell_minutes(numbers.this_week_minutes),
            last=spell_minutes(numbers.last_week_minutes),
            average=spell_minutes(numbers.weekly_average_minutes),
        ),
        say(
            language,
            "stats.streak",
            current=say_days(language, numbers.current_streak_days),
            longest=say_days(language, numbers.longest_streak_days),
        ),
    ]
    if numbers.current_streak_days and not numbers.practised_today:
        lines.append(say(language, "stats.streak_open"))
    for key, best in (("stats.best_day", numbers.best_day), ("stats.best_week", numbers.best_week)):
        if best is not None:
            day = say_date(language, best.date, today) if key == "stats.best_day" else best.date.isoformat()
            lines.append(say(language, key, day=day, minutes=spell_minutes(best.minutes)))
    return lines


def _habit_lines(language: str, patterns: PatternsReport) -> list[str]:
    minutes = patterns.minutes_by_weekday
    best = max(range(7), key=lambda weekday: (minutes[weekday], -weekday))
    worst = min(range(7), key=lambda weekday: (minutes[weekday], weekday))
    gaps = say(language, "habits.no_gaps")
    if patterns.longest_gap_days:
        longest = say_days(language, patterns.longest_gap_days)
        gaps = say(language, "habits.gaps", longest=longest, over=patterns.gaps_over_3_days)
    return [
        say(
            language,
            "habits.trend",
            trend=say(language, f"trend.{patterns.trend}"),
            recent=spell_minutes(patterns.last_4_weeks_minutes),
            before=spell_minutes(patterns.the_4_before_minutes),
        ),
        say(
            language,
            "habits.active",
            active=patterns.active_days_of_30,
            consistency=say(language, f"consistency.{patterns.consistency}"),
        ),
        say(
            language,
            "habits.days",
            best=say(language, f"weekday.{best}"),
            minutes=spell_minutes(minutes[best]),
            worst=say(language, f"weekday.{worst}"),
        ),
        gaps,
    ]


def _level_lines(language: str, journey: SkillJourney) -> list[str]:
    total = journey.skill.total_minutes
    level, following = say_level(language, level_of(total)), next_level(total)
    if following is None:
        first = say(language, "stats.level_top", level=level)
    else:
        left = spell_minutes(following.from_minutes - total)
        first = say(language, "stats.level", level=level, left=left, next=say_level(language, following))
    return [first, _goal_line(language, journey.goal, journey.skill.percent_of_goal)]


def _goal_line(language: str, goal: GoalReport, percent: float) -> str:
    spelled = spell_minutes(goal.goal_minutes)
    if not goal.minutes_left:
        return say(language, "stats.goal_done", goal=spelled)
    if goal.weeks is None:
        return say(language, "stats.goal_paused", percent=_percent(language, percent), goal=spelled)
    key = "stats.goal_far" if goal.date is None else "stats.goal"
    pace = spell_minutes(goal.pace_minutes_a_week)
    return say(language, key, percent=_percent(language, percent), goal=spelled, pace=pace, date=goal.date)


def _skill_title(skill: SkillReport, marks: str) -> str:
    return f"{marks} {skill.emoji} {escape(skill.name)}"


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _percent(language: str, percent: float) -> str:
    return f"{percent:g} %".replace(".", say(language, "units.decimal_mark"))
