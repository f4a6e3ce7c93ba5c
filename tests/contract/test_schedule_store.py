"""Rows of schedules, the same on every engine."""

import asyncio
from dataclasses import replace
from datetime import date, datetime, time, timedelta

import pytest
import sqlalchemy as sa

from agent.ports import Principal
from agent.schedules.missed import Missed
from agent.schedules.rules import Cron, Daily, Every, Once, Rule
from agent.transcript import EndReason
from gateway.ops.scheduler import PEOPLES, take_due
from gateway.store import outbox, people, schedules
from gateway.store.engine import Store
from gateway.store.erasure import ERASURES, Erasure, Extent, Progress, erase, of_person
from gateway.store.people import Newcomer, set_timezone
from gateway.store.schedules import SCHEDULES, Pause, StoredSchedule
from gateway.store.tables.base import new_id
from gateway.store.tables.traffic import inbox
from tests.contract.stores import StoreCase
from tests.fakes.people import NOON, minutes
from tests.fakes.schedules import CHAT, add_schedule

HOURLY = Cron(expression="0 * * * *")


async def enrol(store: Store, sender: str = "telegram:1") -> str:
    known = await store.commit(people.enrol, Newcomer("default", sender, "", sender, "member", "cli"), NOON)
    return known.user_id


async def plan(store: Store, user_id: str, rule: Rule = HOURLY, missed: Missed = Missed.ONCE) -> StoredSchedule:
    return await store.commit(add_schedule, user_id, rule, missed)


async def look(store: Store, now: datetime) -> None:
    await take_due(store, PEOPLES, lambda: now, lambda: now)


async def admitted(store: Store) -> list[str]:
    """Return the slots of the events in the inbox."""
    query = sa.select(inbox.c.event_id).where(inbox.c.event_id.startswith("schedule")).order_by(inbox.c.id)
    found = await store.read(lambda connection: list(connection.execute(query).scalars()))
    return [each.rpartition(":")[2] for each in found]


async def only(store: Store) -> StoredSchedule:
    (row,) = await store.read(SCHEDULES.find)
    return row


async def test_each_slot_is_admitted_once_by_whichever_process_looks_first(case: StoreCase, store: Store) -> None:
    other = await case.open()
    await plan(store, await enrol(store))
    for hour in range(1, 6):
        now = NOON + timedelta(hours=hour)
        async with asyncio.TaskGroup() as processes:
            for each in (store, other, store, other):
                processes.create_task(look(each, now))
    await other.aclose()
    assert [f"20260302T{hour}00Z" for hour in range(13, 18)] == await admitted(store)


@pytest.mark.parametrize(
    ("missed", "slots"),
    [
        (Missed.SKIP, []),
        (Missed.ONCE, ["20260303T1500Z"]),
        (Missed.RECENT, ["20260303T1500Z"]),
        (Missed.ALL, [f"20260303T{hour:02}00Z" for hour in range(6, 16)]),
    ],
)
async def test_missed_slots_follow_the_policy(store: Store, missed: Missed, slots: list[str]) -> None:
    await plan(store, await enrol(store), missed=missed)
    await look(store, NOON + timedelta(days=1, hours=3, minutes=20))
    assert slots == await admitted(store)
    assert datetime(2026, 3, 3, 16, tzinfo=NOON.tzinfo) == (await only(store)).next_at


async def test_a_clock_that_jumps_a_day_and_back_repeats_nothing(store: Store) -> None:
    await plan(store, await enrol(store), Daily(at=time(13)))
    for hours in (1, 25, 1, 2, 25, 26, 49):
        await look(store, NOON + timedelta(hours=hours))
    assert ["20260302T1300Z", "20260303T1300Z", "20260304T1300Z"] == await admitted(store)


async def test_one_for_a_single_time_is_gone_with_it_however_late(store: Store) -> None:
    await plan(store, await enrol(store), Once(day=date(2026, 3, 2), at=time(13)), Missed.SKIP)
    await look(store, NOON + timedelta(days=30))
    assert ["20260302T1300Z"] == await admitted(store)
    assert [] == await store.read(SCHEDULES.find)


async def test_a_chat_that_nothing_reaches_costs_no_turn_until_its_person_is_back(store: Store) -> None:
    await plan(store, await enrol(store))
    await store.commit(outbox.park, "default", CHAT.lane, "blocked", NOON)
    await look(store, NOON + minutes(60))
    assert [] == await admitted(store)
    await store.commit(outbox.unpark, CHAT.lane)
    await look(store, NOON + minutes(120))
    assert ["20260302T1400Z"] == await admitted(store)


async def test_it_follows_its_person_to_another_zone(store: Store) -> None:
    ann = await enrol(store)
    await plan(store, ann, Cron(expression="0 13 * * *"))
    await look(store, NOON + minutes(60))
    await store.commit(set_timezone, ann, "America/New_York")
    await look(store, NOON + minutes(61))
    moved = await only(store)
    assert ("America/New_York", "2026-03-03T13:00") == (moved.zone, moved.next_wall)
    assert 1 == len(await admitted(store))


async def test_three_failures_in_a_row_pause_it_and_tell_once(store: Store) -> None:
    row = await plan(store, await enrol(store))

    async def ends(reason: EndReason, hour: int) -> StoredSchedule:
        await look(store, NOON + timedelta(hours=hour))
        newest = sa.select(sa.func.max(inbox.c.id))
        claim = sa.update(inbox).where(inbox.c.id == newest.scalar_subquery()).values(turn_id=f"turn-{hour}")
        await store.commit(lambda connection: connection.execute(claim) and None)
        await store.commit(schedules.note_end, f"turn-{hour}", reason, NOON)
        return await only(store)

    failing = EndReason.MODEL_ERROR, EndReason.TIMEOUT, EndReason.COMPLETED, EndReason.MODEL_ERROR, EndReason.STOPPED
    counts = [(await ends(reason, hour)).failures for hour, reason in enumerate(failing, 1)]
    assert [1, 2, 0, 1, 1] == counts
    await ends(EndReason.MAX_STEPS, 6)
    assert Pause.FAILURES is (await ends(EndReason.MODEL_ERROR, 7)).paused
    await store.commit(schedules.note_end, "turn-7", EndReason.MODEL_ERROR, NOON)
    told = sa.select(sa.func.count()).where(inbox.c.event_id.startswith("schedule_paused:"))
    assert 1 == await store.read(lambda connection: connection.execute(told).scalar_one())
    await look(store, NOON + timedelta(hours=9))
    assert 8 == len(await admitted(store))  # with the news
    assert await store.commit(schedules.set_pause, await only(store), Pause.NO, NOON + timedelta(hours=10))
    assert (Pause.NO, 0, row.id) == ((resumed := await only(store)).paused, resumed.failures, resumed.id)


async def test_slots_that_are_refused_three_times_pause_it(store: Store) -> None:
    row = await plan(store, await enrol(store))
    for _ in range(3):
        await store.commit(schedules.note_refused, f"schedule:{row.id}:20260302T1300Z", NOON)
    await store.commit(schedules.note_refused, "msg:1:1", NOON)
    assert (Pause.FAILURES, 3) == ((kept := await only(store)).paused, kept.failures)


async def test_linked_users_share_their_schedules_and_part_with_their_own(store: Store) -> None:
    ann, phone = await enrol(store), await enrol(store, "web:2")
    await plan(store, phone)
    who = Principal(ann, "default")
    assert [] == await store.read(lambda tx: schedules.list_prompts(tx, who))
    await store.commit(people.join, phone, ann)
    assert 1 == len(await store.read(lambda tx: schedules.list_prompts(tx, who)))
    await look(store, NOON + minutes(60))
    owner = sa.select(inbox.c.user_id).where(inbox.c.event_id.startswith("schedule"))
    assert ann == await store.read(lambda connection: connection.execute(owner).scalar_one())
    await store.commit(people.part, phone)
    assert [] == await store.read(lambda tx: schedules.list_prompts(tx, who))


async def test_an_erasure_takes_the_schedules_and_an_export_has_them(store: Store) -> None:
    store = store.of("default")
    ann, bob = await enrol(store), await enrol(store, "telegram:2")
    for user_id in (ann, bob):
        await plan(store, user_id)
    exported = (await store.read(lambda tx: of_person(tx, ann)))["schedules"]
    assert isinstance(exported, list)
    assert ["Say the news."] == [row["prompt"] for row in exported if isinstance(row, dict)]
    erasure = Erasure(new_id(), "default", ann, Extent.EVERYTHING, (), (), (), 0, NOON)
    await store.commit(ERASURES.add, erasure)
    assert Progress.DONE is await store.commit(erase, erasure, NOON)
    assert [bob] == [row.user_id for row in await store.read(SCHEDULES.find)]


async def test_a_heartbeat_and_a_schedule_start_turns_of_their_kinds_with_the_prompt_as_data(store: Store) -> None:
    ann = await enrol(store)
    await plan(store, ann)
    await plan(store, ann, Every(minutes=60))
    due = await store.commit(schedules.take_due, NOON + minutes(61))
    assert {"scheduled", "heartbeat"} == {event.turn for event in due}
    assert {"Say the news."} == {event.data for event in due}
    assert ["NOTHING_TO_SAY" in event.arguments for event in due if event.turn == "heartbeat"] == [True]
    assert not any("Say the news" in event.arguments for event in due)


async def test_schedules_of_other_people_and_commands_are_not_listed(store: Store) -> None:
    ann, bob = await enrol(store), await enrol(store, "telegram:2")
    row = await plan(store, bob)
    await store.commit(SCHEDULES.add, replace(row, id=new_id(), user_id=ann, command="reminder"))
    assert [] == await store.read(lambda tx: schedules.list_prompts(tx, Principal(ann, "default")))
