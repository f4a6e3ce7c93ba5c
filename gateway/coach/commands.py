"""The coach's commands, which answer at once and without a model, from the person's own data."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from agent.calendar import today_of
from agent.catalogue import escape, language_of
from agent.coach.chart import caption_text, chart_of, chart_text, read_chart_wish
from agent.coach.chart_picture import MIME, plot
from agent.coach.durations import spell_minutes
from agent.coach.entry_arguments import (
    NewValues,
    WantedEntries,
    WantedStats,
    read_stats,
    read_values,
    read_wanted,
    spelled_hours,
    take_skill,
)
from agent.coach.journey import journey_report
from agent.coach.log_line import LogLine, LogLineError, LogProblem, explain_log, near_line, parse_logs, with_units
from agent.coach.patterns import MAX_READ, of_skills, patterns_report
from agent.coach.practice import PracticeReader, Skill, name_key
from agent.coach.prose import entries_text, skill_stats_text, skills_text, stats_text
from agent.coach.reader.entries import OfferedEntry
from agent.coach.reader.requests import describe, entry_label, log_command
from agent.coach.reports import EntriesReport, EntryRow, entries_report, skills_report
from agent.coach.skill_arguments import read_skill_wish
from agent.coach.texts import say
from agent.coach.vocabulary.amounts import find_duration
from agent.ports import LocalEffect
from agent.transcript import SuggestedReply
from agent.wellformed import clean
from channels.base import CommandOption
from channels.messages import AttachmentKind, OutboundMedia
from gateway.coach import writer
from gateway.coach.changes import change_practice
from gateway.coach.check_in_commands import check_in_commands
from gateway.coach.check_ins import PLAN
from gateway.coach.file_commands import file_commands
from gateway.coach.near_skills import SHOWN_CHARS, ask_near
from gateway.coach.reminder_commands import reminder_commands, timer_commands
from gateway.commands.base import Command, Invocation, Reply, Write

UNSAID_ZONE = "UTC"

OTHER_NAMES = {
    "goal": ("goals", "meta", "metas"),
    "remind": ("reminders", "recordatorios"),
    "start": ("timer", "temporizador", "cronometro"),
}
"""Names that people try; they are in no menu."""

GOAL_OFF = frozenset(["off", "none", "no", "0", "ninguna", "nada"])

GOAL_WORDS = frozenset(["a", "an", "of", "the", "per", "each", "every", "week", "weekly", "and", "hour", "hours"]) | {
    "un", "una", "y", "de", "la", "por", "cada", "semana", "semanal",
}  # fmt: skip
_BETWEEN = re.compile(r"\s*(?:[,&+]|\b(?:and|y)\b)\s*")
_GOAL_TIME = re.compile(r"[\d.,:½]+ ?(?:[^\W\d]+\b)?")

MOST_BUTTONS = 5
"""Entries that have buttons; the others are named by their numbers."""

MAX_WANTED_CHARS = 200
"""Characters of an argument that are read: more than three times the longest name of a skill."""


def coach_commands(reader: PracticeReader) -> tuple[Command, ...]:
    """Return all commands of the coach."""
    practised, charted = CommandOption("text", "menu.log.text", required=True), CommandOption("what", "menu.chart.what")
    one_skill, planned_skill = CommandOption("skill", "menu.stats.skill"), CommandOption("skill", "menu.plan.skill")
    wished, goal = CommandOption("what", "menu.skill.what"), CommandOption("time", "menu.goal.time")
    commands = (
        Command("log", "menu.log", partial(_log, reader), options=(practised,)),
        Command("stats", "menu.stats", partial(_stats, reader), options=(one_skill,)),
        Command("skills", "menu.skills", partial(_skills, reader)),
        Command("plan", "menu.plan", _plan, turn=PLAN, options=(planned_skill,)),
        Command("chart", "menu.chart", partial(_chart, reader), options=(charted,)),
        *file_commands(reader),
        Command("undo", "menu.undo", _undo),
        *entry_commands(reader),
        Command("skill", "menu.skill", partial(_skill, reader), options=(wished,)),
        Command("goal", "menu.goal", partial(_goal, reader), options=(goal,)),
        *reminder_commands(reader),
        *timer_commands(reader),
        *check_in_commands(reader),
    )
    others = (replace(each, name=other, hidden=True) for each in commands for other in OTHER_NAMES.get(each.name, ()))
    return (*commands, *others)


async def _log(reader: PracticeReader, asked: Invocation) -> Reply | Write:
    """Log what the line says, or say what it lacks."""
    principal, language = asked.principal, language_of(asked.principal.locale)
    skills = await reader.skills(principal)
    names = tuple(skill.name for skill in skills)
    try:
        lines = parse_logs(asked.arguments, today_of(principal, asked.now), names)
    except LogLineError as error:
        return Reply(explain_log(language, error, names), offers=_in_units(asked, error, names))
    if (question := _ask_several(asked, lines, names) or _ask_near(asked, lines, names)) is not None:
        return question
    logs = [LocalEffect(writer.log, line.skill, line.minutes, line.day, line.notes) for line in lines]
    asks_zone = not skills and principal.timezone == UNSAID_ZONE  # with the very first entry: days are counted in it
    return change_practice(asked, *logs, more=say(language, "zone.ask") if asks_zone else "")


def _ask_several(asked: Invocation, lines: Sequence[LogLine], names: Sequence[str]) -> Reply | None:
    """Ask if a line whose notes have a time of their own is two entries; None if it cannot be."""
    pieces = [piece for piece in _BETWEEN.split(asked.arguments) if piece.strip()]
    if len(lines) > 1 or len(pieces) < 2 or find_duration(lines[0].notes) is None:
        return None
    with suppress(LogLineError):
        several = parse_logs("; ".join(pieces), today_of(asked.principal, asked.now), names)
        offers = tuple(filter(None, (_log_offer(asked, several, names), _log_offer(asked, lines, names))))
        if len(several) > 1 and offers:
            return Reply(say(language_of(asked.principal.locale), "offer.which"), offers=offers)
    return None


def _ask_near(asked: Invocation, lines: Sequence[LogLine], names: Sequence[str]) -> Reply | None:
    """Ask if a new skill is a known one, misspelled; None if no line has such a skill."""
    language = language_of(asked.principal.locale)
    meant = [near_line(line, names) or line for line in lines]
    changed = [(line.skill, new.skill) for line, new in zip(lines, meant, strict=True) if line != new]
    offers = tuple(filter(None, (_log_offer(asked, meant, names), _log_offer(asked, lines, names))))
    if not changed or len(offers) < 2:
        return None
    detail, near = (escape(", ".join(skills)) for skills in zip(*changed, strict=True))
    return Reply(say(language, "log.near", detail=detail, near=near), offers=offers)


def _log_offer(asked: Invocation, lines: Sequence[LogLine], names: Sequence[str]) -> SuggestedReply | None:
    """Return the button that logs exactly these lines, or None if no line says so."""
    language, today = language_of(asked.principal.locale), today_of(asked.principal, asked.now)
    entries = tuple(OfferedEntry(line.minutes, line.skill, line.day, line.skill not in names) for line in lines)
    commands = [log_command((entry,), today, names, line.notes) for entry, line in zip(entries, lines, strict=True)]
    if None in commands:
        return None
    words = "; ".join(command.removeprefix("/log ") for command in commands if command)
    return SuggestedReply(say(language, "offer.log", what=describe(language, entries, today)), f"/log {words}")


def _in_units(asked: Invocation, error: LogLineError, names: Sequence[str]) -> tuple[SuggestedReply, ...]:
    """Return buttons for the minutes or hours that a line may mean whose number has no unit."""
    offers = []
    for text in with_units(asked.arguments) if error.problem is LogProblem.NO_UNIT else ():
        with suppress(LogLineError):
            lines = parse_logs(text, today_of(asked.principal, asked.now), names)
            offers.append(_log_offer(asked, [near_line(line, names) or line for line in lines], names))
    return tuple(filter(None, offers))


async def _undo(asked: Invocation) -> Write:
    return change_practice(asked, LocalEffect(writer.undo_last_log))


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
    wish = read_stats(wanted, today, principal.week_start, skills)
    if wish.has_days and not wish.rest:
        return await _stats_of_days(reader, asked, wish, skills)
    skill = _find(skills, wanted)
    if skill is None and (wish.skill is not None or read_stats(wish.rest, today, principal.week_start, ()).has_days):
        return Reply(say(language, "stats.how"))
    if skill is None:
        return _unknown(asked, wish.rest, skills)
    journey = journey_report((skill,), totals, today, principal.week_start)
    sessions = await reader.sessions(principal, skill_id=skill.id, limit=MAX_READ)
    return Reply(skill_stats_text(language, journey.skills[0], today, patterns_report(sessions, today, skill.id)))


async def _stats_of_days(
    reader: PracticeReader, asked: Invocation, wish: WantedStats, skills: tuple[Skill, ...]
) -> Reply:
    """Answer with the totals of a month, a week, a year or a weekday, and nothing else."""
    principal, today = asked.principal, today_of(asked.principal, asked.now)
    since, until = (None, None) if wish.span is None else (wish.span.first, wish.span.last)
    sessions = await reader.sessions(principal, since=since, limit=MAX_READ)
    counted = [skill for skill in skills if not skill.archived or skill is wish.skill]
    report = entries_report(
        sessions, counted, since=since, until=until, skill=wish.skill, weekday=wish.weekday, shown=0
    )
    return Reply(entries_text(language_of(principal.locale), report, today))


async def _skills(reader: PracticeReader, asked: Invocation) -> Reply:
    skills = await reader.skills(asked.principal)
    return Reply(skills_text(language_of(asked.principal.locale), skills_report(skills)))


async def _chart(reader: PracticeReader, asked: Invocation) -> Reply:
    """Draw a chart, or say that nothing is logged."""
    principal, language = asked.principal, language_of(asked.principal.locale)
    skills = await reader.skills(principal, include_archived=bool(asked.arguments.strip()))
    wish = read_chart_wish(asked.arguments, skills)
    if wish.rest:
        return _unknown(asked, wish.rest, skills)
    shown = [skill for skill in skills if not skill.archived or skill is wish.skill]
    totals, goal = await reader.days(principal), await reader.weekly_goal(principal)
    chart = chart_of(shown, totals, today_of(principal, asked.now), principal.week_start, wish, goal)
    if not any(skill.total_minutes for skill in shown):
        return Reply(say(language, "stats.nothing_yet"))
    made = await plot(language, chart, is_dark=wish.is_dark)
    file = OutboundMedia(AttachmentKind.PHOTO, made.name, MIME, made.png, made.description)
    return Reply(caption_text(language, chart), files=(file,)) if made.png else Reply(chart_text(language, chart))


async def _skill(reader: PracticeReader, asked: Invocation) -> Reply | Write:
    """Change or show a skill; without a name, list all skills, archived ones included."""
    principal, language = asked.principal, language_of(asked.principal.locale)
    skills = await reader.skills(principal, include_archived=True)
    if not asked.arguments.strip():
        help_text = say(language, "skill.how")
        return Reply(f"{skills_text(language, skills_report(skills))}\n\n{help_text}")
    wish = read_skill_wish(asked.arguments, skills)
    if wish.skill is None:
        return _unknown(asked, asked.arguments, skills)
    if wish.merge_into is not None:
        merge = LocalEffect(writer.merge_skills, wish.skill.id, wish.merge_into)
        return change_practice(asked, merge)
    if wish.edit is not None:
        edit = LocalEffect(writer.edit_skill, wish.skill.id, wish.edit)
        return change_practice(asked, edit)
    if not wish.is_read:
        return Reply(say(language, "skill.how"))
    today = today_of(principal, asked.now)
    journey = journey_report((wish.skill,), await reader.days(principal), today, principal.week_start)
    sessions = await reader.sessions(principal, skill_id=wish.skill.id, limit=MAX_READ)
    return Reply(skill_stats_text(language, journey.skills[0], today, patterns_report(sessions, today, wish.skill.id)))


async def _goal(reader: PracticeReader, asked: Invocation) -> Reply | Write:
    """Show or set the weekly goal, of all practice or of one skill."""
    language, wanted = language_of(asked.principal.locale), clean(asked.arguments[:MAX_WANTED_CHARS])
    skills = await reader.skills(asked.principal)
    if not wanted:
        goal = await reader.weekly_goal(asked.principal)
        key = "goal.none" if goal is None else "goal.now"
        of_skills = [
            say(
                language,
                "change.skill_weekly_minutes",
                emoji=skill.emoji,
                skill=escape(skill.name),
                weekly=spell_minutes(skill.weekly_minutes),
            )
            for skill in skills
            if skill.weekly_minutes
        ]
        return Reply("\n\n".join([say(language, key, goal=spell_minutes(goal or 0)), *of_skills]))
    named = take_skill(wanted, skills)
    if named is not None and named[1]:
        wish = read_skill_wish(f"{named[0].name} week {named[1]}", (named[0],))
        if wish.edit is None or (named[1].casefold() not in GOAL_OFF and _other_words(named[1])):
            return Reply(say(language, "goal.how"))
        weekly = LocalEffect(writer.edit_skill, named[0].id, wish.edit)
        return change_practice(asked, weekly)
    minutes = 0 if wanted.casefold() in GOAL_OFF else spelled_hours(wanted[:64])
    if minutes is None:
        return Reply(say(language, "goal.how"))
    if minutes and (other := _other_words(wanted)):
        return _unknown(asked, other, skills)
    return change_practice(asked, LocalEffect(writer.set_weekly_goal, minutes))


def _other_words(wanted: str) -> str:
    """Return what a weekly goal says beside its time: "this month"."""
    return " ".join(word for word in _GOAL_TIME.sub("", wanted).split() if word.casefold() not in GOAL_WORDS)


async def _plan(_: Invocation) -> Reply:
    """Do nothing: the router starts a turn of the kind `plan` instead."""
    return Reply("")


def _find(skills: tuple[Skill, ...], wanted: str) -> Skill | None:
    """Return the skill of this name, else the only one whose name begins with it."""
    key = name_key(wanted[:MAX_WANTED_CHARS])
    exact = next((skill for skill in skills if name_key(skill.name) == key), None)
    begun = [skill for skill in skills if name_key(skill.name).startswith(key)]
    return exact or (begun[0] if len(begun) == 1 else None)


def _unknown(asked: Invocation, named: str, skills: Sequence[Skill]) -> Reply:
    """Say that there is no such skill; offer the command with a skill whose name is like it."""
    named = clean(named[:MAX_WANTED_CHARS])
    if (question := ask_near(asked, named, skills)) is not None:
        return question
    language, detail = language_of(asked.principal.locale), escape(named[:SHOWN_CHARS])
    return Reply(say(language, "problem.unknown_skill", detail=detail))


def entry_commands(reader: PracticeReader) -> tuple[Command, ...]:
    """Return the commands about entries."""
    listed = (CommandOption("which", "menu.entries.which"),)
    edited = (CommandOption("what", "menu.edit.what", required=True),)
    deleted = (CommandOption("which", "menu.delete.which", required=True),)
    return (
        Command("entries", "menu.entries", partial(_entries, reader), options=listed),
        Command("edit", "menu.edit", partial(_edit, reader), options=edited),
        Command("delete", "menu.delete", partial(_delete, reader), options=deleted),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """The entries that a command may mean."""

    language: str
    skills: tuple[Skill, ...]
    wanted: WantedEntries
    report: EntriesReport

    @property
    def picked(self) -> EntryRow | None:
        """Return the one entry that is meant, or None if it is unclear."""
        rows, pick = self.report.entries, self.wanted.pick
        if pick is not None:
            return rows[pick - 1] if 1 <= pick <= len(rows) else None
        return rows[0] if len(rows) == 1 else None


async def _find_entries(reader: PracticeReader, asked: Invocation, *, searches: bool) -> _Found:
    principal, today = asked.principal, today_of(asked.principal, asked.now)
    skills = await reader.skills(principal, include_archived=True)
    wanted = read_wanted(asked.arguments, today, principal.week_start, skills)
    first = None if wanted.span is None else wanted.span.first
    last = None if wanted.span is None else wanted.span.last
    sessions = await reader.sessions(principal, since=first, limit=MAX_READ)
    if wanted.id is not None:
        sessions = tuple(session for session in sessions if session.id == wanted.id)
    text = wanted.rest[:200] if searches else ""
    report = entries_report(sessions, skills, since=first, until=last, skill=wanted.skill, text=text)
    return _Found(language_of(principal.locale), skills, wanted, report)


async def _entries(reader: PracticeReader, asked: Invocation) -> Reply:
    """List the entries of a day, a month or a skill, or those with these words in their notes."""
    found = await _find_entries(reader, asked, searches=True)
    return Reply(entries_text(found.language, found.report, today_of(asked.principal, asked.now)))


async def _delete(reader: PracticeReader, asked: Invocation) -> Reply | Write:
    """Delete the one entry that is meant; of several, ask which."""
    found = await _find_entries(reader, asked, searches=False)
    if not (found.wanted.span or found.wanted.skill or found.wanted.id):
        return Reply(say(found.language, "entries.how_delete"))
    row = found.picked
    if row is None or found.wanted.rest:
        listed = [] if found.wanted.rest else _label_entries(found, asked)
        said = partial(say, found.language, "offer.delete")
        offers = [SuggestedReply(said(what=label), f"/delete {id_}") for label, id_ in listed]
        return _which(found, asked, "delete", offers)
    return change_practice(asked, LocalEffect(writer.delete_session, row.id))


async def _edit(reader: PracticeReader, asked: Invocation) -> Reply | Write:
    """Correct the one entry that is meant; without day and skill, the one logged last."""
    found = await _find_entries(reader, asked, searches=False)
    values = read_values(found.wanted.rest, today_of(asked.principal, asked.now), found.skills)
    says = values.minutes is not None or values.skill or values.day or values.notes is not None
    if values.rest and says and (question := ask_near(asked, values.rest, found.skills)) is not None:
        return question
    if values.rest or not says:
        return Reply(say(found.language, "entries.how_edit"))
    row = found.picked
    names_one = found.wanted.span or found.wanted.skill or found.wanted.id
    if row is None and (names_one or found.wanted.pick):
        return _which(found, asked, "edit", _edit_offers(found, asked, values))
    id_ = None if row is None or not names_one else row.id
    change = LocalEffect(writer.edit_session, id_, values.minutes, values.day, values.notes, values.skill)
    return change_practice(asked, change)


def _label_entries(found: _Found, asked: Invocation) -> list[tuple[str, str]]:
    """Return the label and the id of the first entries."""
    today = today_of(asked.principal, asked.now)
    return [(entry_label(found.language, row, today), row.id) for row in found.report.entries[:MOST_BUTTONS]]


def _edit_offers(found: _Found, asked: Invocation, values: NewValues) -> list[SuggestedReply]:
    """Return a button for each of several entries that gives it the new values."""
    said = [] if values.minutes is None else [f"{values.minutes}m"]
    said += [f"to {values.skill}"] if values.skill else []
    said += [f"on {values.day.isoformat()}"] if values.day else []
    said += [] if values.notes is None else [f": {values.notes}"]
    if read_values(" ".join(said), today_of(asked.principal, asked.now), found.skills) != values:
        return []
    return [SuggestedReply(label, f"/edit {id_} {' '.join(said)}") for label, id_ in _label_entries(found, asked)]


def _which(found: _Found, asked: Invocation, name: str, offers: Sequence[SuggestedReply]) -> Reply:
    """Return a numbered list of the entries, and how to choose one: by a button, else by its number."""
    listed = entries_text(found.language, found.report, today_of(asked.principal, asked.now), numbered=True)
    how = say(found.language, "entries.which", name=name)
    if not found.report.found:
        return Reply(listed)
    if not offers or found.report.found > len(offers):
        return Reply(f"{listed}\n\n{how}", offers=tuple(offers))
    return Reply(f"{listed}\n\n{say(found.language, 'offer.which')}", offers=tuple(offers), typed=how)
