"""People who practise and are linked, over a connection."""

from collections import Counter

import sqlalchemy as sa

from channels.messages import Address
from gateway.access.linking import Side
from gateway.coach.tables import PRACTICE_TABLES, practice_sessions, skills
from gateway.store import schema
from gateway.store.agent_tables import bring_up
from gateway.store.people import Person
from gateway.store.tables.base import new_id
from tests.fakes.people import NOON


def with_practice(connection: sa.Connection) -> None:
    """Every table, the coach's too."""
    schema.create(connection)
    bring_up(connection, "coach", PRACTICE_TABLES)


def side_of(person: Person, sender: str) -> Side:
    """Somebody in their direct chat."""
    return Side(person.user_id, sender, Address(sender.partition(":")[0], "main", sender))


def log_practice(connection: sa.Connection, user_id: str, skill: str, length: int) -> None:
    """A session, in the skill of this name."""
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


def practised(connection: sa.Connection) -> Counter[tuple[str, str]]:
    """Minutes by user and name of skill; a session in another's skill is nobody's."""
    own = sa.and_(skills.c.id == practice_sessions.c.skill_id, skills.c.user_id == practice_sessions.c.user_id)
    found = sa.select(practice_sessions.c.user_id, skills.c.name, practice_sessions.c.minutes).join(skills, own)
    total: Counter[tuple[str, str]] = Counter()
    for user_id, skill, length in connection.execute(found):
        total[user_id, skill] += length
    return total
