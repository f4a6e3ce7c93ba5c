"""Entries of a file, added in one commit: what is there already and what no day holds is left out."""

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime

import sqlalchemy as sa

from agent.coach.changes import CreateSkill
from agent.coach.practice import DAY_MINUTES, name_key
from agent.coach.practice_file import FileRow
from agent.coach.timer_changes import PracticeImported
from agent.ports import Principal
from gateway.coach import practice_rows as rows
from gateway.coach.skill_changes import insert_skill
from gateway.coach.tables import practice_sessions
from gateway.store.tables.base import new_id

MAX_THERE = 100_000
"""Entries compared with those of an import."""


def import_entries(
    connection: sa.Connection, principal: Principal, entries: Sequence[FileRow], key: str, now: datetime
) -> PracticeImported:
    """Each entry as if it had been logged now, but those that are there already."""
    known = {skill.id: skill for skill in rows.all_skills(connection, principal, include_archived=True)}
    by_name = {name_key(skill.name): skill for skill in known.values()}
    there = Counter(
        (each.day, name_key(known[each.skill_id].name), each.minutes, each.notes)
        for each in rows.sessions(connection, principal, None, None, MAX_THERE)
    )
    full = Counter[date]()
    for total in rows.day_totals(connection, principal):
        full[total.day] += total.minutes
    values: list[dict[str, object]] = []
    new: list[str] = []
    already = over = 0
    for entry in entries:
        same = (entry.day, name_key(entry.skill), entry.minutes, entry.notes)
        if there[same]:
            there[same] -= 1
            already += 1
        elif full[entry.day] + entry.minutes > DAY_MINUTES:
            over += 1
        else:
            if same[1] not in by_name:
                by_name[same[1]] = insert_skill(connection, principal, CreateSkill(entry.skill), now)
                new.append(entry.skill)
            full[entry.day] += entry.minutes
            values.append(
                {
                    "tenant_id": principal.tenant, "user_id": principal.user_id, "id": new_id(),
                    "skill_id": by_name[same[1]].id, "minutes": entry.minutes, "local_date": entry.day,
                    "zone": principal.timezone, "notes": entry.notes, "effect_key": f"{key}#{len(values)}"[-64:],
                    "created_at": now, "undone_at": None,
                }
            )  # fmt: skip
    if values:
        connection.execute(practice_sessions.insert(), values)
    return PracticeImported(imported=len(values), already_there=already, over_a_day=over, new_skills=tuple(new))
