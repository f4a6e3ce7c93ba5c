"""What somebody practised goes with them when two users become one, and back when they are two again.

A skill that both have is one: of who joins it is put away, and its sessions count for the other's of that name.
"""

import sqlalchemy as sa

from gateway.coach.tables import metadata, practice_sessions, skills
from gateway.store.links import Joining, move_rows, moved_rows, return_rows
from gateway.store.tables.base import new_id
from gateway.store.tables.people import link_moves

_OTHERS = [table for table in metadata.sorted_tables if table not in (skills, practice_sessions)]


def join_practice(connection: sa.Connection, joining: Joining) -> None:
    """Give who stays what who joins has."""
    move_rows(connection, joining, skills)
    move_rows(connection, joining, practice_sessions, practice_sessions.c.skill_id)
    ours = skills.alias()
    same = (
        sa.select(skills.c.id, ours.c.id.label("ours"))
        .join(ours, sa.and_(ours.c.name_key == skills.c.name_key, ours.c.tenant_id == skills.c.tenant_id))
        .where(skills.c.user_id == joining.joins, ours.c.user_id == joining.stays)
    )
    for row in connection.execute(same).all():
        of_skill = (practice_sessions.c.user_id == joining.stays, practice_sessions.c.skill_id == row.id)
        connection.execute(sa.update(practice_sessions).where(*of_skill).values(skill_id=row.ours))
    for table in _OTHERS:
        move_rows(connection, joining, table)


def part_practice(connection: sa.Connection, joining: Joining) -> None:
    """Give back what came from them. What was done since stays, in a skill of its own where theirs goes."""
    return_rows(connection, joining, skills)
    moved = practice_sessions.c.id.in_(moved_rows(joining, practice_sessions))
    of_stays, theirs = practice_sessions.c.user_id == joining.stays, skills.c.user_id == joining.joins
    went = sa.select(link_moves.c.was).where(
        link_moves.c.link_id == joining.link_id, link_moves.c.kind == practice_sessions.name
    )
    back = sa.select(skills.c.id).where(theirs, skills.c.id.in_(went))
    for skill_id in connection.execute(back).scalars().all():
        from_it = went.with_only_columns(link_moves.c.row).where(link_moves.c.was == skill_id)
        again = sa.update(practice_sessions).where(of_stays, practice_sessions.c.id.in_(from_it))
        connection.execute(again.values(user_id=joining.joins, skill_id=skill_id))
    since = sa.select(practice_sessions.c.skill_id).where(of_stays, ~moved)
    for skill in connection.execute(sa.select(skills).where(theirs, skills.c.id.in_(since))).mappings().all():
        copied = new_id()
        connection.execute(sa.insert(skills), {**skill, "id": copied, "user_id": joining.stays})
        stay = sa.update(practice_sessions).where(of_stays, practice_sessions.c.skill_id == skill["id"])
        connection.execute(stay.values(skill_id=copied))
    for table in _OTHERS:
        return_rows(connection, joining, table)
