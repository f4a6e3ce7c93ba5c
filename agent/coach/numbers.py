"""One question, one number: what somebody asked for by name, in one sentence. Pure; which was asked others read."""

from enum import StrEnum

from agent.coach.durations import spell_minutes
from agent.coach.prose import level_line
from agent.coach.reports import JourneyNumbers, JourneyReport, SkillJourney
from agent.coach.texts import say, say_days, say_on
from agent.language import escape


class Number(StrEnum):
    """What can be asked for."""

    TODAY = "today"
    THIS_WEEK = "this_week"
    LAST_WEEK = "last_week"
    TOTAL = "total"
    AVERAGE = "average"  # a week
    STREAK = "streak"
    LONGEST_STREAK = "longest_streak"
    BEST_DAY = "best_day"
    DAYS = "days"  # with practice
    LEVEL = "level"  # of one skill


def one_number_text(language: str, journey: JourneyReport, number: Number, skill: str | None = None) -> str:
    """The one sentence that answers; about one skill where one is named, in the spelling of the report."""
    about = next((each for each in journey.skills if each.skill.name == skill), None)
    numbers = journey.overall if about is None else about.numbers
    if not numbers.total_minutes:
        return say(language, "stats.nothing_yet") if about is None else _nothing_of(language, about)
    if number is Number.LEVEL:
        chosen = [about] if about is not None else [each for each in journey.skills if each.numbers.total_minutes]
        return "\n".join(_level(language, each) for each in chosen)
    name = "" if about is None else f"{about.skill.emoji} {escape(about.skill.name)}: "
    return name + say(language, _key_of(number, numbers), **_values(language, journey, numbers))


def _key_of(number: Number, numbers: JourneyNumbers) -> str:
    """A streak of one day is a beginning, one of none no number."""
    if number is Number.STREAK and numbers.current_streak_days < 2:
        return "number.streak_one" if numbers.current_streak_days else "number.streak_none"
    if number is Number.LONGEST_STREAK and numbers.longest_streak_days < 2:
        return "number.longest_streak_one"
    return f"number.{number.value}"


def _nothing_of(language: str, about: SkillJourney) -> str:
    return say(language, "stats.nothing_of_skill", skill=escape(about.skill.name))


def _level(language: str, about: SkillJourney) -> str:
    return f"{about.skill.emoji} {escape(about.skill.name)}: {level_line(language, about.skill.total_minutes)}."


def _values(language: str, journey: JourneyReport, numbers: JourneyNumbers) -> dict[str, str]:
    """What the sentences may need."""
    best = numbers.best_day
    return {
        "today": spell_minutes(numbers.today_minutes),
        "this_week": spell_minutes(numbers.this_week_minutes),
        "last_week": spell_minutes(numbers.last_week_minutes),
        "total": spell_minutes(numbers.total_minutes),
        "average": spell_minutes(numbers.weekly_average_minutes),
        "streak": say_days(language, numbers.current_streak_days),
        "longest": say_days(language, numbers.longest_streak_days),
        "days": say_days(language, numbers.practice_days),
        "first": say_on(language, numbers.first_day or journey.today, journey.today),
        "best": spell_minutes(best.minutes if best else 0),
        "best_on": say_on(language, best.date if best else journey.today, journey.today),
    }
