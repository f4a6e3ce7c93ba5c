"""Practice as a file: read from CSV or JSON line by line, each bad one named, and written as JSON. Pure.

A line needs a date, a skill and minutes (or hours). Spreadsheets of many countries separate by ";" and write "1,5".
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal, InvalidOperation

from agent.coach.practice import (
    MAX_GOAL_MINUTES,
    WEEK_MINUTES,
    PracticeRefused,
    PracticeSession,
    Skill,
    SkillEdit,
    check_entry,
    clean_name,
    clean_notes,
)

MAX_FILE_CHARS = 2_000_000
MAX_ROWS = 20_000
"""Lines looked at; the rest is said to be too many."""

MAX_GOOD = 5_000
MAX_SKILLS = 1_000
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")

_NAMES = {
    "date": "date day fecha día dia", "skill": "skill habilidad name nombre", "minutes": "minutes minutos min",
    "hours": "hours horas h", "notes": "notes notas note nota",
}  # fmt: skip
_FORMULA = r"(?=[' ]*[=+\-@＝＋－＠]|'*[;\t\r])"
"""Characters that begin a formula in a spreadsheet (OWASP, CSV injection, read 2026-11)."""

_UNGUARDED, _GUARDED = (re.compile(rf"(^|[;,\t\r\n]){mark}{_FORMULA}") for mark in ("", "'"))
"""After the cell's start, and after each character at which some country's spreadsheet begins the next cell."""

_COLUMNS = {word: column for column, words in _NAMES.items() for word in words.split()}


@dataclass(frozen=True, slots=True)
class FileRow:
    """One entry of a file."""

    day: date
    skill: str
    minutes: int
    notes: str


@dataclass(frozen=True, slots=True)
class BadLine:
    """One line that is no entry, and why: the key of a text."""

    line: int  # as an editor counts; of JSON the n-th entry
    why: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PracticeFile:
    """The entries and problems of an imported file."""

    rows: tuple[FileRow, ...]
    bad: tuple[BadLine, ...]
    more: bool = False  # it goes on beyond what was looked at
    skills: tuple[tuple[str, SkillEdit], ...] = ()  # of JSON alone: each name, and what a new skill of it looks like


def read_file(text: str, today: date) -> PracticeFile:
    """All entries, and every line that is none."""
    text = text[:MAX_FILE_CHARS].lstrip("\ufeff")
    if text.lstrip()[:1] in {"{", "["}:
        return _from_json(text, today)
    return _from_csv(text, today)


def _from_csv(text: str, today: date) -> PracticeFile:
    head = text.lstrip().partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    columns: list[str] | None = None
    found: list[tuple[int, Mapping[str, object]]] = []
    bad: list[BadLine] = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if columns is None:
                columns = [_COLUMNS.get(cell.strip().casefold(), "") for cell in cells]
                if "date" not in columns or "skill" not in columns or not {"minutes", "hours"} & set(columns):
                    return PracticeFile((), (BadLine(reader.line_num, "import.no_header"),))
            elif len(found) < MAX_ROWS:
                found.append((reader.line_num, dict(zip(columns, map(unguard_cell, cells), strict=False))))
            else:
                return _read(found, bad, today, more=True)
    except csv.Error:
        bad.append(BadLine(reader.line_num, "import.broken"))
    return _read(found, bad, today)


def _from_json(text: str, today: date) -> PracticeFile:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return PracticeFile((), (BadLine(1, "import.no_json"),))
    entries = whole.get("sessions") if isinstance(whole, dict) else whole
    if not isinstance(entries, list):
        return PracticeFile((), (BadLine(1, "import.no_json"),))
    looked = [(at, row if isinstance(row, dict) else {}) for at, row in enumerate(entries[:MAX_ROWS], start=1)]
    found = _read(looked, [], today, more=len(entries) > MAX_ROWS)
    listed = whole.get("skills") if isinstance(whole, dict) else None
    return replace(found, skills=_skills(listed if isinstance(listed, list) else []))


def _skills(listed: Sequence[object]) -> tuple[tuple[str, SkillEdit], ...]:
    found = []
    for skill in listed[:MAX_SKILLS]:
        if not isinstance(skill, dict):
            continue
        colour = _text(skill.get("colour"))
        edit = SkillEdit(
            emoji=_text(skill.get("emoji")) or None,
            colour=colour if _COLOUR.fullmatch(colour) else None,
            archived=skill.get("archived") is True or None,
            goal_minutes=_within(skill.get("goal_minutes"), MAX_GOAL_MINUTES),
            weekly_minutes=_within(skill.get("weekly_minutes"), WEEK_MINUTES),
        )
        found.append((_text(skill.get("name")), edit))
    return tuple(found)


def _within(value: object, most: int) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= most else None


def _read(
    found: Sequence[tuple[int, Mapping[str, object]]], bad: list[BadLine], today: date, *, more: bool = False
) -> PracticeFile:
    rows: list[FileRow] = []
    for line, values in found:
        row = _row(line, values, today)
        if isinstance(row, BadLine):
            bad.append(row)
        elif len(rows) < MAX_GOOD:
            rows.append(row)
        else:
            more = True
    return PracticeFile(tuple(rows), tuple(sorted(bad, key=lambda each: each.line)), more)


def _row(line: int, values: Mapping[str, object], today: date) -> FileRow | BadLine:
    """Return the entry, or the first thing that it lacks."""
    said_day, said_minutes = _text(values.get("date")), _text(values.get("minutes"))
    said_hours = _text(values.get("hours"))
    try:
        day = date.fromisoformat(said_day)
    except ValueError:
        return BadLine(line, "import.bad_date", said_day[:40])
    minutes = _number(said_minutes) if said_minutes else _number(said_hours, 60)
    if minutes is None:
        return BadLine(line, "import.bad_time", (said_minutes or said_hours)[:40])
    try:
        skill = clean_name(_text(values.get("skill")))
        check_entry(minutes, day, today)
    except PracticeRefused as refused:
        return BadLine(line, f"import.{refused.refusal.value}", refused.detail[:40])
    return FileRow(day, skill, minutes, clean_notes(_text(values.get("notes"))))


def _text(value: object) -> str:
    return str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def guard_cell(text: str) -> str:
    """Put an apostrophe before each piece of a cell that a spreadsheet could take for a formula."""
    return _UNGUARDED.sub(r"\1'", text)


def unguard_cell(text: str) -> str:
    """Take off the apostrophes of `guard_cell`."""
    return _GUARDED.sub(r"\1", text)


def _number(text: str, times: int = 1) -> int | None:
    """Whole minutes; "1,5" is one and a half. None: no number."""
    if not text or len(text) > 12:
        return None
    try:
        value = Decimal(text.replace(",", ".")) * times
    except InvalidOperation:
        return None
    return round(value) if value.is_finite() and abs(value) < 1_000_000 else None


def practice_json(skills: Iterable[Skill], sessions: Sequence[PracticeSession]) -> bytes:
    """Everything as JSON, the oldest session first; it can be read back."""
    listed = list(skills)
    names = {skill.id: skill.name for skill in listed}
    whole = {
        "skills": [
            {
                "name": skill.name, "emoji": skill.emoji, "colour": skill.colour, "archived": skill.archived,
                "goal_minutes": skill.goal_minutes, "weekly_minutes": skill.weekly_minutes,
            }
            for skill in listed
        ],
        "sessions": [
            {
                "date": session.day.isoformat(), "skill": names.get(session.skill_id, ""),
                "minutes": session.minutes, "notes": session.notes,
            }
            for session in sorted(sessions, key=lambda each: each.day)
        ],
    }  # fmt: skip
    return json.dumps(whole, ensure_ascii=False, indent=1).encode()
