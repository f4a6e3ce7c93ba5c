"""What every store promises of reminders, a practice clock, imports and forgetting."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from agent.coach.practice import PracticeRefused, PracticeSession, Refusal, Result
from agent.coach.practice_file import FileRow
from agent.coach.reminders import EVERY_DAY
from agent.ports import Change, LocalEffect, Principal
from channels.messages import Address, ChatKind
from gateway.coach import reminder_rows, writer
from gateway.coach.practice import StoredPractice
from gateway.coach.tables import PRACTICE_TABLES
from gateway.ops.scheduler import DueEvent
from gateway.store import inbox
from gateway.store.agent_tables import bring_up
from gateway.store.engine import Store
from gateway.store.inbox import NewRow
from tests.fakes.people import message
from tests.fakes.practice_reader import ANA, BEA, NOW, TODAY, add_people

KEY = "agent:coach:telegram:main:direct:42"
SEVEN = datetime(2026, 3, 4, 19, 0, tzinfo=UTC)
DAY = timedelta(days=1)


class World:
    """Two people over one store; each asks from a direct chat of their own unless a test says another kind."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.reader = StoredPractice(store)
        self.asked = 0

    async def change(
        self, effect: LocalEffect, who: Principal = ANA, now: datetime = NOW, kind: ChatKind = ChatKind.DIRECT
    ) -> Result:
        """Make one change that an event of the inbox asked for; its result, or the data of its refusal."""
        self.asked += 1
        event = replace(message(), event_id=f"msg:{self.asked}", kind=kind)
        row = await self.store.commit(lambda c: inbox.admit(c, NewRow(event, who.user_id, KEY), now))
        try:
            return await self.apply(effect, f"inbox:{row}/0", who, now)
        except PracticeRefused as refused:
            return dict(refused.data or {})

    async def apply(self, effect: LocalEffect, key: str, who: Principal = ANA, now: datetime = NOW) -> Any:
        """Make one change by this key."""
        return await self.store.commit(lambda tx: effect.run(Change(tx, who, key, now)))

    async def due(self, now: datetime) -> Sequence[DueEvent]:
        """What is taken now."""
        return await self.store.commit(lambda c: reminder_rows.take_due(c, now))

    async def next_at(self, now: datetime = NOW) -> datetime | None:
        """When something is to be taken."""
        return await self.store.read(lambda c: reminder_rows.next_due_at(c, now))


@pytest.fixture
async def world(store: Store) -> World:
    """Ana and Bea, who have done nothing yet."""
    await store.commit(bring_up, agent="coach", tables=PRACTICE_TABLES)
    await store.commit(lambda connection: add_people(connection, ANA, BEA))
    return World(store)


class TestReminders:
    async def test_a_slot_is_taken_once_and_the_next_one_is_kept(self, world: World) -> None:
        """Instants come back in UTC, dates as dates; the event says whom, where and which slot."""
        made = await world.change(LocalEffect(writer.set_reminder, time(19), EVERY_DAY, None, "guitarra"))
        assert TODAY.isoformat() == made["next_day"]
        assert await world.next_at() == SEVEN
        assert [] == await world.due(SEVEN - timedelta(microseconds=1))
        (event,) = await world.due(SEVEN)
        assert (ANA.tenant, ANA.user_id, KEY) == (event.tenant, event.user_id, event.session_key)
        assert isinstance(event.address, Address)
        assert f"reminder:{made['reminder_id']}:2026-03-04" == event.event_id
        assert [] == await world.due(SEVEN)
        assert await world.next_at() == SEVEN + DAY
        (kept,) = await world.reader.reminders(ANA)
        assert (time(19), EVERY_DAY, None, "guitarra", SEVEN + DAY) == (
            kept.at, kept.weekdays, kept.day, kept.about, kept.next_at,
        )  # fmt: skip
        assert () == await world.reader.reminders(BEA)

    async def test_only_ones_own_is_taken_away(self, world: World) -> None:
        """By its id, or all; a group is no place for one."""
        made = await world.change(LocalEffect(writer.set_reminder, time(19), EVERY_DAY, None, ""))
        refused = await world.change(LocalEffect(writer.cancel_reminders, made["reminder_id"]), BEA)
        assert Refusal.UNKNOWN_REMINDER == refused["refused"]
        assert {"change": "reminders_cancelled", "count": 0} == await world.change(
            LocalEffect(writer.cancel_reminders), BEA
        )
        group = await world.change(LocalEffect(writer.set_reminder, time(19), EVERY_DAY, None, ""), kind=ChatKind.GROUP)
        assert Refusal.ONLY_DIRECT == group["refused"]
        assert {"change": "reminders_cancelled", "count": 1} == await world.change(LocalEffect(writer.cancel_reminders))


class TestTimer:
    async def test_a_clock_counts_between_two_commits(self, world: World) -> None:
        """One a person; its entry is of the day it was started on."""
        assert "timer_started" == (await world.change(LocalEffect(writer.start_timer, "guitarra")))["change"]
        assert Refusal.TIMER_RUNS == (await world.change(LocalEffect(writer.start_timer, "piano")))["refused"]
        assert Refusal.NO_TIMER == (await world.change(LocalEffect(writer.stop_timer), BEA))["refused"]
        done = await world.change(
            LocalEffect(writer.stop_timer, None, "arpegios"), now=NOW + timedelta(minutes=41, seconds=40)
        )
        assert "logged" == done["change"]
        (entry,) = await world.reader.sessions(ANA)
        assert (42, TODAY, "arpegios") == (entry.minutes, entry.day, entry.notes)
        assert Refusal.NO_TIMER == (await world.change(LocalEffect(writer.stop_timer)))["refused"]


ROWS = (
    FileRow(TODAY - DAY, "Guitarra", 30, "escalas, ñandú 🎸"),
    FileRow(TODAY, "Francés", 60, ""),
    FileRow(TODAY, "Francés", 60, ""),
    FileRow(TODAY, "Sueño", 1430, ""),
)


def counts(result: Result) -> tuple[int, int, int, list[str]]:
    """What became of a file."""
    return result["imported"], result["already_there"], result["over_a_day"], result["new_skills"]


class TestImports:
    async def test_what_is_there_or_fits_no_day_is_left_out(self, world: World) -> None:
        """The same file again adds nothing."""
        await world.change(LocalEffect(writer.log, "guitarra", 30, TODAY - DAY, "escalas, ñandú 🎸"))
        first = await world.apply(LocalEffect(writer.import_entries, ROWS), "inbox:900/0")
        assert (2, 1, 1, ["Francés"]) == counts(first)
        again = await world.apply(LocalEffect(writer.import_entries, ROWS), "inbox:901/0")
        assert (0, 3, 1, []) == counts(again)
        assert [30, 60, 60] == sorted(entry.minutes for entry in await world.reader.sessions(ANA))
        assert () == await world.reader.sessions(BEA)


class TestForgetting:
    async def test_all_of_one_person_goes_and_nothing_of_another(self, world: World) -> None:
        """Entries, skills, reminders, and the clock that runs; what was taken back is not counted again."""
        kept: tuple[PracticeSession, ...] = ()
        for who in (ANA, BEA):
            await world.change(LocalEffect(writer.log, "guitarra", 30, TODAY), who)
            await world.change(LocalEffect(writer.log, "guitarra", 5, TODAY), who)
            await world.change(LocalEffect(writer.undo_last_log), who)
            await world.change(LocalEffect(writer.set_reminder, time(19), EVERY_DAY, None, ""), who)
            await world.change(LocalEffect(writer.start_timer, "guitarra"), who)
            kept = await world.reader.sessions(who)
        forgotten = await world.change(LocalEffect(writer.forget_practice))
        assert (1, 1) == (forgotten["sessions_deleted"], forgotten["skills_deleted"])
        assert () == await world.reader.skills(ANA, include_archived=True)
        assert () == await world.reader.reminders(ANA)
        assert Refusal.NO_TIMER == (await world.change(LocalEffect(writer.stop_timer)))["refused"]
        assert kept == await world.reader.sessions(BEA)
        assert 1 == len(await world.reader.reminders(BEA))
