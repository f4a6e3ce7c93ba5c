"""`/entries`, `/edit` and `/delete`: any entry, by day and skill. `agent.coach.entry_words` reads what is meant."""

from dataclasses import dataclass
from functools import partial

from agent.calendar import today_of
from agent.coach.changes import DeleteSession, EditSession
from agent.coach.entry_words import WantedEntries, read_values, read_wanted
from agent.coach.patterns import MAX_READ
from agent.coach.practice import PracticeReader, Skill
from agent.coach.prose import entries_text
from agent.coach.reports import EntriesReport, EntryRow, entries_report
from agent.coach.texts import say
from agent.language import language_of
from channels.base import CommandOption
from gateway.coach.said_changes import change_words
from gateway.commands.base import Command, Invocation, Reply


def entry_commands(reader: PracticeReader) -> tuple[Command, ...]:
    """The commands over what `reader` knows."""
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
    """What a command is about."""

    language: str
    skills: tuple[Skill, ...]
    wanted: WantedEntries
    report: EntriesReport

    @property
    def picked(self) -> EntryRow | None:
        """The one entry that is meant; None where it is not clear."""
        rows, pick = self.report.entries, self.wanted.pick
        if pick is not None:
            return rows[pick - 1] if 1 <= pick <= len(rows) else None
        return rows[0] if len(rows) == 1 else None


async def _find(reader: PracticeReader, asked: Invocation, *, searches: bool) -> _Found:
    principal, today = asked.principal, today_of(asked.principal, asked.now)
    skills = await reader.skills(principal, include_archived=True)
    wanted = read_wanted(asked.arguments, today, principal.week_start, skills)
    first = None if wanted.span is None else wanted.span.first
    last = None if wanted.span is None else wanted.span.last
    sessions = await reader.sessions(principal, since=first, limit=MAX_READ)
    text = wanted.rest[:200] if searches else ""
    report = entries_report(sessions, skills, since=first, until=last, skill=wanted.skill, text=text)
    return _Found(language_of(principal.locale), skills, wanted, report)


async def _entries(reader: PracticeReader, asked: Invocation) -> Reply:
    """What was done on a day, in a month, of a skill, or with these words in the notes."""
    found = await _find(reader, asked, searches=True)
    return Reply(entries_text(found.language, found.report, today_of(asked.principal, asked.now)))


async def _delete(reader: PracticeReader, asked: Invocation) -> Reply:
    """Take back the one entry that is meant; where there are several, list them."""
    found = await _find(reader, asked, searches=False)
    if not found.wanted.span and not found.wanted.skill:
        return Reply(say(found.language, "entries.how_delete"))
    row = found.picked
    if row is None or found.wanted.rest:
        return Reply(_which(found, asked, "delete"))
    return Reply(partial(change_words, asked), changes=(DeleteSession(row.id),))


async def _edit(reader: PracticeReader, asked: Invocation) -> Reply:
    """Correct the one entry that is meant; without day and skill the one logged last."""
    found = await _find(reader, asked, searches=False)
    values = read_values(found.wanted.rest, today_of(asked.principal, asked.now), found.skills)
    if values.minutes is None and values.skill is None and values.day is None and values.notes is None:
        return Reply(say(found.language, "entries.how_edit"))
    row = found.picked
    if row is None and (found.wanted.span or found.wanted.skill or found.wanted.pick):
        return Reply(_which(found, asked, "edit"))
    id_ = None if row is None or not (found.wanted.span or found.wanted.skill) else row.id
    change = EditSession(id_, values.minutes, values.day, values.notes, values.skill)
    return Reply(partial(change_words, asked), changes=(change,))


def _which(found: _Found, asked: Invocation, name: str) -> str:
    """The entries that may be meant, numbered, and how to say which."""
    listed = entries_text(found.language, found.report, today_of(asked.principal, asked.now), numbered=True)
    if not found.report.found:
        return listed
    return f"{listed}\n\n{say(found.language, 'entries.which', name=name)}"
