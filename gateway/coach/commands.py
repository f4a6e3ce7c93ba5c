"""The coach's commands: answered at once, without a model. What they change and read is the principal's own."""

from functools import partial

from agent.calendar import today_of
from agent.coach.changes import LogPractice, UndoLastLog
from agent.coach.journey import journey_report
from agent.coach.log_line import LogLineError, parse_log
from agent.coach.patterns import MAX_READ, of_skills, patterns_report
from agent.coach.practice import PracticeReader, Skill, name_key
from agent.coach.prose import skill_stats_text, skills_text, stats_text
from agent.coach.reports import skills_report
from agent.coach.texts import explain_log, say
from agent.coach.understanding.clocks import spell_range
from agent.language import escape, language_of
from agent.wellformed import clean
from channels.base import CommandOption
from gateway.coach.chart_commands import chart_commands
from gateway.coach.entry_commands import entry_commands
from gateway.coach.file_commands import file_commands
from gateway.coach.reminder_commands import reminder_commands
from gateway.coach.said_changes import change_words
from gateway.coach.skill_commands import skill_commands
from gateway.coach.timer_commands import timer_commands
from gateway.commands.base import Command, Invocation, Reply, Results

UNSAID_ZONE = "UTC"

PLAN = "plan"
"""The kind of turn that writes a weekly plan."""

MAX_WANTED_CHARS = 200
"""More than three times the longest name of a skill; the rest of what was written is not looked at."""


def coach_commands(reader: PracticeReader) -> tuple[Command, ...]:
    """The coach's commands over what `reader` knows."""
    practised = CommandOption("text", "menu.log.text", required=True)
    one_skill, planned_skill = CommandOption("skill", "menu.stats.skill"), CommandOption("skill", "menu.plan.skill")
    return (
        Command("log", "menu.log", partial(_log, reader), options=(practised,)),
        Command("stats", "menu.stats", partial(_stats, reader), options=(one_skill,)),
        Command("skills", "menu.skills", partial(_skills, reader)),
        Command("plan", "menu.plan", _plan, turn=PLAN, options=(planned_skill,)),
        *chart_commands(reader),
        *file_commands(reader),
        Command("undo", "menu.undo", _undo),
        *entry_commands(reader),
        *skill_commands(reader),
        *reminder_commands(reader),
        *timer_commands(reader),
    )


async def _log(reader: PracticeReader, asked: Invocation) -> Reply:
    """Log what the line says, or say what it lacks."""
    principal, language = asked.principal, language_of(asked.principal.locale)
    skills = await reader.skills(principal)
    names = tuple(skill.name for skill in skills)
    try:
        line = parse_log(spell_range(asked.arguments), today_of(principal, asked.now), names)
    except LogLineError as error:
        return Reply(explain_log(language, error, names))
    words = partial(_first_words if not skills and principal.timezone == UNSAID_ZONE else change_words, asked)
    return Reply(words, changes=(LogPractice(line.skill, line.minutes, line.day, line.notes),))


def _first_words(asked: Invocation, results: Results) -> str:
    """Of the very first entry: the zone is asked for once where nobody has said it, for days are counted in it."""
    return f"{change_words(asked, results)}\n\n{say(language_of(asked.principal.locale), 'zone.ask')}"


async def _undo(asked: Invocation) -> Reply:
    return Reply(partial(change_words, asked), changes=(UndoLastLog(),))


async def _stats(reader: PracticeReader, asked: Invocation) -> Reply:
    principal, language = asked.principal, language_of(asked.principal.locale)
    today = today_of(principal, asked.now)
    wanted = asked.arguments.strip()
    skills = await reader.skills(principal, include_archived=bool(wanted))
    totals = await reader.days(principal)
    if not wanted:
        goal = await reader.weekly_goal(principal)
        journey = journey_report(skills, totals, today, principal.week_start, weekly_goal=goal)
        sessions = of_skills(await reader.sessions(principal, limit=MAX_READ), skills)
        return Reply(stats_text(language, journey, patterns_report(sessions, today)))
    skill = _find(skills, wanted)
    if skill is None:
        return Reply(say(language, "problem.unknown_skill", detail=_as_written(wanted)))
    journey = journey_report((skill,), totals, today, principal.week_start)
    sessions = await reader.sessions(principal, skill_id=skill.id, limit=MAX_READ)
    return Reply(skill_stats_text(language, journey.skills[0], today, patterns_report(sessions, today, skill.id)))


async def _skills(reader: PracticeReader, asked: Invocation) -> Reply:
    skills = await reader.skills(asked.principal)
    return Reply(skills_text(language_of(asked.principal.locale), skills_report(skills)))


async def _plan(_: Invocation) -> Reply:
    """Never called: the router starts a turn of the kind `plan`."""
    return Reply("")


def _find(skills: tuple[Skill, ...], wanted: str) -> Skill | None:
    """The skill of this name, else the only one whose name begins so."""
    key = name_key(wanted[:MAX_WANTED_CHARS])
    exact = next((skill for skill in skills if name_key(skill.name) == key), None)
    begun = [skill for skill in skills if name_key(skill.name).startswith(key)]
    return exact or (begun[0] if len(begun) == 1 else None)


def _as_written(text: str) -> str:
    """A person's words in a sentence of ours: literal, and not too many."""
    return escape(clean(text[:MAX_WANTED_CHARS])[:64])
