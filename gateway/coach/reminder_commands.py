"""The commands `/remind`, `/start`, `/done` and `/forget practice`, and the text of a reminder that is due."""

import json
from datetime import date
from functools import partial

from agent.calendar import is_zone, today_of, zone_of
from agent.catalogue import escape, language_of
from agent.coach.durations import spell_minutes
from agent.coach.entry_arguments import take_skill
from agent.coach.journey import journey_of, minutes_by_day
from agent.coach.practice import PracticeReader, name_key
from agent.coach.reminders import Reminder, due_text, missed_text, read_reminder, read_reminder_words, reminders_text
from agent.coach.texts import say, say_days
from agent.coach.vocabulary.amounts import find_duration
from agent.ports import Change, LocalEffect
from agent.wellformed import clean
from channels.base import CommandOption
from gateway.coach import writer
from gateway.coach.changes import change_practice
from gateway.coach.near_skills import ask_near
from gateway.coach.reminder_rows import NAME
from gateway.commands.base import Command, HelpGroup, Invocation, Reply, Write
from gateway.commands.personal_data import ask_if_sure, forget, is_sure
from gateway.commands.session import begin_conversation, stoppable_by
from gateway.store.engine import Connection

LIST = frozenset(("", "list", "lista", "ver"))
REMINDERS_OFF = frozenset(("off", "none", "no", "stop", "quitar", "borrar"))
LATE_MIN = 10


def reminder_commands(reader: PracticeReader) -> tuple[Command, ...]:
    """Return `/remind`, and the command that a due reminder runs."""
    when = CommandOption("when", "menu.remind.when")
    return (
        Command("remind", "menu.remind", partial(_remind, reader), options=(when,)),
        Command(NAME, "menu.remind", partial(_due, reader), system=True),
    )


async def _remind(reader: PracticeReader, asked: Invocation) -> Reply | Write:
    """Set, list or cancel reminders."""
    principal, language = asked.principal, language_of(asked.principal.locale)
    today, wanted = today_of(principal, asked.now), asked.arguments.strip()
    known = await reader.reminders(principal)
    first, _, rest = wanted.casefold().partition(" ")
    if wanted.casefold() in LIST:
        return Reply(reminders_text(language, known, today))
    if first in REMINDERS_OFF:
        return _off(language, asked, known, rest.strip())
    words = read_reminder(wanted, today)
    if words.bad_time:
        return Reply(say(language, "remind.bad_time", time=escape(words.bad_time[:16])))
    if words.bad_day:
        return Reply(say(language, "remind.bad_day", day=escape(words.bad_day)))
    said = (
        words
        if words.at is not None
        else read_reminder_words(wanted, asked.now.astimezone(zone_of(principal.timezone)))
    )
    if said is None or said.at is None:
        return Reply(say(language, "remind.how"))
    if not is_zone(principal.timezone):
        return Reply(say(language, "remind.bad_zone", zone=escape(principal.timezone[:64])))
    change = LocalEffect(writer.set_reminder, said.at, said.weekdays, said.day, said.about)
    return change_practice(asked, change)


def _off(language: str, asked: Invocation, known: tuple[Reminder, ...], which: str) -> Reply | Write:
    """Cancel the n-th reminder, or all."""
    if not known:
        return Reply(say(language, "remind.none"))
    if which in {"", "all", "todo", "todos"}:
        return change_practice(asked, LocalEffect(writer.cancel_reminders))
    number = int(which) if which.isdecimal() and len(which) < 4 else 0
    if not 1 <= number <= len(known):
        return Reply(reminders_text(language, known, today_of(asked.principal, asked.now)))
    cancel = LocalEffect(writer.cancel_reminders, known[number - 1].id)
    return change_practice(asked, cancel)


async def _due(reader: PracticeReader, asked: Invocation) -> Reply:
    """Say a reminder, with today's practice or the streak."""
    said = json.loads(asked.arguments)
    today = today_of(asked.principal, asked.now)
    language = language_of(asked.principal.locale)
    if "missed" in said:
        day = date.fromisoformat(said["missed"])
        return Reply(missed_text(language, said["at"], said["about"], day, today))
    numbers = journey_of(minutes_by_day(await reader.days(asked.principal)), today, asked.principal.week_start)
    done = spell_minutes(numbers.today_minutes) if numbers.today_minutes else ""
    streak = say_days(language, numbers.current_streak_days) if numbers.current_streak_days > 1 else ""
    late, about = said["late_min"] >= LATE_MIN, name_key(said["about"])
    names = [name_key(skill.name) for skill in await reader.skills(asked.principal)]
    cheers = not about or any(name in about or about in name for name in names)
    return Reply(due_text(language, said["at"], said["about"], late=late, done=done, streak=streak, cheers=cheers))


TIMER_OFF = frozenset(("off", "cancel", "no", "cancelar", "nada"))
PRACTICE_NAMES = frozenset(("practice", "práctica", "practica", "entries", "anotaciones"))
MAX_COUNTED = 1_000_000
MAX_CHARS = 1_000


def timer_commands(reader: PracticeReader) -> tuple[Command, ...]:
    """Return `/start`, `/done` and `/forget`."""
    skill, notes = CommandOption("skill", "menu.start.skill"), CommandOption("notes", "menu.done.notes")
    what = CommandOption("what", "menu.forget.what")
    return (
        Command("start", "menu.start_timer", partial(_start, reader), options=(skill,)),
        Command("done", "menu.done", _stop, options=(notes,)),
        Command(
            "forget", "menu.forget", partial(_forget, reader), options=(what,), stops=True, group=HelpGroup.ACCOUNT
        ),
    )


async def _start(reader: PracticeReader, asked: Invocation) -> Reply | Write:
    """Start the clock for a known skill; else say what the clock needs, after a greeting on `/start`."""
    principal, language = asked.principal, language_of(asked.principal.locale)
    wanted = clean(asked.arguments[:MAX_CHARS])
    skills = await reader.skills(principal) if wanted else ()
    found = take_skill(wanted, skills) if wanted else None
    if found is not None and not found[1]:
        start = LocalEffect(writer.start_timer, found[0].name)
        return change_practice(asked, start)
    if found is None and wanted and (question := ask_near(asked, wanted, skills)) is not None:
        return question
    if asked.name != "start":
        return Reply(say(language, "timer.how"))
    name = escape(clean(principal.display_name)[:64])
    greeted = say(language, "commands.start", name=f", {name}" if name else "", timezone=escape(principal.timezone))
    return Reply(f"{greeted}\n\n{say(language, 'timer.how')}")


async def _stop(asked: Invocation) -> Reply | Write:
    """Stop the clock and log; a time in the text replaces the one it counted, the rest are notes."""
    said = clean(asked.arguments[:MAX_CHARS])
    if said.casefold() in TIMER_OFF:
        discard = LocalEffect(writer.stop_timer, discards=True)
        return change_practice(asked, discard)
    duration = find_duration(said)
    minutes = None if duration is None else duration.minutes
    notes = said if duration is None else f"{said[: duration.start]} {said[duration.end :]}".strip(" ,:")
    if minutes == 0:
        return Reply(say(language_of(asked.principal.locale), "problem.zero"))
    return change_practice(asked, LocalEffect(writer.stop_timer, minutes, notes))


async def _forget(reader: PracticeReader, asked: Invocation) -> Reply | Write:
    """Delete the practice once that is confirmed; leave everything else to the command that every agent has."""
    words = asked.arguments.casefold().split()
    if not 1 <= len(words) <= 2 or words[0] not in PRACTICE_NAMES:
        return await forget(asked)
    if not is_sure(words):
        return ask_if_sure(asked, "forget.sure_practice", "forget.type_practice")
    entries = len(await reader.sessions(asked.principal, limit=MAX_COUNTED))
    asked.session.cancel(stoppable_by(asked))
    return Write(_forget_practice, asked, asked.plural("forget.done", entries))


def _forget_practice(connection: Connection, asked: Invocation, said: str) -> Reply:
    writer.forget_practice(Change(connection, asked.principal, asked.key, asked.now))
    cleared = asked.session.clear(connection, "/new", stoppable_by(asked), asked.clock())
    return Reply(said, changed=begin_conversation(connection, asked, cleared))
