"""One question, one number: what somebody asked for by name, in one sentence. Pure; which was asked others read."""

from datetime import timedelta

from agent.coach.durations import spell_minutes
from agent.coach.prose import level_line
from agent.coach.reports import JourneyNumbers, JourneyReport, PatternsReport, SkillJourney
from agent.coach.texts import say, say_day, say_days, say_on
from agent.coach.understanding.lookups import Number
from agent.language import escape

MASTERY_MINUTES = 600_000
SOON_WEEKS = 8
"""A date so near is said to the day."""

MOST_WEEKS = 2_600
"""Fifty years: what lies beyond gets no date."""


def longest_text(language: str, patterns: PatternsReport) -> str:
    """How long the longest session was."""
    if not patterns.longest_session_minutes:
        return say(language, "stats.nothing_yet")
    return say(language, "number.longest", longest=spell_minutes(patterns.longest_session_minutes))


def weekday_text(language: str, patterns: PatternsReport) -> str:
    """On which weekday most is practised, and on which least."""
    minutes = patterns.minutes_by_weekday
    if not any(minutes):
        return say(language, "stats.nothing_yet")
    most, least = minutes.index(max(minutes)), minutes.index(min(minutes))
    values = {
        "most": say(language, f"weekday.{most}"),
        "minutes": spell_minutes(minutes[most]),
        "least": say(language, f"weekday.{least}"),
        "fewest": spell_minutes(minutes[least]),
    }
    if not minutes[least]:
        return say(language, "number.weekday_most", most=values["most"], minutes=values["minutes"])
    return say(language, "number.weekday" if minutes[least] < minutes[most] else "number.weekday_even", **values)


def reach_text(
    language: str, journey: JourneyReport, skill: str | None, minutes: int | None, supposed: int | None = None
) -> str:
    """When so much will be reached: at the pace that is supposed, else at that of the last eight weeks."""
    about = [each for each in journey.skills if skill in (None, each.skill.name)]
    total = sum(each.numbers.total_minutes for each in about)
    pace = supposed or sum(each.goal.pace_minutes_a_week for each in about)
    wanted = minutes or (about[0].goal.goal_minutes if len(about) == 1 else MASTERY_MINUTES)
    values = {"target": spell_minutes(wanted), "total": spell_minutes(total), "pace": spell_minutes(pace)}
    name = f"{about[0].skill.emoji} {escape(about[0].skill.name)}: " if skill is not None and about else ""
    if total >= wanted:
        return name + say(language, "number.reached", **values)
    weeks = -(-(wanted - total) // pace) if pace else MOST_WEEKS + 1
    if weeks > MOST_WEEKS:
        return name + say(language, "number.reach_far" if pace else "number.reach_never", **values)
    day = journey.today + timedelta(weeks=weeks)
    month = say(language, "number.month", month=say(language, f"month.{day.month}"), year=day.year)
    when = say_day(language, day, journey.today) if weeks <= SOON_WEEKS else month
    return name + say(language, "number.reach_if" if supposed else "number.reach", when=when, **values)


def _goal(language: str, journey: JourneyReport, about: SkillJourney | None) -> str:
    """How much of the week's goal is done, and how much is left."""
    goal = journey.weekly_goal_minutes if about is None else about.skill.weekly_minutes
    if not goal:
        return say(language, "number.no_goal")
    done = (journey.overall if about is None else about.numbers).this_week_minutes
    values = {"goal": spell_minutes(goal), "done": spell_minutes(done), "left": spell_minutes(max(goal - done, 0))}
    return say(language, "number.goal" if done < goal else "number.goal_done", **values)


def one_number_text(language: str, journey: JourneyReport, number: Number, skill: str | None = None) -> str:
    """The one sentence that answers; about one skill where one is named, in the spelling of the report."""
    about = next((each for each in journey.skills if each.skill.name == skill), None)
    numbers = journey.overall if about is None else about.numbers
    if number is Number.GOAL:
        return ("" if about is None else f"{about.skill.emoji} {escape(about.skill.name)}: ") + _goal(
            language, journey, about
        )
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
