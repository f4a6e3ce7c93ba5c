"""Schedules in a store, as a person has asked for them."""

import json

import sqlalchemy as sa

from agent.schedules.missed import Missed
from agent.schedules.rules import Rule, dump_rule, next_slot
from channels.messages import Address
from gateway.store import schedules
from gateway.store.schedules import SCHEDULES, StoredSchedule
from gateway.store.tables.base import new_id
from tests.fakes.people import NOON

CHAT = Address("telegram", "main", "1")
KEY = "agent:coach:telegram:main:direct:1"


def add_schedule(connection: sa.Connection, user_id: str, rule: Rule, missed: Missed = Missed.ONCE) -> StoredSchedule:
    """Keep a schedule that says the news; return it."""
    slot = next_slot(rule, "UTC", NOON)
    assert slot is not None, "the rule has a slot"
    row = StoredSchedule(
        id=new_id(),
        tenant="default",
        user_id=user_id,
        agent="coach",
        name="news",
        prompt="Say the news.",
        rule=dump_rule(rule),
        missed=missed,
        address=json.dumps(schedules.to_json(CHAT)),
        session_key=KEY,
        zone="UTC",
        next_at=slot.at,
        next_wall=schedules.to_wall_text(slot.wall),
        created_at=NOON,
    )
    SCHEDULES.add(connection, row)
    return row
