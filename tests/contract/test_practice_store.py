"""Practice data on every store: changes applied once a key, for their own person only."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest

from agent.coach.plan_conditions import NO_CONDITIONS, PlanConditions
from agent.coach.practice import (
    DayTotal,
    Insight,
    InsightType,
    PracticeRefused,
    PracticeSession,
    Refusal,
    Result,
    SkillEdit,
    WeeklyPlan,
)
from agent.coach.practice_file import FileRow
from agent.ports import Change, LocalEffect, Principal
from agent.schedules.rules import EVERY_DAY
from channels.messages import Address, ChatKind
from gateway.coach import writer
from gateway.coach.practice import StoredPractice
from gateway.coach.tables import PRACTICE_TABLES
from gateway.store import inbox, schedules
from gateway.store.agent_tables import bring_up
from gateway.store.engine import Store
from gateway.store.inbox import NewRow
from gateway.store.schedules import DueEvent
from tests.fakes.people import message
from tests.fakes.practice_reader import ANA, BEA, NOW, TODAY, add_people

KEY = "agent:coach:telegram:main:direct:42"
SEVEN = datetime(2026, 3, 4, 19, 0, tzinfo=UTC)
DAY = timedelta(days=1)


class World:
    """Two people over one store; each asks from a direct chat unless a test says otherwise."""

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
        return await self.store.commit(lambda c: schedules.take_due(c, now))

    async def next_at(self, now: datetime = NOW) -> datetime | None:
        return await self.store.read(lambda c: schedules.next_due_at(c, now))


@pytest.fixture
async def world(store: Store) -> World:
    await store.commit(bring_up, agent="coach", tables=PRACTICE_TABLES)
    await store.commit(lambda connection: add_people(connection, ANA, BEA))
    return World(store)


class TestReminders:
    async def test_a_slot_is_taken_once_and_the_next_one_is_kept(self, world: World) -> None:
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
            kept.at,
            kept.weekdays,
            kept.day,
            kept.about,
            kept.next_at,
        )
        assert () == await world.reader.reminders(BEA)

    async def test_only_ones_own_is_taken_away(self, world: World) -> None:
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
    return result["imported"], result["already_there"], result["over_a_day"], result["new_skills"]


class TestImports:
    async def test_what_is_there_or_fits_no_day_is_left_out(self, world: World) -> None:
        await world.change(LocalEffect(writer.log, "guitarra", 30, TODAY - DAY, "escalas, ñandú 🎸"))
        first = await world.apply(LocalEffect(writer.import_entries, ROWS), "inbox:900/0")
        assert (2, 1, 1, ["Francés"]) == counts(first)
        again = await world.apply(LocalEffect(writer.import_entries, ROWS), "inbox:901/0")
        assert (0, 3, 1, []) == counts(again)
        assert [30, 60, 60] == sorted(entry.minutes for entry in await world.reader.sessions(ANA))
        assert () == await world.reader.sessions(BEA)


class TestForgetting:
    async def test_all_of_one_person_goes_and_nothing_of_another(self, world: World) -> None:
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


ELSEWHERE = Principal("u3", "t2", "Ana")
YESTERDAY = TODAY - timedelta(days=1)


@dataclass
class Ledger:
    store: Store
    now: datetime = NOW
    keys: int = field(default=0)

    async def change(self, effect: LocalEffect, who: Principal = ANA, key: str | None = None) -> Result:
        """Make one change; its result, or the data of its refusal."""
        return await self._write(effect.run, who, key)

    async def once(self, effect: LocalEffect, key: str, who: Principal = ANA) -> Result:
        """Make one change as a request of the API does."""
        return await self._write(lambda change: writer.once(change, effect), who, key)

    async def _write(self, run: Callable[[Change], Any], who: Principal, key: str | None) -> Result:
        self.keys += 1
        self.now += timedelta(seconds=1)
        used, now = key or f"turn/{self.keys}/0", self.now
        try:
            return await self.store.commit(lambda tx: run(Change(tx, who, used, now)))
        except PracticeRefused as refused:
            return dict(refused.data or {})

    async def log(self, skill: str, minutes: int, day: date = TODAY, who: Principal = ANA, key: str | None = None):
        """Log practice."""
        return await self.change(LocalEffect(writer.log, skill, minutes, day), who, key)


@pytest.fixture
async def ledger(store: Store) -> Ledger:
    await store.commit(bring_up, agent="coach", tables=PRACTICE_TABLES)
    await store.commit(lambda connection: add_people(connection, ANA, BEA, ELSEWHERE))
    return Ledger(store)


@pytest.fixture
def reader(store: Store) -> StoredPractice:
    return StoredPractice(store)


async def totals(reader: StoredPractice, who: Principal = ANA) -> dict[str, int]:
    return {skill.name: skill.total_minutes for skill in await reader.skills(who, include_archived=True)}


class TestOnce:
    @pytest.mark.parametrize(
        "effect",
        [
            LocalEffect(writer.log, "Guitar", 45, TODAY, "scales"),
            LocalEffect(writer.create_skill, "Piano"),
            LocalEffect(writer.undo_last_log),
            LocalEffect(writer.edit_session, None, 60),
            LocalEffect(writer.save_plan, WeeklyPlan(TODAY, "# Plan")),
        ],
    )
    async def test_a_repeated_request_changes_nothing(self, ledger: Ledger, reader: StoredPractice, effect):
        await ledger.log("Guitar", 10)
        await ledger.log("Guitar", 20)
        first = await ledger.once(effect, "api:1")
        after = await totals(reader)
        assert first == await ledger.once(effect, "api:1")
        assert after == await totals(reader)
        await ledger.log("Guitar", 30)
        assert first == await ledger.once(effect, "api:1")

    async def test_the_same_key_of_another_person_is_another(self, ledger: Ledger):
        await ledger.once(LocalEffect(writer.create_skill, "Guitar"), "api:1", ANA)
        result = await ledger.once(LocalEffect(writer.create_skill, "Piano"), "api:1", BEA)
        assert "Piano" == result["skill"]


BREAKS_A_RULE = [
    (LocalEffect(writer.log, "Guitar", 0, TODAY), "zero"),
    (LocalEffect(writer.log, "Guitar", 1441, TODAY), "too_long"),
    (LocalEffect(writer.log, "Guitar", 30, TODAY + timedelta(days=1)), "future"),
    (LocalEffect(writer.log, "Guitar", 1411, TODAY), "day_full"),
    (LocalEffect(writer.log, "🎸", 30, TODAY), "no_name"),
    (LocalEffect(writer.log, "g" * 65, 30, TODAY), "name_too_long"),
    (LocalEffect(writer.create_skill, "Piano", goal_minutes=0), "bad_goal"),
    (LocalEffect(writer.edit_session, "no such session", 30), "unknown_session"),
    (LocalEffect(writer.edit_session, None, 1441), "too_long"),
    (LocalEffect(writer.edit_skill, "Violin", SkillEdit(archived=True)), "unknown_skill"),
]


class TestLogging:
    async def test_a_log_tells_the_new_total(self, ledger: Ledger):
        await ledger.log("Guitar", 30)
        result = await ledger.change(LocalEffect(writer.log, "guitar", 45, YESTERDAY, "scales\x00"))
        assert ("Guitar", 45, YESTERDAY.isoformat(), "scales", 75, False) == (
            result["skill"],
            result["minutes"],
            result["date"],
            result["notes"],
            result["total_minutes"],
            result["created_skill"],
        )

    async def test_an_unknown_skill_is_created_with_it(self, ledger: Ledger, reader: StoredPractice):
        assert (await ledger.log("Bass Guitar", 45))["created_skill"]
        assert [("Bass Guitar", "🎸", 600_000)] == [
            (skill.name, skill.emoji, skill.goal_minutes) for skill in await reader.skills(ANA)
        ]

    async def test_an_archived_skill_comes_back(self, ledger: Ledger, reader: StoredPractice):
        await ledger.log("Guitar", 30)
        await ledger.change(LocalEffect(writer.edit_skill, "Guitar", SkillEdit(archived=True)))
        assert () == await reader.skills(ANA)
        result = await ledger.log("GUITAR", 15)
        assert (True, False, 45) == (result["brought_back"], result["created_skill"], result["total_minutes"])

    async def test_what_breaks_a_rule_changes_nothing(self, ledger: Ledger, reader: StoredPractice):
        await ledger.log("Guitar", 30)
        answers = [(await ledger.change(command))["refused"] for command, _ in BREAKS_A_RULE]
        assert [refused for _, refused in BREAKS_A_RULE] == answers
        assert {"Guitar": 30} == await totals(reader)

    async def test_a_future_day_is_that_of_the_persons_zone(self, ledger: Ledger):
        tomorrow = LocalEffect(writer.log, "Guitar", 30, TODAY + timedelta(days=1))
        changed = await ledger.change(tomorrow, replace(ANA, timezone="Pacific/Kiritimati"))
        assert (TODAY + timedelta(days=1)).isoformat() == changed["date"]

    async def test_sql_in_words_is_words(self, ledger: Ledger, reader: StoredPractice):
        """Cover A50."""
        name = "x'); DROP TABLE skills; --"
        await ledger.change(LocalEffect(writer.log, name, 30, TODAY, "' OR 1=1"))
        assert {name: 30} == await totals(reader)
        assert "' OR 1=1" == (await reader.sessions(ANA))[0].notes


class TestUndo:
    async def test_it_takes_back_the_log_made_last(self, ledger: Ledger, reader: StoredPractice):
        await ledger.log("Guitar", 30, TODAY)
        await ledger.log("Guitar", 45, YESTERDAY)
        first = await ledger.change(LocalEffect(writer.undo_last_log))
        assert (45, 30) == (first["minutes"], first["total_minutes"])
        second = await ledger.change(LocalEffect(writer.undo_last_log))
        assert (30, 0, True) == (second["minutes"], second["total_minutes"], second["archived_skill"])
        assert "nothing_to_undo" == (await ledger.change(LocalEffect(writer.undo_last_log)))["refused"]
        assert () == await reader.sessions(ANA)

    async def test_it_brings_back_what_was_deleted_since(self, ledger: Ledger, reader: StoredPractice):
        oboe = await ledger.log("Oboe", 30)
        await ledger.log("Guitar", 45)
        await ledger.change(LocalEffect(writer.delete_session, oboe["session_id"]))
        back = await ledger.change(LocalEffect(writer.undo_last_log))
        assert ("restored", "Oboe", 30, 30) == tuple(
            back[key] for key in ("change", "skill", "minutes", "total_minutes")
        )
        assert {"Oboe": 30, "Guitar": 45} == await totals(reader)
        undone = [await ledger.change(LocalEffect(writer.undo_last_log)) for _ in range(2)]
        assert [("undone", "Guitar"), ("undone", "Oboe")] == [(each["change"], each["skill"]) for each in undone]

    async def test_a_day_that_was_filled_since_keeps_its_entries(self, ledger: Ledger, reader: StoredPractice):
        gone = await ledger.log("Guitar", 600)
        await ledger.log("Piano", 10)
        await ledger.change(LocalEffect(writer.delete_session, gone["session_id"]))
        await ledger.change(LocalEffect(writer.edit_session, None, 1400))
        assert "day_full" == (await ledger.change(LocalEffect(writer.undo_last_log)))["refused"]
        assert {"Guitar": 0, "Piano": 1400} == await totals(reader)

    async def test_a_skill_of_its_own_stays(self, ledger: Ledger, reader: StoredPractice):
        await ledger.change(LocalEffect(writer.create_skill, "Piano"))
        await ledger.log("Piano", 30)
        assert not (await ledger.change(LocalEffect(writer.undo_last_log)))["archived_skill"]
        assert ["Piano"] == [skill.name for skill in await reader.skills(ANA)]


class TestEditing:
    async def test_the_last_log_is_edited_where_none_is_named(self, ledger: Ledger, reader: StoredPractice):
        await ledger.change(LocalEffect(writer.log, "Guitar", 45, YESTERDAY, "scales"))
        result = await ledger.change(LocalEffect(writer.edit_session, None, 60))
        assert (45, 60, "scales", 60) == (
            result["before_minutes"],
            result["minutes"],
            result["notes"],
            result["total_minutes"],
        )
        (session,) = await reader.sessions(ANA)
        assert (60, YESTERDAY) == (session.minutes, session.day)

    async def test_a_session_can_be_of_another_skill(self, ledger: Ledger, reader: StoredPractice):
        await ledger.log("Guitar", 30)
        await ledger.log("Pinao", 45)
        result = await ledger.change(LocalEffect(writer.edit_session, None, 40, skill="Piano"))
        assert ("Piano", 40, 40) == (result["skill"], result["minutes"], result["total_minutes"])
        assert [("Piano", 40), ("Guitar", 30)] == [(one.name, one.total_minutes) for one in await reader.skills(ANA)]
        result = await ledger.change(LocalEffect(writer.edit_session, None, skill="guitar"))
        assert ("Guitar", 70) == (result["skill"], result["total_minutes"])

    async def test_an_undone_session_cannot_be_edited(self, ledger: Ledger):
        session_id = (await ledger.log("Guitar", 45))["session_id"]
        await ledger.change(LocalEffect(writer.undo_last_log))
        assert "unknown_session" == (await ledger.change(LocalEffect(writer.edit_session, session_id, 60)))["refused"]


class TestPlans:
    async def test_a_new_plan_of_a_week_replaces_the_old(self, ledger: Ledger, reader: StoredPractice):
        insight = Insight(InsightType.STREAK, "Seven days", "in a row")
        await ledger.change(LocalEffect(writer.save_plan, WeeklyPlan(TODAY, "first")))
        await ledger.change(LocalEffect(writer.save_plan, WeeklyPlan(YESTERDAY, "other")))
        result = await ledger.change(LocalEffect(writer.save_plan, WeeklyPlan(TODAY, "second", (insight,))))
        assert result["replaced"]
        kept = await reader.plan(ANA, TODAY)
        assert kept is not None
        assert ("second", (insight,)) == (kept.content, kept.insights)
        assert "other" == getattr(await reader.plan(ANA, YESTERDAY), "content", None)

    async def test_new_conditions_end_the_plans_of_coming_weeks(self, ledger: Ledger, reader: StoredPractice):
        coming, condition = TODAY + timedelta(days=3), PlanConditions((2,))
        for week in (YESTERDAY, coming):
            await ledger.change(LocalEffect(writer.save_plan, WeeklyPlan(week, "plan", conditions=condition)))
        await ledger.change(LocalEffect(writer.set_plan_conditions, condition))
        assert await reader.plan(ANA, coming) is not None
        await ledger.change(LocalEffect(writer.save_plan, WeeklyPlan(YESTERDAY, "new", conditions=NO_CONDITIONS)))
        assert await reader.plan(ANA, coming) is None
        assert "new" == getattr(await reader.plan(ANA, YESTERDAY), "content", None)

    async def test_only_own_skills_are_kept_in_it(self, ledger: Ledger, reader: StoredPractice):
        """Cover A49."""
        mine = (await ledger.log("Guitar", 30))["skill_id"]
        theirs = (await ledger.log("Chess", 30, who=BEA))["skill_id"]
        insight = Insight(InsightType.PROGRESS, "t", "d", theirs)
        await ledger.change(LocalEffect(writer.save_plan, WeeklyPlan(TODAY, "plan", (insight,), (mine, theirs))))
        kept = await reader.plan(ANA, TODAY)
        assert kept is not None
        assert ((mine,), None) == (kept.skill_ids, kept.insights[0].skill_id)


class TestIsolation:
    """Isolation of people, A48 to A52: no id reads or changes another person's data."""

    @pytest.mark.parametrize("stranger", [BEA, ELSEWHERE, replace(ANA, tenant="t2"), replace(BEA, tenant="t2")])
    async def test_nothing_of_another_is_read(self, ledger: Ledger, reader: StoredPractice, stranger: Principal):
        skill_id = (await ledger.log("Guitar", 30))["skill_id"]
        await ledger.change(LocalEffect(writer.save_plan, WeeklyPlan(TODAY, "plan")))
        found: Sequence[object] = (
            await reader.skills(stranger, include_archived=True),
            await reader.sessions(stranger),
            await reader.sessions(stranger, skill_id=skill_id),
            await reader.days(stranger),
            await reader.plan(stranger, TODAY),
        )
        assert [(), (), (), (), None] == list(found)

    @pytest.mark.parametrize("stranger", [BEA, ELSEWHERE])
    async def test_nothing_of_another_is_changed(self, ledger: Ledger, reader: StoredPractice, stranger: Principal):
        logged = await ledger.log("Guitar", 30)
        refusals = [
            await ledger.change(LocalEffect(writer.edit_session, logged["session_id"], 60), stranger),
            await ledger.change(LocalEffect(writer.edit_skill, logged["skill_id"], SkillEdit(archived=True)), stranger),
            await ledger.change(LocalEffect(writer.undo_last_log), stranger),
            await ledger.change(LocalEffect(writer.delete_session, logged["session_id"]), stranger),
            await ledger.change(LocalEffect(writer.edit_skill, logged["skill_id"], SkillEdit(name="mine")), stranger),
            await ledger.change(LocalEffect(writer.merge_skills, logged["skill_id"], logged["skill_id"]), stranger),
        ]
        expected = ["unknown_session", "unknown_skill", "nothing_to_undo"]
        expected += ["unknown_session", "unknown_skill", "unknown_skill"]
        assert expected == [one["refused"] for one in refusals]
        await ledger.change(LocalEffect(writer.set_weekly_goal, 300), stranger)
        assert await reader.weekly_goal(ANA) is None
        await ledger.log(logged["skill_id"], 15, who=stranger)  # an id of another's is only a name
        assert {"Guitar": 30} == await totals(reader)


class TestReading:
    async def test_skills_come_most_practised_first(self, ledger: Ledger, reader: StoredPractice):
        for name, minutes in (("Chess", 10), ("Piano", 30), ("bass", 10), ("Old", 99)):
            await ledger.log(name, minutes)
        await ledger.change(LocalEffect(writer.edit_skill, "old", SkillEdit(archived=True)))
        assert ["Piano", "bass", "Chess"] == [skill.name for skill in await reader.skills(ANA)]
        assert "Old" == (await reader.skills(ANA, include_archived=True))[0].name

    async def test_sessions_come_newest_first_and_bounded(self, ledger: Ledger, reader: StoredPractice):
        await ledger.log("Guitar", 1, YESTERDAY)
        await ledger.log("Guitar", 2, TODAY)
        await ledger.log("Guitar", 3, YESTERDAY)
        await ledger.log("Guitar", 4, TODAY - timedelta(days=9))
        assert [2, 3, 1, 4] == [session.minutes for session in await reader.sessions(ANA)]
        assert [2, 3] == [session.minutes for session in await reader.sessions(ANA, limit=2)]
        assert [2, 3, 1] == [session.minutes for session in await reader.sessions(ANA, since=YESTERDAY)]

    async def test_days_are_summed_by_skill(self, ledger: Ledger, reader: StoredPractice):
        guitar = (await ledger.log("Guitar", 10))["skill_id"]
        await ledger.log("Guitar", 20)
        await ledger.log("Guitar", 5, YESTERDAY)
        await ledger.log("Guitar", 100)
        await ledger.change(LocalEffect(writer.undo_last_log))
        assert (DayTotal(guitar, YESTERDAY, 5), DayTotal(guitar, TODAY, 30)) == await reader.days(ANA)
