"""Plans a week by rules from the numbers: the offline coach's plan, and the findings saved with any plan. Pure."""

from collections.abc import Sequence

from agent.catalogue import escape
from agent.coach.durations import spell_minutes
from agent.coach.plan_conditions import NO_CONDITIONS
from agent.coach.plan_data import PlanFrame
from agent.coach.practice import Insight, InsightType, PlannedSession, kind_of_practice, level_of, next_level, say_level
from agent.coach.reports import JourneyReport, PatternsReport, SkillJourney, Trend
from agent.coach.texts import COACH_TEXTS, say, say_day, say_days

GROWTH = 1.1
"""A tenth more than the average of the last four weeks: a week that can be done."""

MOST_GROWTH = 1.2
"""No plan asks for more than a fifth over that average, however high the person's own goal is."""

LEAST_MINUTES = 60
MAX_DAYS = 6  # one day is for rest
MAX_SKILLS = 3
STEP_MINUTES = 5
MAX_INSIGHTS = 6
STREAK_DAYS = 3
NEAR_LEVEL = 0.9
"""A level is near when nine tenths of the way from the last one are done."""

FEW_GAPS = 2
"""One break is no pattern, and no finding."""

REGULAR_DAYS = 18
"""Active days of the last 30 from which a person practises regularly."""

EXERCISES = 3
"""So many exercises a kind of practice has; a skill's sessions take them in turn."""


def plan_text(
    language: str,
    journey: JourneyReport,
    patterns: PatternsReport,
    frame: PlanFrame,
    sessions: Sequence[PlannedSession],
) -> str:
    """Four sections: summary, plan, focus, goal, for what is left of the week or for the next one."""
    skills = _planned_skills(journey)
    if not sessions:
        return say(language, "plan.no_day" if frame.conditions.leaves_no_day else "plan.empty")
    return "\n\n".join(
        (
            say(language, "plan.summary"),
            _summary(language, journey, patterns),
            say(language, "plan.plan"),
            _days(language, journey, frame, sessions),
            say(language, "plan.focus"),
            _focus(language, patterns),
            say(language, "plan.goal"),
            _goal(language, skills[0], frame, sessions, journey.weekly_goal_minutes or 0, most_minutes(patterns)),
        )
    )


def plan_sessions(journey: JourneyReport, patterns: PatternsReport, frame: PlanFrame) -> tuple[PlannedSession, ...]:
    """Return a session on each practice day that is left: as long as fits the person, skills in the share they
    practise.
    """
    skills = _planned_skills(journey)
    if not skills or not frame.free_days:
        return ()
    weekdays = practice_days(patterns, frame.conditions.weekdays_off)
    most = most_minutes(patterns)
    wanted = min(journey.weekly_goal_minutes or weekly_minutes(patterns), most)
    most_each = max(int(most / len(weekdays)), STEP_MINUTES)
    open_days = frame.free_days
    free = [day for day in open_days if day != journey.today or not journey.overall.practised_today] or open_days[:1]
    days = [day for day in free if day.weekday() in weekdays] or free[:1]
    names = [each.skill.name for each in _in_turn(skills, len(days))]
    minutes = {name: _session_minutes(wanted / len(weekdays), min(most_each, frame.most_of(name))) for name in names}
    return tuple(PlannedSession(day, name, minutes[name]) for day, name in zip(days, names, strict=True))


def weekly_minutes(patterns: PatternsReport) -> int:
    """Return the week's aim in minutes: a tenth more than the average of the last four weeks, at least an hour."""
    return max(round(patterns.last_4_weeks_minutes / patterns.weeks_of_those_4 * GROWTH), LEAST_MINUTES)


def most_minutes(patterns: PatternsReport) -> float:
    """Return the most minutes a week that a plan may ask for: a fifth more than the average, at least an hour."""
    return max(patterns.last_4_weeks_minutes / patterns.weeks_of_those_4 * MOST_GROWTH, LEAST_MINUTES)


def practice_days(patterns: PatternsReport, off: Sequence[int] = ()) -> tuple[int, ...]:
    """On which weekdays, one more than lately: three at least, one left free; the strongest first, equal ones apart.

    Those `off` are ruled out.
    """
    lately = round(patterns.active_days_of_30 * 7 / 30)
    allowed = [weekday for weekday in range(7) if weekday not in off]
    count = min(max(lately + 1, 3), MAX_DAYS, len(allowed))
    chosen: list[int] = []

    def worth(weekday: int) -> tuple[int, int, int]:
        apart = min((min((weekday - day) % 7, (day - weekday) % 7) for day in chosen), default=0)
        return patterns.minutes_by_weekday[weekday], apart, -weekday

    while len(chosen) < count:
        chosen.append(max((weekday for weekday in allowed if weekday not in chosen), key=worth))
    return tuple(sorted(chosen))


def _planned_skills(journey: JourneyReport) -> list[SkillJourney]:
    """Return the skills with practice in the last four weeks, else those with any, the most of it first."""
    used = [skill for skill in journey.skills if skill.numbers.total_minutes]
    alive = [skill for skill in used if skill.numbers.last_4_weeks_minutes] or used
    return sorted(alive, key=lambda skill: (-_weight(skill), -skill.numbers.total_minutes))[:MAX_SKILLS]


def _weight(skill: SkillJourney) -> int:
    return skill.numbers.last_4_weeks_minutes


def _in_turn(skills: Sequence[SkillJourney], count: int) -> list[SkillJourney]:
    """So many turns, each to the skill that is furthest behind its share of the practice."""
    weights = [_weight(skill) or 1 for skill in skills]
    given = [0] * len(skills)
    turns = []
    for turn in range(1, count + 1):
        behind = [weight * turn / sum(weights) - had for weight, had in zip(weights, given, strict=True)]
        chosen = behind.index(max(behind))
        given[chosen] += 1
        turns.append(skills[chosen])
    return turns


def _session_minutes(wanted: float, max_minutes: int) -> int:
    """Round to five minutes and cap at the longest session that suits the person."""
    rounded = max(round(wanted / STEP_MINUTES) * STEP_MINUTES, STEP_MINUTES)
    if rounded <= max_minutes:
        return rounded
    return max_minutes // STEP_MINUTES * STEP_MINUTES or max(max_minutes, 1)


def _summary(language: str, journey: JourneyReport, patterns: PatternsReport) -> str:
    days, active = journey.overall.current_streak_days, patterns.active_days_of_30
    streak = [say(language, "plan.streak", streak=say_days(language, days))] if days > 1 else []
    recent = spell_minutes(patterns.last_4_weeks_minutes)
    if patterns.trend is Trend.TOO_EARLY:
        said = say(language, "plan.numbers_early", recent=recent, active=say_days(language, active))
    else:
        before, trend = spell_minutes(patterns.the_4_before_minutes), say(language, f"trend.{patterns.trend}")
        said = say(language, "plan.numbers", recent=recent, before=before, trend=trend, active=active)
    return " ".join([said, *streak])


def _days(language: str, journey: JourneyReport, frame: PlanFrame, sessions: Sequence[PlannedSession]) -> str:
    by_day, today = {session.day: session for session in sessions}, journey.today
    emojis = {skill.skill.name: skill.skill.emoji for skill in journey.skills}
    done: dict[str, int] = {}
    lines = []
    for day in frame.days:
        named = say_day(language, day, today)
        session = by_day.get(day)
        if session is None:
            key = "plan.done_today" if day == today and journey.overall.practised_today else "plan.rest"
            lines.append(say(language, key, weekday=named))
            continue
        turn = done[session.skill] = done.get(session.skill, -1) + 1
        exercise = f"exercise.{kind_of_practice(session.skill)}_{turn % EXERCISES}"
        values = {"emoji": emojis.get(session.skill, ""), "skill": escape(session.skill)}
        minutes, what = spell_minutes(session.minutes), say(language, exercise)
        lines.append(say(language, "plan.day", weekday=named, minutes=minutes, what=what, **values))
    return "\n".join(f"- {line}" for line in lines)


def _focus(language: str, patterns: PatternsReport) -> str:
    if _is_regular(patterns):
        return say(language, "plan.focus_steady")
    if patterns.gaps_over_3_days:
        return say(language, "plan.focus_gap", longest=say_days(language, patterns.longest_gap_days))
    return say(language, "plan.focus_anchor")


def _is_regular(patterns: PatternsReport) -> bool:
    """Return True if the person practises so often that breaks of the past are no matter."""
    return patterns.active_days_of_30 >= REGULAR_DAYS


def _goal(
    language: str,
    skill: SkillJourney,
    frame: PlanFrame,
    sessions: Sequence[PlannedSession],
    own_goal_minutes: int,
    most: float,
) -> str:
    planned = sum(session.minutes for session in sessions)
    days = say_days(language, len({session.day for session in sessions}))
    goal = say(language, "plan.goal_week", minutes=spell_minutes(planned), days=days)
    if frame.minutes_done:
        goal = f"{goal} {say(language, 'plan.goal_total', total=spell_minutes(planned + frame.minutes_done))}"
    if planned + frame.minutes_done < own_goal_minutes:
        has_conditions = frame.conditions != NO_CONDITIONS
        key = "plan.goal_own" if most < own_goal_minutes else "plan.goal_own_days"
        key = "plan.goal_own_conditions" if most >= own_goal_minutes and has_conditions else key
        goal = f"{goal} {say(language, key, goal=spell_minutes(own_goal_minutes))}"
    following = next_level(skill.skill.total_minutes)
    if following is None:
        return goal
    left, level = spell_minutes(following.from_minutes - skill.skill.total_minutes), say_level(language, following)
    return f"{goal} {say(language, 'plan.level_line', left=left, level=level, skill=escape(skill.skill.name))}"


# ---------------------------------------------------------------- findings


def insights_of(
    language: str, journey: JourneyReport, patterns: PatternsReport, weekdays_off: Sequence[int] = ()
) -> tuple[Insight, ...]:
    """At most six findings, the most telling first; none where nothing is logged, or for days that are ruled out."""
    if not journey.overall.total_minutes:
        return ()
    found = [
        *_streak(language, journey),
        *_trend(language, patterns),
        *(insight for skill in journey.skills for insight in _milestone(language, skill)),
        *_suggestions(language, patterns, weekdays_off),
    ]
    return tuple(found[:MAX_INSIGHTS])


def _streak(language: str, journey: JourneyReport) -> list[Insight]:
    days = journey.overall.current_streak_days
    if days < STREAK_DAYS:
        return []
    spelled = say_days(language, days)
    longest = say_days(language, journey.overall.longest_streak_days)
    return [
        Insight(
            InsightType.STREAK,
            say(language, "insight.streak", days=spelled),
            say(language, "insight.streak_more", days=spelled, longest=longest),
        )
    ]


def _trend(language: str, patterns: PatternsReport) -> list[Insight]:
    recent, before = patterns.last_4_weeks_minutes, patterns.the_4_before_minutes
    if patterns.trend is Trend.TOO_EARLY or (not recent and not before):
        return []
    kind, key = {
        Trend.IMPROVING: (InsightType.PROGRESS, "insight.progress"),
        Trend.STABLE: (InsightType.PLATEAU, "insight.even"),
        Trend.DECLINING: (InsightType.PLATEAU, "insight.plateau"),
    }[patterns.trend]
    more = "insight.progress_more" if kind is InsightType.PROGRESS else "insight.plateau_more"
    described = say(language, more, recent=spell_minutes(recent), before=spell_minutes(before))
    return [Insight(kind, say(language, key), described, patterns.skill_id)]


def _milestone(language: str, journey: SkillJourney) -> list[Insight]:
    """Return a level reached in the last two weeks of practice, or one that is near."""
    skill, total = journey.skill, journey.skill.total_minutes
    level, following = level_of(total), next_level(total)
    lately = journey.numbers.this_week_minutes + journey.numbers.last_week_minutes
    if level.from_minutes and level_of(total - lately) != level:
        spelled = say_level(language, level)
        title = say(language, "insight.milestone", level=spelled, skill=skill.name)
        described = say(language, "insight.reached_more", skill=skill.name, level=spelled, total=skill.total)
        return [Insight(InsightType.MILESTONE, title, described, skill.id)]
    if following is None:
        return []
    if total - level.from_minutes < NEAR_LEVEL * (following.from_minutes - level.from_minutes):
        return []
    spelled = say_level(language, following)
    title = say(language, "insight.milestone", level=spelled, skill=skill.name)
    left = spell_minutes(following.from_minutes - total)
    described = say(language, "insight.milestone_more", left=left, level=spelled)
    return [Insight(InsightType.MILESTONE, title, described, skill.id)]


def _suggestions(language: str, patterns: PatternsReport, weekdays_off: Sequence[int]) -> list[Insight]:
    found = []
    if patterns.gaps_over_3_days >= FEW_GAPS and not _is_regular(patterns):
        longest = say_days(language, patterns.longest_gap_days)
        described = COACH_TEXTS.plural(language, "insight.gaps_more", patterns.gaps_over_3_days, longest=longest)
        found.append(Insight(InsightType.SUGGESTION, say(language, "insight.gaps"), described))
    if patterns.sessions_analysed >= 7 and (free := set(range(7)).difference(weekdays_off)):
        weakest = min(free, key=lambda weekday: (patterns.minutes_by_weekday[weekday], weekday))
        day = say(language, f"weekday.{weakest}")
        minutes = patterns.minutes_by_weekday[weakest]
        key = "insight.weekday_more" if minutes else "insight.weekday_none"
        described = say(language, key, weekday=day, minutes=spell_minutes(minutes))
        found.append(Insight(InsightType.SUGGESTION, say(language, "insight.weekday", weekday=day), described))
    return found
