"""What the numbers say of a week, by rules: the offline coach's plan, and the findings kept with any plan. Pure."""

from collections.abc import Sequence
from datetime import date

from agent.coach.durations import spell_minutes
from agent.coach.mastery import level_of, next_level
from agent.coach.practice import Insight, InsightType
from agent.coach.reports import JourneyReport, PatternsReport, SkillJourney, Trend
from agent.coach.texts import COACH_TEXTS, say, say_days, say_level
from agent.language import escape

GROWTH = 1.1
"""A tenth more than the average of the last four weeks: a week that can be done."""

LEAST_MINUTES = 60
MAX_DAYS = 6  # one day is for rest
MAX_SKILLS = 3
STEP_MINUTES = 5
MAX_INSIGHTS = 6
STREAK_DAYS = 3
NEAR_LEVEL = 0.9
"""A level is near when nine tenths of the way from the last one are done."""

WHAT = ("plan.what_hard", "plan.what_review", "plan.what_play")


def plan_text(language: str, journey: JourneyReport, patterns: PatternsReport) -> str:
    """Four sections: summary, plan, focus, goal, for the seven days from today on."""
    skills = _planned_skills(journey)
    if not skills:
        return say(language, "plan.empty")
    days = practice_days(patterns)
    minutes = _round_minutes(weekly_minutes(patterns) / len(days))
    return "\n\n".join(
        (
            say(language, "plan.summary"),
            _summary(language, journey, patterns),
            say(language, "plan.plan"),
            _days(language, skills, days, minutes, journey.today),
            say(language, "plan.focus"),
            _focus(language, patterns),
            say(language, "plan.goal"),
            _goal(language, skills[0], minutes * len(days), len(days)),
        )
    )


def weekly_minutes(patterns: PatternsReport) -> int:
    """What to aim at in the week: a tenth more than in the last four, or the weeks there were; an hour at least."""
    return max(round(patterns.last_4_weeks_minutes / patterns.weeks_of_those_4 * GROWTH), LEAST_MINUTES)


def practice_days(patterns: PatternsReport) -> tuple[int, ...]:
    """On which weekdays, one more than lately: three at least, one left free; the strongest days first chosen."""
    lately = round(patterns.active_days_of_30 * 7 / 30)
    count = min(max(lately + 1, 3), MAX_DAYS)
    strongest = sorted(range(7), key=lambda weekday: (-patterns.minutes_by_weekday[weekday], weekday))
    return tuple(sorted(strongest[:count]))


def _planned_skills(journey: JourneyReport) -> list[SkillJourney]:
    """The skills with practice in the last two weeks, else those with any, the most recent use first."""
    used = [skill for skill in journey.skills if skill.numbers.total_minutes]

    def lately(skill: SkillJourney) -> int:
        return skill.numbers.this_week_minutes + skill.numbers.last_week_minutes

    alive = [skill for skill in used if lately(skill)] or used
    return sorted(alive, key=lambda skill: (-lately(skill), -skill.numbers.total_minutes))[:MAX_SKILLS]


def _summary(language: str, journey: JourneyReport, patterns: PatternsReport) -> str:
    return say(
        language,
        "plan.numbers",
        recent=spell_minutes(patterns.last_4_weeks_minutes),
        before=spell_minutes(patterns.the_4_before_minutes),
        trend=say(language, f"trend.{patterns.trend}"),
        active=patterns.active_days_of_30,
        streak=say_days(language, journey.overall.current_streak_days),
    )


def _days(language: str, skills: Sequence[SkillJourney], days: Sequence[int], minutes: int, today: date) -> str:
    lines, session = [], 0
    for weekday in ((today.weekday() + offset) % 7 for offset in range(7)):
        named = say(language, f"weekday.{weekday}")
        if weekday not in days:
            lines.append(say(language, "plan.rest", weekday=named))
            continue
        skill = skills[session % len(skills)].skill
        lines.append(
            say(
                language,
                "plan.day",
                weekday=named,
                minutes=spell_minutes(minutes),
                emoji=skill.emoji,
                skill=escape(skill.name),
                what=say(language, WHAT[session % len(WHAT)]),
            )
        )
        session += 1
    return "\n".join(f"- {line}" for line in lines)


def _focus(language: str, patterns: PatternsReport) -> str:
    if patterns.gaps_over_3_days:
        return say(language, "plan.focus_gap", longest=say_days(language, patterns.longest_gap_days))
    return say(language, "plan.focus_anchor" if patterns.active_days_of_30 < 18 else "plan.focus_steady")


def _goal(language: str, skill: SkillJourney, minutes: int, sessions: int) -> str:
    goal = say(language, "plan.goal_week", minutes=spell_minutes(minutes), sessions=sessions)
    following = next_level(skill.skill.total_minutes)
    if following is None:
        return goal
    left, level = spell_minutes(following.from_minutes - skill.skill.total_minutes), say_level(language, following)
    return f"{goal} {say(language, 'plan.level_line', left=left, level=level, skill=escape(skill.skill.name))}"


def _round_minutes(minutes: float) -> int:
    return max(round(minutes / STEP_MINUTES) * STEP_MINUTES, STEP_MINUTES)


# ---------------------------------------------------------------- findings


def insights_of(language: str, journey: JourneyReport, patterns: PatternsReport) -> tuple[Insight, ...]:
    """At most six findings, the most telling first; none where nothing is logged."""
    if not journey.overall.total_minutes:
        return ()
    found = [
        *_streak(language, journey),
        *_trend(language, patterns),
        *(insight for skill in journey.skills for insight in _milestone(language, skill)),
        *_suggestions(language, patterns),
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
    if not recent and not before:
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
    """A level reached in the last two weeks of practice, or one that is near."""
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


def _suggestions(language: str, patterns: PatternsReport) -> list[Insight]:
    found = []
    if patterns.gaps_over_3_days:
        longest = say_days(language, patterns.longest_gap_days)
        described = COACH_TEXTS.plural(language, "insight.gaps_more", patterns.gaps_over_3_days, longest=longest)
        found.append(Insight(InsightType.SUGGESTION, say(language, "insight.gaps"), described))
    if patterns.sessions_analysed >= 7:
        weakest = min(range(7), key=lambda weekday: (patterns.minutes_by_weekday[weekday], weekday))
        day = say(language, f"weekday.{weakest}")
        minutes = spell_minutes(patterns.minutes_by_weekday[weakest])
        described = say(language, "insight.weekday_more", weekday=day, minutes=minutes)
        found.append(Insight(InsightType.SUGGESTION, say(language, "insight.weekday", weekday=day), described))
    return found
