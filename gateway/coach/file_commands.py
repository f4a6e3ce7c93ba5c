"""The commands `/export` and `/import`, for all practice as a file."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from datetime import date
from functools import partial

from agent.calendar import today_of
from agent.catalogue import escape, language_of
from agent.coach.practice import PracticeReader, PracticeSession, Skill
from agent.coach.practice_file import MAX_GOOD, PracticeFile, guard_cell, practice_json, read_file
from agent.coach.texts import COACH_TEXTS, file_name, say, say_day
from agent.ports import LocalEffect
from agent.transcript import SuggestedReply
from channels.base import CommandOption
from channels.messages import AttachmentKind, OutboundMedia
from gateway.coach import writer
from gateway.coach.changes import change_practice
from gateway.coach.tables import PRACTICE_TABLES
from gateway.commands.base import Command, HelpGroup, Invocation, Reply, Write
from gateway.commands.personal_data import export
from gateway.store import outbox
from gateway.store.engine import Connection
from gateway.store.tables.base import new_id

MAX_EXPORTED = 100_000
ALL = "all"
NOW = frozenset(("now", "ahora"))
SHOWN_BAD = 10
_KEPT = re.compile(r"#([0-9a-f-]{36})")
"""A file that a button names."""


def file_commands(reader: PracticeReader) -> tuple[Command, ...]:
    """Return `/export` and `/import`."""
    form = CommandOption("format", "menu.export.format", choices=("csv", "json", ALL))
    rows = CommandOption("rows", "menu.import.rows")
    return (
        Command("export", "menu.export", partial(_export, reader), options=(form,), group=HelpGroup.ACCOUNT),
        Command("import", "menu.import", _import, options=(rows,), group=HelpGroup.ACCOUNT),
    )


async def _export(reader: PracticeReader, asked: Invocation) -> Reply:
    """Send all practice as a CSV or JSON file, or all that is kept of the person."""
    language, form = language_of(asked.principal.locale), asked.arguments.strip().casefold()
    if form == ALL:
        return await export(PRACTICE_TABLES, asked)
    skills = await reader.skills(asked.principal, include_archived=True)
    sessions = await reader.sessions(asked.principal, limit=MAX_EXPORTED)
    if not sessions:
        return Reply(say(language, "stats.nothing_yet"))
    as_json = form == "json"
    name = file_name(language, today_of(asked.principal, asked.now), "json" if as_json else "csv")
    content = practice_json(skills, sessions) if as_json else practice_csv(skills, sessions, language)
    mime = "application/json" if as_json else "text/csv"
    file = OutboundMedia(AttachmentKind.DOCUMENT, name, mime, content)
    return Reply(COACH_TEXTS.plural(language, "export.done", len(sessions)), files=(file,))


def practice_csv(skills: Iterable[Skill], sessions: Sequence[PracticeSession], language: str = "en") -> bytes:
    """Return one row for each session, the oldest first, as UTF-8 with a byte order mark.

    Texts are quoted, and none is a formula. The columns have names in `language`; `/import` knows those of every one.
    """
    names = {skill.id: skill.name for skill in skills}
    out = io.StringIO()
    rows = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
    rows.writerow(say(language, "export.columns").split())
    for session in sorted(sessions, key=lambda logged: logged.day):
        name, notes = guard_cell(names.get(session.skill_id, "")), guard_cell(session.notes)
        rows.writerow((session.day.isoformat(), name, session.minutes, notes))
    return out.getvalue().encode("utf-8-sig")


async def _import(asked: Invocation) -> Reply | Write:
    """Say what an attached or pasted file would add, and which of its lines are no entries; with "now", add it."""
    language, today = language_of(asked.principal.locale), today_of(asked.principal, asked.now)
    first, _, rest = asked.arguments.partition("\n" if "\n" in asked.arguments else " ")
    does = first.strip().casefold() in NOW
    pasted = rest if does else asked.arguments
    kept = _KEPT.fullmatch(rest.strip()) if does else None
    if kept is not None:
        content = await asked.store.read(partial(outbox.file_of, id_=kept[1]), lasting=True)
        texts = [content.decode()] if content is not None else []
    else:
        texts = [pasted] if pasted.strip() else list(await asked.session.read_files())
    if not texts:
        return Reply(say(language, "import.how"))
    found = read_file(texts[0], today)
    if not found.rows:
        return Reply(_dry_run(language, found, today))
    if not does:
        return Write(_keep_file, asked, new_id(), texts[0], _dry_run(language, found, today))
    change = LocalEffect(writer.import_entries, found.rows, found.skills)
    return change_practice(asked, change, more=_bad_text(language, found))


def _keep_file(connection: Connection, asked: Invocation, id_: str, text: str, said: str) -> Reply:
    """Keep the file until its button is pressed; it is deleted with the message that it came with, or after a day."""
    address, language = asked.address, language_of(asked.principal.locale)
    whose = outbox.came_with(address.channel, address.account, asked.row.event.event_id)
    outbox.put_file(connection, asked.row.tenant, id_, text.encode(), asked.clock(), whose)
    offer = SuggestedReply(say(language, "offer.import"), f"/import now #{id_}")
    return Reply(said, offers=(offer,), typed=say(language, "import.now"))


def _dry_run(language: str, found: PracticeFile, today: date) -> str:
    blocks = []
    if found.rows:
        days = [row.day for row in found.rows]
        skills = ", ".join(escape(name) for name in dict.fromkeys(row.skill for row in found.rows))
        first, last = (say_day(language, day, today) for day in (min(days), max(days)))
        key = "import.would_one_day" if first == last else "import.would"
        blocks.append(COACH_TEXTS.plural(language, key, len(found.rows), first=first, last=last, skills=skills[:500]))
    bad = _bad_text(language, found)
    blocks += [bad] if bad else []
    if found.more:
        blocks.append(say(language, "import.too_many", most=MAX_GOOD))
    blocks.append(say(language, "import.not_yet" if found.rows else "import.how"))
    return "\n\n".join(blocks)


def _bad_text(language: str, found: PracticeFile) -> str:
    """Return the number of lines that are no entries and the first of them, or ""."""
    if not found.bad:
        return ""
    lines = [COACH_TEXTS.plural(language, "import.bad_lines", len(found.bad))]
    for bad in found.bad[:SHOWN_BAD]:
        why = say(language, bad.why, detail=escape(bad.detail))
        lines.append(f"- {say(language, 'import.line', line=bad.line, why=why)}")
    if len(found.bad) > SHOWN_BAD:
        lines.append(f"- {COACH_TEXTS.plural(language, 'import.more_bad', len(found.bad) - SHOWN_BAD)}")
    return "\n".join(lines)
