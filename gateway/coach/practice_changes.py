"""Changes a person's skills, goals and clock, takes in a file, and forgets; each raises before it writes anything.

Over a connection. Each change reaches the rows of every user id of the person.
"""

import re
from collections import Counter
from datetime import date, datetime

import sqlalchemy as sa

from agent.calendar import local_date
from agent.coach.changes import (
    CreateSkill,
    EditSkill,
    MergeSkills,
    SetWeeklyGoal,
    SkillEdited,
    SkillsMerged,
    WeeklyGoalSet,
)
from agent.coach.practice import (
    DAY_MINUTES,
    MAX_GOAL_MINUTES,
    WEEK_MINUTES,
    PracticeRefused,
    Refusal,
    Skill,
    clean_name,
    colour_for,
    emoji_for,
    name_key,
)
from agent.coach.timer_changes import (
    MAX_TIMER_MINUTES,
    ImportPractice,
    PracticeForgotten,
    PracticeImported,
    StartTimer,
    StopTimer,
    TimerStarted,
)
from agent.ports import Principal
from agent.wellformed import clean
from gateway.coach import practice_rows as rows
from gateway.coach.tables import (
    practice_effects,
    practice_sessions,
    practice_settings,
    practice_timers,
    reminders,
    skills,
    weekly_plans,
)
from gateway.store import people
from gateway.store.dialect import insert_new, upsert
from gateway.store.people import AuditRow
from gateway.store.tables.base import new_id

_COLOUR = re.compile(r"#[0-9a-f]{6}")
EMOJI_CHARS = 16


def edit_skill(connection: sa.Connection, principal: Principal, command: EditSkill) -> SkillEdited:
    """Change what is said.

    Raises:
        PracticeRefused: there is no such skill, or a value that it cannot have.
    """
    skill = _find(connection, principal, command.skill)
    values = _values(connection, principal, command, skill)
    if values:
        mine = sa.and_(rows.own(skills, principal), skills.c.id == skill.id)
        connection.execute(sa.update(skills).where(mine).values(values))
    now = rows.find_skill(connection, principal, skill.id) or skill
    said = [field for field in _FIELDS if getattr(command, field) is not None]
    return SkillEdited(
        skill_id=now.id,
        skill=now.name,
        emoji=now.emoji,
        colour=now.colour,
        archived=now.archived,
        goal_minutes=now.goal_minutes,
        weekly_minutes=now.weekly_minutes,
        name_before=skill.name,
        changed=tuple(said),
    )


_FIELDS = ("name", "archived", "colour", "emoji", "goal_minutes", "weekly_minutes")


def _values(
    connection: sa.Connection, principal: Principal, command: EditSkill, skill: Skill
) -> dict[str, str | int | bool | None]:
    """The columns to be changed."""
    values: dict[str, str | int | bool | None] = {}
    if command.name is not None:
        name = clean_name(command.name)
        taken = rows.find_skill(connection, principal, name)
        if taken is not None and taken.id != skill.id:
            raise PracticeRefused(Refusal.NAME_TAKEN, taken.name)
        values |= {"name": name, "name_key": name_key(name)}
    if command.archived is not None:
        values["archived"] = command.archived
    if command.colour is not None:
        values["colour"] = _check_colour(command.colour)
    if command.emoji is not None:
        values["emoji"] = clean(command.emoji)[:EMOJI_CHARS] or skill.emoji
    return values | _goals(command)


def _goals(command: EditSkill) -> dict[str, int | None]:
    values: dict[str, int | None] = {}
    if command.goal_minutes is not None:
        if not 0 < command.goal_minutes <= MAX_GOAL_MINUTES:
            raise PracticeRefused(Refusal.BAD_GOAL)
        values["goal_minutes"] = command.goal_minutes
    if command.weekly_minutes is not None:
        values["weekly_minutes"] = _check_week(command.weekly_minutes) or None
    return values


def _check_colour(colour: str) -> str:
    if not _COLOUR.fullmatch(colour.lower()):
        raise PracticeRefused(Refusal.BAD_COLOUR, colour[:32])
    return colour.lower()


def merge_skills(connection: sa.Connection, principal: Principal, command: MergeSkills) -> SkillsMerged:
    """Give all sessions of one skill to another, undone ones too; the first is no more.

    Raises:
        PracticeRefused: one of them is not there, or both are the same.
    """
    gone, stays = _find(connection, principal, command.skill), _find(connection, principal, command.into)
    if gone.id == stays.id:  # a linked user may have a skill of this name, too
        named = rows.find_named(connection, principal, stays.name)
        twin = next((skill for skill in named if skill.id != stays.id), None)
        if twin is None:
            raise PracticeRefused(Refusal.SAME_SKILL, stays.name)
        gone = twin
    of_gone = sa.and_(rows.own(practice_sessions, principal), practice_sessions.c.skill_id == gone.id)
    given = {"skill_id": stays.id, "user_id": rows.holder_of(stays.id)}
    connection.execute(sa.update(practice_sessions).where(of_gone).values(given))
    connection.execute(sa.delete(skills).where(rows.own(skills, principal), skills.c.id == gone.id))
    if stays.archived:
        mine = sa.and_(rows.own(skills, principal), skills.c.id == stays.id)
        connection.execute(sa.update(skills).where(mine).values(archived=False))
    return SkillsMerged(
        skill_id=stays.id,
        skill=stays.name,
        emoji=stays.emoji,
        merged=gone.name,
        sessions_moved=gone.session_count,
        total_minutes=gone.total_minutes + stays.total_minutes,
    )


def set_weekly_goal(connection: sa.Connection, principal: Principal, command: SetWeeklyGoal) -> WeeklyGoalSet:
    """Keep the goal for a week.

    Raises:
        PracticeRefused: no week holds it.
    """
    minutes = _check_week(command.minutes)
    connection.execute(
        upsert(connection, practice_settings, ("weekly_goal_minutes",)),
        {"tenant_id": principal.tenant, "user_id": principal.user_id, "weekly_goal_minutes": minutes or None},
    )
    return WeeklyGoalSet(weekly_goal_minutes=minutes)


def _check_week(minutes: int) -> int:
    if not 0 <= minutes <= WEEK_MINUTES:
        raise PracticeRefused(Refusal.BAD_WEEK)
    return minutes


def _find(connection: sa.Connection, principal: Principal, name_or_id: str) -> Skill:
    skill = rows.find_skill(connection, principal, name_or_id)
    if skill is None:
        raise PracticeRefused(Refusal.UNKNOWN_SKILL, name_or_id[:64])
    return skill


def insert_skill(connection: sa.Connection, principal: Principal, command: CreateSkill, now: datetime) -> Skill:
    """Add a skill that is not there yet.

    Raises:
        PracticeRefused: its name or its goal is none.
    """
    name = clean_name(command.name)
    if not 0 < command.goal_minutes <= MAX_GOAL_MINUTES:
        raise PracticeRefused(Refusal.BAD_GOAL)
    count = sa.select(sa.func.count()).select_from(skills).where(rows.own(skills, principal))
    colour = command.colour or colour_for(int(connection.execute(count).scalar_one()))
    values = {
        "tenant_id": principal.tenant, "user_id": principal.user_id, "id": new_id(), "name": name,
        "name_key": name_key(name),
        "emoji": command.emoji or emoji_for(name), "colour": colour, "goal_minutes": command.goal_minutes,
        "archived": False, "created_at": now,
    }  # fmt: skip
    connection.execute(insert_new(connection, skills), values)
    skill = rows.find_skill(connection, principal, name)
    if skill is None:
        raise LookupError("a skill just inserted is not there")
    return skill


MAX_THERE = 100_000
"""Entries compared with those of an import."""


def import_entries(
    connection: sa.Connection, principal: Principal, command: ImportPractice, key: str, now: datetime
) -> PracticeImported:
    """Each entry as if it had been logged now, but those that are there already; new skills as they were kept."""
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
    for entry in command.rows:
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
                    "tenant_id": principal.tenant, "id": new_id(),
                    "skill_id": by_name[same[1]].id, "minutes": entry.minutes, "local_date": entry.day,
                    "zone": principal.timezone, "notes": entry.notes, "effect_key": f"{key}#{len(values)}"[-64:],
                    "created_at": now, "undone_at": None,
                }
            )  # fmt: skip
    query = sa.select(skills.c.id, skills.c.user_id).where(rows.own(skills, principal))
    holders = {row.id: row.user_id for row in connection.execute(query)}
    if values:
        held = [each | {"user_id": holders[each["skill_id"]]} for each in values]
        connection.execute(practice_sessions.insert(), held)
    added = {name_key(name) for name in new}
    for kept in (skill for skill in command.skills if name_key(skill.name) in added):
        edit_skill(connection, principal, EditSkill(
            by_name[name_key(kept.name)].id, archived=kept.archived, colour=kept.colour, emoji=kept.emoji,
            goal_minutes=kept.goal_minutes, weekly_minutes=kept.weekly_minutes,
        ))  # fmt: skip
    return PracticeImported(imported=len(values), already_there=already, over_a_day=over, new_skills=tuple(new))


def start_timer(connection: sa.Connection, principal: Principal, command: StartTimer, now: datetime) -> TimerStarted:
    """Begin to count.

    Raises:
        PracticeRefused: one runs already, or the name is none.
    """
    running = _running(connection, principal)
    if running is not None:
        raise PracticeRefused(Refusal.TIMER_RUNS, running[0])
    known = rows.find_skill(connection, principal, command.skill)
    name = clean_name(command.skill) if known is None else known.name
    values = {"tenant_id": principal.tenant, "user_id": principal.user_id, "skill": name, "started_at": now}
    connection.execute(practice_timers.insert(), values)
    return TimerStarted(timer_skill=name, timer_emoji=emoji_for(name) if known is None else known.emoji)


def stop_timer(
    connection: sa.Connection, principal: Principal, command: StopTimer, now: datetime
) -> tuple[str, int, date]:
    """End the clock: the skill, the minutes, and the date on which it was started.

    Raises:
        PracticeRefused: none runs, or it ran so long that it was forgotten and nobody says how long it really was.
    """
    running = _running(connection, principal)
    if running is None:
        raise PracticeRefused(Refusal.NO_TIMER)
    skill, started_at = running
    counted = max(round((now - started_at).total_seconds() / 60), 1)
    if counted > MAX_TIMER_MINUTES and command.minutes is None and not command.discards:
        raise PracticeRefused(Refusal.TIMER_LONG, str(counted // 60))
    this = practice_timers.c.started_at == started_at
    connection.execute(sa.delete(practice_timers).where(rows.own(practice_timers, principal), this))
    return skill, command.minutes or counted, local_date(started_at, principal.timezone)


def forget_practice(connection: sa.Connection, principal: Principal, now: datetime) -> PracticeForgotten:
    """Delete all rows of the person, with a record that it was done."""
    for table in (weekly_plans, reminders, practice_settings, practice_timers, practice_effects):
        connection.execute(sa.delete(table).where(rows.own(table, principal)))
    undone = sa.and_(rows.own(practice_sessions, principal), practice_sessions.c.undone_at.is_not(None))
    connection.execute(sa.delete(practice_sessions).where(undone))  # the person does not know them any more
    sessions = connection.execute(sa.delete(practice_sessions).where(rows.own(practice_sessions, principal))).rowcount
    gone = connection.execute(sa.delete(skills).where(rows.own(skills, principal))).rowcount
    who, what = principal.user_id, f"{sessions} entries, {gone} skills"
    people.record(connection, principal.tenant, AuditRow(now, who, "practice_forgotten", who, what))
    return PracticeForgotten(sessions_deleted=sessions, skills_deleted=gone)


def _running(connection: sa.Connection, principal: Principal) -> tuple[str, datetime] | None:
    query = sa.select(practice_timers.c.skill, practice_timers.c.started_at).where(rows.own(practice_timers, principal))
    row = connection.execute(query.order_by(rows.own_first(practice_timers, principal))).first()
    return None if row is None else (row.skill, row.started_at)
