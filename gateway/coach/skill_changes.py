"""Changes of a person's skills and goals, over a connection; each raises before it writes anything."""

import re
from datetime import datetime

import sqlalchemy as sa

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
from agent.ports import Principal
from agent.wellformed import clean
from gateway.coach import practice_rows as rows
from gateway.coach.tables import practice_sessions, practice_settings, skills
from gateway.store.dialect import insert_new, upsert
from gateway.store.tables.base import new_id

_COLOUR = re.compile(r"#[0-9a-f]{6}")
EMOJI_CHARS = 16


def edit(connection: sa.Connection, principal: Principal, command: EditSkill) -> SkillEdited:
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


def merge(connection: sa.Connection, principal: Principal, command: MergeSkills) -> SkillsMerged:
    """Give all sessions of one skill to another, undone ones too; the first is no more.

    Raises:
        PracticeRefused: one of them is not there, or both are the same.
    """
    gone, stays = _find(connection, principal, command.skill), _find(connection, principal, command.into)
    if gone.id == stays.id:
        raise PracticeRefused(Refusal.SAME_SKILL, stays.name)
    of_gone = sa.and_(rows.own(practice_sessions, principal), practice_sessions.c.skill_id == gone.id)
    connection.execute(sa.update(practice_sessions).where(of_gone).values(skill_id=stays.id))
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
