"""Findings read from the numbers by rules, so that they hold without a model. Pure."""

from agent.coach.durations import spell_minutes
from agent.coach.language import say, say_days, say_level, say_weekday
from agent.coach.mastery import level_of, next_level
from agent.coach.patterns import Trend
from agent.coach.practice import Insight, InsightType
from agent.coach.reports import JourneyReport, PatternsReport, SkillJourney

MAX_INSIGHTS = 6
STREAK_DAYS = 3
NEAR_LEVEL = 0.9
"""A level is near when nine tenths of the way from the last one are done."""


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
            say(language, "insight_streak", days=spelled),
            say(language, "insight_streak_more", days=spelled, longest=longest),
        )
    ]


def _trend(language: str, patterns: PatternsReport) -> list[Insight]:
    recent, before = patterns.last_4_weeks_minutes, patterns.the_4_before_minutes
    if not recent and not before:
        return []
    kind, key = {
        Trend.IMPROVING: (InsightType.PROGRESS, "insight_progress"),
        Trend.STABLE: (InsightType.PLATEAU, "insight_even"),
        Trend.DECLINING: (InsightType.PLATEAU, "insight_plateau"),
    }[patterns.trend]
    more = "insight_progress_more" if kind is InsightType.PROGRESS else "insight_plateau_more"
    described = say(language, more, recent=spell_minutes(recent), before=spell_minutes(before))
    return [Insight(kind, say(language, key), described, patterns.skill_id)]


def _milestone(language: str, journey: SkillJourney) -> list[Insight]:
    """A level reached in the last two weeks of practice, or one that is near."""
    skill, total = journey.skill, journey.skill.total_minutes
    level, following = level_of(total), next_level(total)
    lately = journey.numbers.this_week_minutes + journey.numbers.last_week_minutes
    if level.from_minutes and level_of(total - lately) != level:
        spelled = say_level(language, level)
        title = say(language, "insight_milestone", level=spelled, skill=skill.name)
        described = say(language, "insight_reached_more", skill=skill.name, level=spelled, total=skill.total)
        return [Insight(InsightType.MILESTONE, title, described, skill.id)]
    if following is None:
        return []
    if total - level.from_minutes < NEAR_LEVEL * (following.from_minutes - level.from_minutes):
        return []
    spelled = say_level(language, following)
    title = say(language, "insight_milestone", level=spelled, skill=skill.name)
    left = spell_minutes(following.from_minutes - total)
    described = say(language, "insight_milestone_more", left=left, level=spelled)
    return [Insight(InsightType.MILESTONE, title, described, skill.id)]


def _suggestions(language: str, patterns: PatternsReport) -> list[Insight]:
    found = []
    if patterns.gaps_over_3_days:
        longest = say_days(language, patterns.longest_gap_days)
        described = say(language, "insight_gaps_more", over=patterns.gaps_over_3_days, longest=longest)
        found.append(Insight(InsightType.SUGGESTION, say(language, "insight_gaps"), described))
    if patterns.sessions_analysed >= 7:
        weakest = min(range(7), key=lambda weekday: (patterns.minutes_by_weekday[weekday], weekday))
        day = say_weekday(language, weakest)
        minutes = spell_minutes(patterns.minutes_by_weekday[weakest])
        described = say(language, "insight_weekday_more", weekday=day, minutes=minutes)
        found.append(Insight(InsightType.SUGGESTION, say(language, "insight_weekday", weekday=day), described))
    return found
