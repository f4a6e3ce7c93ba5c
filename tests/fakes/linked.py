"""Linked people who practise, over a connection."""

from collections import Counter

import sqlalchemy as sa

from agent.ports import Principal
from channels.messages import Address
from gateway.access import linking
from gateway.access.codes import code_of
from gateway.access.linking import Linked, Side
from gateway.coach import practice_rows as rows
from gateway.coach.tables import PRACTICE_TABLES, practice_sessions, skills
from gateway.store import schema
from gateway.store.agent_tables import bring_up
from gateway.store.people import Person
from gateway.store.tables.base import new_id
from tests.fakes.people import KEY, NOON


def with_practice(connection: sa.Connection) -> None:
    """Return a connection to a database with every table, the coach's too."""
    schema.create(connection)
    bring_up(connection, "coach", PRACTICE_TABLES)


def side_of(person: Person, sender: str) -> Side:
    return Side(person.user_id, sender, Address(sender.partition(":")[0], "main", sender))


def log_practice(connection: sa.Connection, user_id: str, skill: str, length: int) -> None:
    mine = sa.select(skills.c.id).where(skills.c.user_id == user_id, skills.c.name_key == skill)
    skill_id = connection.execute(mine).scalar()
    if skill_id is None:
        skill_id = new_id()
        row = {"id": skill_id, "name": skill, "name_key": skill, "emoji": "", "colour": "", "goal_minutes": 1}
        row |= {"tenant_id": "default", "user_id": user_id, "archived": False, "created_at": NOON}
        connection.execute(sa.insert(skills), row)
    row = {"id": new_id(), "tenant_id": "default", "user_id": user_id, "skill_id": skill_id, "minutes": length}
    row |= {"local_date": NOON.date(), "zone": "UTC", "notes": "", "effect_key": new_id(), "created_at": NOON}
    connection.execute(sa.insert(practice_sessions), row)


def link(connection: sa.Connection, stays: Person, joins: Person) -> str:
    """Confirm the link on both sides; return its id."""
    made = linking.offer(connection, "default", side_of(stays, min(stays.identities)), NOON)
    code, side = code_of(KEY, made.id), side_of(joins, min(joins.identities))
    linking.give(connection, KEY, "default", code, side, NOON)
    linking.agree(connection, made.id, joins.user_id, NOON)
    assert isinstance(linking.connect(connection, made.id, stays.user_id, NOON), Linked)
    return made.id


def practised(connection: sa.Connection, user_id: str) -> Counter[str]:
    """Return a person's minutes by the name of the skill."""
    total: Counter[str] = Counter()
    for skill in rows.all_skills(connection, Principal(user_id, "default"), include_archived=True):
        total[skill.name] += skill.total_minutes
    return total
