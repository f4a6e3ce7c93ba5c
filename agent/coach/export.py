"""A person's practice as a CSV file that a spreadsheet opens as data and nothing else. Pure."""

import csv
import io
from collections.abc import Iterable, Sequence

from agent.coach.practice import PracticeSession, Skill

COLUMNS = ("date", "skill", "minutes", "notes")

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula (OWASP, CSV injection, read 2026-11)."""


def practice_csv(skills: Iterable[Skill], sessions: Sequence[PracticeSession]) -> bytes:
    """UTF-8 with a byte order mark, one row a session, the oldest first; text that could be a formula is quoted."""
    names = {skill.id: skill.name for skill in skills}
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(COLUMNS)
    for session in sorted(sessions, key=lambda logged: logged.day):
        rows.writerow(
            (session.day.isoformat(), _text(names.get(session.skill_id, "")), session.minutes, _text(session.notes))
        )
    return out.getvalue().encode("utf-8-sig")


def _text(value: str) -> str:
    return f"'{value}" if value.startswith(_FORMULA) else value
