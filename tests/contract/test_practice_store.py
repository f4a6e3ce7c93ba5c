"""What every store promises of practice data: changes applied once a key, and never for or by somebody else."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial

import pytest
import sqlalchemy as sa

from agent.coach.changes import (
    ArchiveSkill,
    CreateSkill,
    DeleteSession,
    EditSession,
    EditSkill,
    LogPractice,
    MergeSkills,
    PracticeCommand,
    SaveWeeklyPlan,
    SetWeeklyGoal,
    UndoLastLog,
)
from agent.coach.practice import DayTotal, Insight, InsightType
from agent.ports import Principal
from gateway.coach import practice
from gateway.coach.practice import StoredPractice
from gateway.coach.tables import PRACTICE_TABLES, practice_sessions
from gateway.store.agent_tables import bring_up
from gateway.store.engine import Store
from tests.fakes.practice_reader import ANA, BEA, NOW, TODAY, add_people

ELSEWHERE = Principal("u3", "t2", "Ana")
YESTERDAY = TODAY - timedelta(days=1)


@dataclass
class Ledger:
    """Changes of several people over one store, each with its own key and a clock that moves on."""

    store: Store
    now: datetime = NOW
    keys: int = field(default=0)

    async def change(self, command: PracticeCommand, who: Principal = ANA, key: str | None = None):
        """Apply one change."""
        self.keys += 1
        self.now += timedelta(seconds=1)
        used, now = key or f"turn/{self.keys}/0", self.now
        return await self.store.write(lambda connection: practice.apply(connection, who, command, used, now))

    async def log(self, skill: str, minutes: int, day: date = TODAY, who: Principal = ANA, key: str | None = None):
        """Log practice."""
        return await self.change(LogPractice(skill, minutes, day), who, key)


@pytest.fixture
async def ledger(store: Store) -> Ledger:
    """Three people, two of them in one tenant."""
    await store.write(partial(bring_up, agent="coach", tables=PRACTICE_TABLES))
    await store.write(lambda connection: add_people(connection, ANA, BEA, ELSEWHERE))
    return Ledger(store)


@pytest.fixture
def reader(store: Store) -> StoredPractice:
    """What the coach reads through."""
    return StoredPractice(store)


async def totals(reader: StoredPractice, who: Principal = ANA) -> dict[str, int]:
    """Minutes by skill, archived ones too."""
    return {skill.name: skill.total_minutes for skill in await reader.skills(who, include_archived=True)}


class TestOnce:
    """D4: an effect happens once a key."""

    @pytest.mark.parametrize(
        "command",
        [
            LogPractice("Guitar", 45, TODAY, "scales"),
            CreateSkill("Piano"),
            UndoLastLog(),
            EditSession(None, 60),
            SaveWeeklyPlan(TODAY, "# Plan"),
            ArchiveSkill("Guitar"),
            LogPractice("Guitar", 2000, TODAY),
        ],
    )
    async def test_a_second_time_changes_nothing(self, ledger: Ledger, reader: StoredPractice, command):
        """And gives the first result, whatever happened in between."""
        await ledger.log("Guitar", 10)
        await ledger.log("Guitar", 20)
        first = await ledger.change(command, key="turn/1/1")
        after = await totals(reader)
        assert first == await ledger.change(command, key="turn/1/1")
        assert after == await totals(reader)
        await ledger.log("Guitar", 30)
        assert first == await ledger.change(command, key="turn/1/1")

    async def test_the_same_key_of_somebody_else_is_another(self, ledger: Ledger, reader: StoredPractice):
        """Keys are a person's own: nobody reads another's result through a key."""
        await ledger.change(CreateSkill("Guitar"), ANA, "turn/1/1")
        result = await ledger.change(CreateSkill("Piano"), BEA, "turn/1/1")
        assert "Piano" == result.skill

    async def test_a_job_that_fails_leaves_nothing(self, ledger: Ledger, reader: StoredPractice):
        """The effect and whatever commits with it are one."""

        def job(connection: sa.Connection) -> None:
            practice.apply(connection, ANA, LogPractice("Guitar", 45, TODAY), "turn/9/9", NOW)
            raise LookupError("the rest of the commit failed")

        with pytest.raises(LookupError):
            await ledger.store.write(job)
        assert {} == await totals(reader)
        assert 45 == (await ledger.log("Guitar", 45, key="turn/9/9")).minutes


class TestLogging:
    async def test_a_log_tells_the_new_total(self, ledger: Ledger):
        """With everything the reply needs."""
        await ledger.log("Guitar", 30)
        result = await ledger.change(LogPractice("guitar", 45, YESTERDAY, "scales\x00"))
        assert ("Guitar", 45, YESTERDAY, "scales", 75, False) == (
            result.skill,
            result.minutes,
            result.date,
            result.notes,
            result.total_minutes,
            result.created_skill,
        )

    async def test_an_unknown_skill_is_created_with_it(self, ledger: Ledger, reader: StoredPractice):
        """Named as written, with an emoji of its own."""
        assert (await ledger.log("Bass Guitar", 45)).created_skill
        assert [("Bass Guitar", "🎸", 600_000)] == [
            (skill.name, skill.emoji, skill.goal_minutes) for skill in await reader.skills(ANA)
        ]

    async def test_an_archived_skill_comes_back(self, ledger: Ledger, reader: StoredPractice):
        """With all that was logged on it."""
        await ledger.log("Guitar", 30)
        await ledger.change(ArchiveSkill("Guitar"))
        assert () == await reader.skills(ANA)
        result = await ledger.log("GUITAR", 15)
        assert (True, False, 45) == (result.brought_back, result.created_skill, result.total_minutes)

    @pytest.mark.parametrize(
        ("command", "refused"),
        [
            (LogPractice("Guitar", 0, TODAY), "zero"),
            (LogPractice("Guitar", 1441, TODAY), "too_long"),
            (LogPractice("Guitar", 30, TODAY + timedelta(days=1)), "future"),
            (LogPractice("Guitar", 1411, TODAY), "day_full"),
            (LogPractice("🎸", 30, TODAY), "no_name"),
            (LogPractice("g" * 65, 30, TODAY), "name_too_long"),
            (CreateSkill("Piano", goal_minutes=0), "bad_goal"),
            (EditSession("no such session", 30), "unknown_session"),
            (EditSession(None, 1441), "too_long"),
            (ArchiveSkill("Violin"), "unknown_skill"),
        ],
    )
    async def test_what_breaks_a_rule_changes_nothing(self, ledger: Ledger, reader: StoredPractice, command, refused):
        """The result says why, in words."""
        await ledger.log("Guitar", 30)
        result = await ledger.change(command)
        assert refused == result.refused
        assert result.message
        assert {"Guitar": 30} == await totals(reader)

    async def test_a_future_day_is_that_of_the_persons_zone(self, ledger: Ledger):
        """It is already tomorrow on Kiritimati."""
        tomorrow = LogPractice("Guitar", 30, TODAY + timedelta(days=1))
        changed = await ledger.change(tomorrow, replace(ANA, timezone="Pacific/Kiritimati"))
        assert tomorrow.day == changed.date

    async def test_sql_in_words_is_words(self, ledger: Ledger, reader: StoredPractice):
        """A50."""
        name = "x'); DROP TABLE skills; --"
        await ledger.change(LogPractice(name, 30, TODAY, "' OR 1=1"))
        assert {name: 30} == await totals(reader)
        assert "' OR 1=1" == (await reader.sessions(ANA))[0].notes


class TestUndo:
    async def test_it_takes_back_the_log_made_last(self, ledger: Ledger, reader: StoredPractice):
        """Whatever day that was for; a second undo takes the one before."""
        await ledger.log("Guitar", 30, TODAY)
        await ledger.log("Guitar", 45, YESTERDAY)
        first = await ledger.change(UndoLastLog())
        assert (45, 30) == (first.minutes, first.total_minutes)
        second = await ledger.change(UndoLastLog())
        assert (30, 0, True) == (second.minutes, second.total_minutes, second.archived_skill)
        assert "nothing_to_undo" == (await ledger.change(UndoLastLog())).refused
        assert () == await reader.sessions(ANA)

    async def test_a_skill_of_its_own_stays(self, ledger: Ledger, reader: StoredPractice):
        """Only one that the undone log had created goes with it."""
        await ledger.change(CreateSkill("Piano"))
        await ledger.log("Piano", 30)
        assert not (await ledger.change(UndoLastLog())).archived_skill
        assert ["Piano"] == [skill.name for skill in await reader.skills(ANA)]

    async def test_nothing_is_deleted(self, ledger: Ledger):
        """The row is kept, with the time it was undone."""
        await ledger.log("Guitar", 30)
        await ledger.change(UndoLastLog())
        rows = await ledger.store.read(
            lambda connection: connection.execute(sa.select(practice_sessions.c.undone_at)).scalars().all()
        )
        assert [datetime(2026, 3, 4, 12, 0, 2, tzinfo=UTC)] == rows


class TestEditing:
    async def test_the_last_log_is_edited_where_none_is_named(self, ledger: Ledger, reader: StoredPractice):
        """What is not named stays."""
        await ledger.change(LogPractice("Guitar", 45, YESTERDAY, "scales"))
        result = await ledger.change(EditSession(None, 60))
        assert (45, 60, "scales", 60) == (
            result.minutes_before,
            result.minutes,
            result.notes,
            result.total_minutes,
        )
        (session,) = await reader.sessions(ANA)
        assert (60, YESTERDAY) == (session.minutes, session.day)

    async def test_a_session_can_be_of_another_skill(self, ledger: Ledger, reader: StoredPractice):
        """Its minutes count there; a skill that was made for it alone is put away, a new name becomes a skill."""
        await ledger.log("Guitar", 30)
        await ledger.log("Pinao", 45)
        result = await ledger.change(EditSession(None, 40, skill="Piano"))
        assert ("Piano", 40, 40) == (result.skill, result.minutes, result.total_minutes)
        assert [("Piano", 40), ("Guitar", 30)] == [(one.name, one.total_minutes) for one in await reader.skills(ANA)]
        result = await ledger.change(EditSession(None, skill="guitar"))
        assert ("Guitar", 70) == (result.skill, result.total_minutes)

    async def test_an_undone_session_cannot_be_edited(self, ledger: Ledger):
        """It is not there any more."""
        session_id = (await ledger.log("Guitar", 45)).session_id
        await ledger.change(UndoLastLog())
        assert "unknown_session" == (await ledger.change(EditSession(session_id, 60))).refused


class TestPlans:
    async def test_a_new_plan_of_a_week_replaces_the_old(self, ledger: Ledger, reader: StoredPractice):
        """One a week; another week's stays."""
        insight = Insight(InsightType.STREAK, "Seven days", "in a row")
        await ledger.change(SaveWeeklyPlan(TODAY, "first"))
        await ledger.change(SaveWeeklyPlan(YESTERDAY, "other"))
        result = await ledger.change(SaveWeeklyPlan(TODAY, "second", (insight,)))
        assert result.replaced
        kept = await reader.plan(ANA, TODAY)
        assert kept is not None
        assert ("second", (insight,)) == (kept.content, kept.insights)
        assert "other" == getattr(await reader.plan(ANA, YESTERDAY), "content", None)

    async def test_only_own_skills_are_kept_in_it(self, ledger: Ledger, reader: StoredPractice):
        """A49: another's id from a model is dropped."""
        mine = (await ledger.log("Guitar", 30)).skill_id
        theirs = (await ledger.log("Chess", 30, who=BEA)).skill_id
        insight = Insight(InsightType.PROGRESS, "t", "d", theirs)
        await ledger.change(SaveWeeklyPlan(TODAY, "plan", (insight,), (mine, theirs)))
        kept = await reader.plan(ANA, TODAY)
        assert kept is not None
        assert ((mine,), None) == (kept.skill_ids, kept.insights[0].skill_id)


class TestIsolation:
    """A48–A52: nobody reads or changes what is another's, whatever ids they have."""

    @pytest.mark.parametrize("stranger", [BEA, ELSEWHERE, replace(ANA, tenant="t2"), replace(BEA, tenant="t2")])
    async def test_nothing_of_another_is_read(self, ledger: Ledger, reader: StoredPractice, stranger: Principal):
        """Not in the same tenant, not with the same user id in another."""
        skill_id = (await ledger.log("Guitar", 30)).skill_id
        await ledger.change(SaveWeeklyPlan(TODAY, "plan"))
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
        """Also with the right ids."""
        logged = await ledger.log("Guitar", 30)
        refusals = [
            await ledger.change(EditSession(logged.session_id, 60), stranger),
            await ledger.change(ArchiveSkill(logged.skill_id), stranger),
            await ledger.change(UndoLastLog(), stranger),
            await ledger.change(DeleteSession(logged.session_id), stranger),
            await ledger.change(EditSkill(logged.skill_id, name="mine"), stranger),
            await ledger.change(MergeSkills(logged.skill_id, logged.skill_id), stranger),
        ]
        expected = ["unknown_session", "unknown_skill", "nothing_to_undo"]
        expected += ["unknown_session", "unknown_skill", "unknown_skill"]
        assert expected == [one.refused for one in refusals]
        await ledger.change(SetWeeklyGoal(300), stranger)
        assert await reader.weekly_goal(ANA) is None
        await ledger.log(logged.skill_id, 15, who=stranger)  # an id of another's is only a name
        assert {"Guitar": 30} == await totals(reader)


class TestReading:
    async def test_skills_come_most_practised_first(self, ledger: Ledger, reader: StoredPractice):
        """Then by name; archived ones when asked for."""
        for name, minutes in (("Chess", 10), ("Piano", 30), ("bass", 10), ("Old", 99)):
            await ledger.log(name, minutes)
        await ledger.change(ArchiveSkill("old"))
        assert ["Piano", "bass", "Chess"] == [skill.name for skill in await reader.skills(ANA)]
        assert "Old" == (await reader.skills(ANA, include_archived=True))[0].name

    async def test_sessions_come_newest_first_and_bounded(self, ledger: Ledger, reader: StoredPractice):
        """By the day of practice, then by when it was logged."""
        await ledger.log("Guitar", 1, YESTERDAY)
        await ledger.log("Guitar", 2, TODAY)
        await ledger.log("Guitar", 3, YESTERDAY)
        await ledger.log("Guitar", 4, TODAY - timedelta(days=9))
        assert [2, 3, 1, 4] == [session.minutes for session in await reader.sessions(ANA)]
        assert [2, 3] == [session.minutes for session in await reader.sessions(ANA, limit=2)]
        assert [2, 3, 1] == [session.minutes for session in await reader.sessions(ANA, since=YESTERDAY)]

    async def test_days_are_summed_by_skill(self, ledger: Ledger, reader: StoredPractice):
        """The oldest first, without what was undone."""
        guitar = (await ledger.log("Guitar", 10)).skill_id
        await ledger.log("Guitar", 20)
        await ledger.log("Guitar", 5, YESTERDAY)
        await ledger.log("Guitar", 100)
        await ledger.change(UndoLastLog())
        assert (DayTotal(guitar, YESTERDAY, 5), DayTotal(guitar, TODAY, 30)) == await reader.days(ANA)
