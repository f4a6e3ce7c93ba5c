"""`/skill` and `/goal`: a skill put away, renamed, merged, recoloured, and goals. See `agent.coach.skill_words`."""

from functools import partial

from agent.calendar import today_of
from agent.coach.changes import SetWeeklyGoal
from agent.coach.durations import spell_minutes
from agent.coach.entry_words import spelled_hours
from agent.coach.journey import journey_report
from agent.coach.patterns import MAX_READ, patterns_report
from agent.coach.practice import PracticeReader
from agent.coach.prose import skill_stats_text, skills_text
from agent.coach.reports import skills_report
from agent.coach.skill_words import MAX_CHARS, read_skill_wish
from agent.coach.texts import say
from agent.language import escape, language_of
from agent.wellformed import clean
from channels.base import CommandOption
from gateway.coach.said_changes import change_words
from gateway.commands.base import Command, Invocation, Reply

OFF = frozenset(["off", "none", "no", "0", "ninguna", "nada"])


def skill_commands(reader: PracticeReader) -> tuple[Command, ...]:
    """The commands over what `reader` knows."""
    what, goal = CommandOption("what", "menu.skill.what"), CommandOption("time", "menu.goal.time")
    return (
        Command("skill", "menu.skill", partial(_skill, reader), options=(what,)),
        Command("goal", "menu.goal", partial(_goal, reader), options=(goal,)),
    )


async def _skill(reader: PracticeReader, asked: Invocation) -> Reply:
    """Change a skill, or show it; without a name all of them, those put away included."""
    principal, language = asked.principal, language_of(asked.principal.locale)
    skills = await reader.skills(principal, include_archived=True)
    if not asked.arguments.strip():
        help_text = say(language, "skill.how")
        return Reply(f"{skills_text(language, skills_report(skills))}\n\n{help_text}")
    wish = read_skill_wish(asked.arguments, skills)
    if wish.skill is None:
        written = escape(clean(asked.arguments[:MAX_CHARS])[:64])
        return Reply(say(language, "problem.unknown_skill", detail=written))
    if wish.change is not None:
        return Reply(partial(change_words, asked), changes=(wish.change,))
    if not wish.is_read:
        return Reply(say(language, "skill.how"))
    today = today_of(principal, asked.now)
    journey = journey_report((wish.skill,), await reader.days(principal), today, principal.week_start)
    sessions = await reader.sessions(principal, skill_id=wish.skill.id, limit=MAX_READ)
    return Reply(skill_stats_text(language, journey.skills[0], today, patterns_report(sessions, today, wish.skill.id)))


async def _goal(reader: PracticeReader, asked: Invocation) -> Reply:
    """Show the goal for a week, or set it."""
    language, wanted = language_of(asked.principal.locale), asked.arguments.strip()
    if not wanted:
        goal = await reader.weekly_goal(asked.principal)
        key = "goal.none" if goal is None else "goal.now"
        return Reply(say(language, key, goal=spell_minutes(goal or 0)))
    minutes = 0 if wanted.casefold() in OFF else spelled_hours(wanted[:64])
    if minutes is None:
        return Reply(say(language, "goal.how"))
    return Reply(partial(change_words, asked), changes=(SetWeeklyGoal(minutes),))
