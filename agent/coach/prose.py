"""Reports as Markdown a person reads: what /stats, /skills and the offline coach say. Pure; words come from texts.

A tool's result is put into the same words, for turns whose model cannot say it any more.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta

from pydantic import BaseModel, ValidationError

from agent.catalogue import escape, language_of
from agent.coach.changes import change_text, read_change
from agent.coach.durations import spell_minutes
from agent.coach.entry_arguments import DayRange, month_of, year_of
from agent.coach.practice import level_of, next_level, say_level
from agent.coach.reports import (
    Consistency,
    EntriesReport,
    GoalReport,
    JourneyNumbers,
    JourneyReport,
    PatternsReport,
    PlanReport,
    SessionsReport,
    SkillJourney,
    SkillsReport,
    Trend,
)
from agent.coach.saved_plan import saved_plan_text
from agent.coach.texts import COACH_TEXTS, say, say_date, say_days, say_on


def stats_text(language: str, journey: JourneyReport, patterns: PatternsReport | None = None) -> str:
    """Return the journey overall, each skill with its next level, and its habits; the first day reads like a
    beginning.
    """
    numbers = journey.overall
    if not numbers.total_minutes:
        return say(language, "stats.nothing_yet")
    lines = _number_lines(language, numbers, journey.today)
    if journey.weekly_goal_minutes:
        goal = spell_minutes(journey.weekly_goal_minutes)
        lines.insert(1, say(language, "stats.week_goal", this=spell_minutes(numbers.this_week_minutes), goal=goal))
    blocks = [say(language, "stats.title"), _bullets(lines)]
    skills = [skill for skill in journey.skills if skill.numbers.total_minutes]
    blocks.append(_bullets([_skill_line(language, skill) for skill in skills]))
    habits = [] if patterns is None else _habit_lines(language, patterns)
    if habits:
        blocks += [say(language, "habits.title"), _bullets(habits)]
    return "\n\n".join(blocks)


def skill_stats_text(language: str, journey: SkillJourney, today: date, patterns: PatternsReport | None = None) -> str:
    """Return the journey of one skill, the next level in front."""
    skill = journey.skill
    if not journey.numbers.total_minutes:
        return say(language, "stats.nothing_of_skill", skill=escape(skill.name))
    numbers, goal = _number_lines(language, journey.numbers, today), _goal_line(language, journey.goal, journey)
    lines = [level_line(language, skill.total_minutes), *numbers, goal]
    if skill.weekly_minutes:
        values = {"this": spell_minutes(journey.numbers.this_week_minutes), "goal": spell_minutes(skill.weekly_minutes)}
        lines.insert(1, say(language, "stats.week_goal", **values))
    blocks = [f"## {skill.emoji} {escape(skill.name)}", _bullets(lines)]
    habits = [] if patterns is None else _habit_lines(language, patterns)
    if habits:
        blocks += [say(language, "habits.title"), _bullets(habits)]
    return "\n\n".join(blocks)


def skills_text(language: str, report: SkillsReport) -> str:
    """All skills, a line each."""
    if not report.skills:
        return say(language, "stats.nothing_yet")
    rows = []
    for skill in report.skills:
        level = level_line(language, skill.total_minutes)
        row = say(language, "skill_list.row", emoji=skill.emoji, skill=escape(skill.name), level=level)
        rows.append(row + (say(language, "skill_list.archived") if skill.archived else ""))
    return f"{say(language, 'skill_list.title')}\n\n{_bullets(rows)}"


HISTORY_ROWS = 20


def history_text(language: str, reports: Sequence[SessionsReport], today: date) -> str:
    """Return the newest entries of all skills; a long list is cut, and says where the rest is."""
    if not reports:
        return say(language, "stats.nothing_yet")
    rows = [(row, report) for report in reports for row in report.sessions]
    newest = sorted(rows, key=lambda pair: pair[0].date, reverse=True)
    if not newest:
        return say(language, "history.none")
    lines = [
        entry_line(language, row.date, row.minutes, f"{report.emoji} {escape(report.skill)}", row.notes, today)
        for row, report in newest[:HISTORY_ROWS]
    ]
    blocks = [say(language, "history.title"), _bullets(lines)]
    if len(newest) > HISTORY_ROWS:
        blocks.append(COACH_TEXTS.plural(language, "history.more", len(newest) - HISTORY_ROWS))
    return "\n\n".join(blocks)


def entries_text(language: str, report: EntriesReport, today: date, *, numbered: bool = False) -> str:
    """Return the total of these days and their entries, only the newest if there are many."""
    title = _entries_title(language, report, today)
    if not report.found:
        return say(language, "entries.none", title=title)
    total, days = spell_minutes(report.total_minutes), say_days(language, report.days)
    of_a_day = report.since is not None and report.since == report.until  # then the title has said which
    key = "entries.title_day" if of_a_day else "entries.title"
    head = COACH_TEXTS.plural(language, key, report.found, title=title, total=total, days=days)
    if not report.entries:
        return _totals_text(language, head, report)
    lines = []
    for number, row in enumerate(report.entries[:HISTORY_ROWS], start=1):
        day, skill = None if of_a_day else row.date, f"{row.emoji} {escape(row.skill)}"
        line = entry_line(language, day, row.minutes, skill, row.notes, today)
        lines.append(f"- {f'#{number} ' if numbered else ''}{line}")
    blocks = [head, "\n".join(lines)]
    if report.found > HISTORY_ROWS:
        blocks.append(COACH_TEXTS.plural(language, "history.more", report.found - HISTORY_ROWS))
    return "\n\n".join(blocks)


def _totals_text(language: str, head: str, report: EntriesReport) -> str:
    """Return the total of some days, the average of a day with practice, and the skills if there are several."""
    lines = [f"{head}."]
    if report.days > 1:
        average = spell_minutes(round(report.total_minutes / report.days))
        lines.append(say(language, "stats.day_average", average=average))
    if len(report.minutes_by_skill) > 1:
        rows = [f"- {escape(name)}: {spell_minutes(minutes)}" for name, minutes in report.minutes_by_skill.items()]
        return f"{' '.join(lines)}\n\n" + "\n".join(rows)
    return " ".join(lines)


def _entries_title(language: str, report: EntriesReport, today: date) -> str:
    """Return the days, "Monday" or "1 March to 31 March", with the skill and the words that were searched."""
    if report.since is None:
        parts = [say(language, "entries.all")]
    elif report.since == report.until:
        parts = [say_date(language, report.since, today)]
    else:
        parts = [_span(language, report.since, min(report.until or today, today), today)]
    if report.weekday is not None:
        weekday = say(language, "entries.weekday", weekday=say(language, f"weekday.{report.weekday}"))
        parts = [weekday] if report.since is None else [*parts, weekday]
    parts += [escape(report.skill)] if report.skill else []
    parts += [say(language, "entries.words", text=escape(report.text))] if report.text else []
    title = ", ".join(parts)
    return f"{title[:1].upper()}{title[1:]}"


def _span(language: str, since: date, until: date, today: date) -> str:
    if until == today and since == today.replace(day=1):
        return say(language, "entries.this_month")
    span = DayRange(since, until)
    if span == month_of(since):
        month = say(language, f"month.{since.month}")
        return month if since.year == today.year else say(language, "entries.month", month=month, year=since.year)
    if span == year_of(since.year):
        return str(since.year)
    if since <= today - timedelta(days=7) and until < today - timedelta(days=1):  # both by their dates, no weekday
        today = max(today, until + timedelta(days=7))
    first, last = say_on(language, since, today), say_on(language, until, today)
    return say(language, "entries.span", first=first, last=last)


def entry_line(language: str, day: date | None, minutes: int, skill: str, notes: str, today: date) -> str:
    """One entry: "Monday: 45 min 🎸 guitar (scales)"; without a day, where that stands above."""
    said = "" if day is None else f"{say_date(language, day, today)}: "
    noted = f" ({escape(notes)})" if notes else ""
    return f"{said[:1].upper()}{said[1:]}{spell_minutes(minutes)} {skill}{noted}"


def level_line(language: str, total_minutes: int) -> str:
    """Return the progress to the next level: "🌱 Seed, 45 min of 100 h to 📘 Apprentice"."""
    level, following = say_level(language, level_of(total_minutes)), next_level(total_minutes)
    total = spell_minutes(total_minutes)
    if following is None:
        return say(language, "stats.level_top", level=level, total=total)
    bound, name = spell_minutes(following.from_minutes), say_level(language, following)
    return say(language, "stats.level", level=level, total=total, bound=bound, next=name)


def _skill_line(language: str, journey: SkillJourney) -> str:
    skill = journey.skill
    level = level_line(language, skill.total_minutes)
    return say(language, "skill_list.row", emoji=skill.emoji, skill=escape(skill.name), level=level)


def _number_lines(language: str, numbers: JourneyNumbers, today: date) -> list[str]:
    """Return the figures that already mean something: no average of one week, no best of one day."""
    total, first = spell_minutes(numbers.total_minutes), numbers.first_day or today
    if numbers.practice_days == 1 and first == today:
        return [say(language, "stats.first_day", total=total)]
    days = say_days(language, numbers.practice_days)
    lines = [say(language, "stats.total", total=total, days=days, first=say_on(language, first, today))]
    this_week, last_week = spell_minutes(numbers.this_week_minutes), spell_minutes(numbers.last_week_minutes)
    if today - first >= timedelta(days=14):
        average = spell_minutes(numbers.weekly_average_minutes)
        lines.append(say(language, "stats.weeks", this=this_week, last=last_week, average=average))
    elif numbers.last_week_minutes:
        lines.append(say(language, "stats.two_weeks", this=this_week, last=last_week))
    else:
        lines.append(say(language, "stats.this_week", this=this_week))
    return [*lines, *_streak_lines(language, numbers), *_best_lines(language, numbers, today)]


def _streak_lines(language: str, numbers: JourneyNumbers) -> list[str]:
    current = say_days(language, numbers.current_streak_days)
    longest = say_days(language, numbers.longest_streak_days)
    if not numbers.current_streak_days:
        ended = numbers.longest_streak_days > 1
        return [say(language, "stats.streak_ended", longest=longest) if ended else say(language, "stats.streak_none")]
    record = numbers.current_streak_days >= numbers.longest_streak_days
    if numbers.current_streak_days == 1 and record:
        lines = []
    elif record:
        lines = [say(language, "stats.streak_best", current=current)]
    else:
        lines = [say(language, "stats.streak", current=current, longest=longest)]
    return [*lines, *([] if numbers.practised_today else [say(language, "stats.streak_open")])]


def _best_lines(language: str, numbers: JourneyNumbers, today: date) -> list[str]:
    lines = []
    best_day, best_week = numbers.best_day, numbers.best_week
    if best_day is not None and numbers.practice_days > 1:
        day = say_on(language, best_day.date, today)
        lines.append(say(language, "stats.best_day", day=day, minutes=spell_minutes(best_day.minutes)))
    if best_week is not None and best_week.minutes < numbers.total_minutes:
        minutes = spell_minutes(best_week.minutes)
        if today - best_week.date < timedelta(days=7):
            lines.append(say(language, "stats.best_week_now", minutes=minutes))
        else:
            day = say_date(language, best_week.date, today)
            lines.append(say(language, "stats.best_week", day=day, minutes=minutes))
    return lines


def _habit_lines(language: str, patterns: PatternsReport) -> list[str]:
    """Return the lines about habits; none if there are too few days."""
    if patterns.trend is Trend.TOO_EARLY and sum(map(bool, patterns.sessions_by_weekday)) < 3:
        return []
    minutes = patterns.minutes_by_weekday
    best = max(range(7), key=lambda weekday: (minutes[weekday], -weekday))
    lines = []
    if patterns.trend is not Trend.TOO_EARLY:
        spans = {
            "recent": spell_minutes(patterns.last_4_weeks_minutes),
            "before": spell_minutes(patterns.the_4_before_minutes),
        }
        lines.append(say(language, "habits.trend", trend=say(language, f"trend.{patterns.trend}"), **spans))
        lines.append(_active_line(language, patterns))
    if patterns.sessions_by_weekday[best] > 1:  # once is no habit
        weekday = say(language, f"weekday.{best}")
        lines.append(say(language, "habits.days", best=weekday, minutes=spell_minutes(minutes[best])))
    if patterns.gaps_over_3_days and patterns.trend is not Trend.TOO_EARLY:
        longest = say_days(language, patterns.longest_gap_days)
        lines.append(COACH_TEXTS.plural(language, "habits.gaps", patterns.gaps_over_3_days, longest=longest))
    return lines


def _active_line(language: str, patterns: PatternsReport) -> str:
    """Return the number of active days, with praise if it is high."""
    if patterns.consistency is Consistency.LOW:
        return say(language, "habits.active_days", active=patterns.active_days_of_30)
    word = say(language, f"consistency.{patterns.consistency}")
    return say(language, "habits.active", active=patterns.active_days_of_30, consistency=word)


def _goal_line(language: str, goal: GoalReport, journey: SkillJourney) -> str:
    """Return the progress to the goal, with a date if the pace gives one within fifty years."""
    spelled, total = spell_minutes(goal.goal_minutes), spell_minutes(journey.skill.total_minutes)
    if not goal.minutes_left:
        return say(language, "stats.goal_done", goal=spelled)
    percent = _percent(language, journey.skill.percent_of_goal)
    if goal.weeks is None:
        return say(language, "stats.goal_paused", total=total, goal=spelled)
    if goal.date is None or journey.numbers.practice_days < PACE_FROM_DAYS:
        return say(language, "stats.goal_far", total=total, goal=spelled)
    pace, month = spell_minutes(goal.pace_minutes_a_week), say(language, f"month.{goal.date.month}")
    return say(language, "stats.goal", percent=percent, goal=spelled, pace=pace, month=month, year=goal.date.year)


PACE_FROM_DAYS = 10
"""Practice days after which there is a pace to reckon with."""


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _percent(language: str, percent: float) -> str:
    return f"{percent:g} %".replace(".", say(language, "units.decimal_mark"))


_REPORTS: dict[str, tuple[type[BaseModel], Callable[..., str]]] = {
    "get_user_skills": (SkillsReport, lambda language, report, _today: skills_text(language, report)),
    "get_journey_stats": (JourneyReport, lambda language, report, _today: stats_text(language, report)),
    "get_practice_sessions": (SessionsReport, lambda language, report, today: history_text(language, [report], today)),
    "get_entries": (EntriesReport, entries_text),
    "show_plan": (PlanReport, lambda language, report, _today: saved_plan_text(language, report)),
}


def tell_result(tool: str, data: object, locale: str | None, today: date) -> str | None:
    """Return a tool's result as a sentence for the person; None if the rules have no words for it."""
    if not isinstance(data, Mapping):
        return None
    language = language_of(locale)
    if tool in _REPORTS:
        report, words = _REPORTS[tool]
        try:
            return words(language, report.model_validate(data), today)
        except ValidationError:  # a shortened result
            return None
    change = read_change(data)
    if change is None:
        return None
    return str(change["content"]) if change["change"] == "plan_saved" else change_text(language, change, today)
