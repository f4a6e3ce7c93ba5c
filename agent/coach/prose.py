"""Reports as Markdown a person reads: what /stats, /skills and the offline coach say. Pure; words come from texts."""

from collections.abc import Sequence
from datetime import date

from agent.coach.durations import spell_minutes
from agent.coach.language import say, say_date, say_days, say_level, say_weekday
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
from agent.language import escape


def stats_text(language: str, journey: JourneyReport, patterns: PatternsReport | None = None) -> str:
    """The journey overall, its habits, and each skill with its level and goal."""
    if not journey.overall.total_minutes:
        return say(language, "nothing_yet")
    blocks = [say(language, "stats_title"), _bullets(_number_lines(language, journey.overall, journey.today))]
    if patterns is not None:
        blocks += [say(language, "habits_title"), _bullets(_habit_lines(language, patterns))]
    for skill in journey.skills:
        if skill.numbers.total_minutes:
            blocks += [_skill_title(language, skill.skill, "###"), _bullets(_level_lines(language, skill))]
    return "\n\n".join(blocks)


def skill_stats_text(language: str, journey: SkillJourney, today: date, patterns: PatternsReport | None = None) -> str:
    """The journey of one skill."""
    skill = journey.skill
    if not journey.numbers.total_minutes:
        return say(language, "nothing_of_skill", skill=escape(skill.name))
    lines = [*_number_lines(language, journey.numbers, today), *_level_lines(language, journey)]
    blocks = [_skill_title(language, skill, "##"), _bullets(lines)]
    if patterns is not None:
        blocks += [say(language, "habits_title"), _bullets(_habit_lines(language, patterns))]
    return "\n\n".join(blocks)


def skills_text(language: str, report: SkillsReport) -> str:
    """All skills, a line each."""
    if not report.skills:
        return say(language, "nothing_yet")
    rows = []
    for skill in report.skills:
        row = say(
            language,
            "skills_row",
            emoji=skill.emoji,
            skill=escape(skill.name),
            total=spell_minutes(skill.total_minutes),
            level=say_level(language, level_of(skill.total_minutes)),
            percent=_percent(language, skill.percent_of_goal),
            goal=spell_minutes(skill.goal_minutes),
        )
        rows.append(row + (say(language, "skills_archived") if skill.archived else ""))
    return f"{say(language, 'skills_title')}\n\n{_bullets(rows)}"


def history_text(language: str, reports: Sequence[SessionsReport]) -> str:
    """Each session of each skill, newest first."""
    if not reports:
        return say(language, "nothing_yet")
    blocks = [say(language, "history_title")]
    for report in reports:
        title = {"emoji": report.emoji, "skill": escape(report.skill), "total": spell_minutes(report.total_minutes)}
        blocks.append(say(language, "history_skill", days=say_days(language, report.days), **title))
        rows = [
            say(
                language,
                "history_row",
                date=row.date.isoformat(),
                minutes=spell_minutes(row.minutes),
                notes=f" ({escape(row.notes)})" if row.notes else "",
            )
            for row in report.sessions
        ]
        blocks.append(_bullets(rows or [say(language, "history_none")]))
    return "\n\n".join(blocks)


def _number_lines(language: str, numbers: JourneyNumbers, today: date) -> list[str]:
    lines = [
        say(
            language,
            "stats_total",
            total=spell_minutes(numbers.total_minutes),
            days=say_days(language, numbers.practice_days),
            first=(numbers.first_day or today).isoformat(),
        ),
        say(
            language,
            "stats_weeks",
            this=spell_minutes(numbers.this_week_minutes),
            last=spell_minutes(numbers.last_week_minutes),
            average=spell_minutes(numbers.weekly_average_minutes),
        ),
        say(
            language,
            "stats_streak",
            current=say_days(language, numbers.current_streak_days),
            longest=say_days(language, numbers.longest_streak_days),
        ),
    ]
    if numbers.current_streak_days and not numbers.practised_today:
        lines.append(say(language, "stats_streak_open"))
    for key, best in (("stats_best_day", numbers.best_day), ("stats_best_week", numbers.best_week)):
        if best is not None:
            day = say_date(language, best.date, today) if key == "stats_best_day" else best.date.isoformat()
            lines.append(say(language, key, day=day, minutes=spell_minutes(best.minutes)))
    return lines


def _habit_lines(language: str, patterns: PatternsReport) -> list[str]:
    minutes = patterns.minutes_by_weekday
    best = max(range(7), key=lambda weekday: (minutes[weekday], -weekday))
    worst = min(range(7), key=lambda weekday: (minutes[weekday], weekday))
    gaps = say(language, "habits_no_gaps")
    if patterns.longest_gap_days:
        longest = say_days(language, patterns.longest_gap_days)
        gaps = say(language, "habits_gaps", longest=longest, over=patterns.gaps_over_3_days)
    return [
        say(
            language,
            "habits_trend",
            trend=say(language, f"trend_{patterns.trend}"),
            recent=spell_minutes(patterns.last_4_weeks_minutes),
            before=spell_minutes(patterns.the_4_before_minutes),
        ),
        say(
            language,
            "habits_active",
            active=patterns.active_days_of_30,
            consistency=say(language, f"consistency_{patterns.consistency}"),
        ),
        say(
            language,
            "habits_days",
            best=say_weekday(language, best),
            minutes=spell_minutes(minutes[best]),
            worst=say_weekday(language, worst),
        ),
        gaps,
    ]


def _level_lines(language: str, journey: SkillJourney) -> list[str]:
    total = journey.skill.total_minutes
    level, following = say_level(language, level_of(total)), next_level(total)
    if following is None:
        first = say(language, "stats_level_top", level=level)
    else:
        left = spell_minutes(following.from_minutes - total)
        first = say(language, "stats_level", level=level, left=left, next=say_level(language, following))
    return [first, _goal_line(language, journey.goal, journey.skill.percent_of_goal)]


def _goal_line(language: str, goal: GoalReport, percent: float) -> str:
    spelled = spell_minutes(goal.goal_minutes)
    if not goal.minutes_left:
        return say(language, "stats_goal_done", goal=spelled)
    if goal.weeks is None:
        return say(language, "stats_goal_paused", percent=_percent(language, percent), goal=spelled)
    key = "stats_goal_far" if goal.date is None else "stats_goal"
    pace = spell_minutes(goal.pace_minutes_a_week)
    return say(language, key, percent=_percent(language, percent), goal=spelled, pace=pace, date=goal.date)


def _skill_title(language: str, skill: SkillReport, marks: str) -> str:
    title = say(language, "stats_title_skill", emoji=skill.emoji, skill=escape(skill.name))
    return f"{marks} {title.lstrip('# ')}"


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _percent(language: str, percent: float) -> str:
    written = f"{percent:g} %"
    return written.replace(".", ",") if language == "es" else written
