"""The timer, and forgetting all; over the store's own functions."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from agent.coach.practice import WeeklyPlan
from agent.ports import LocalEffect
from gateway.coach import writer
from gateway.coach.tables import metadata
from gateway.store.reports import audit_log
from tests.fakes.practice_reader import ANA, TODAY, ConnectedPractice, connected_practice
from tests.unit.commands.test_coach import answer

SPANISH = replace(ANA, locale="es")


@pytest.fixture
def practice() -> Iterator[ConnectedPractice]:
    with connected_practice() as connected:
        connected.change(LocalEffect(writer.log, "Guitar", 30, TODAY - timedelta(days=1)))
        yield connected


class TestTimer:
    async def test_what_the_clock_counted_is_logged(self, practice: ConnectedPractice):
        assert "The clock runs for 🎸 **Guitar**." in await answer(practice, "/start guitar")
        practice.now += timedelta(minutes=42, seconds=20)
        assert "Logged **42 min** 🎸 Guitar (scales)." in await answer(practice, "/done scales")
        assert "No clock runs." in await answer(practice, "/done")

    async def test_a_time_that_is_said_counts_instead(self, practice: ConnectedPractice):
        await answer(practice, "/start guitar")
        practice.now += timedelta(minutes=90)
        assert "Logged **45 min** 🎸 Guitar (with a break)" in await answer(practice, "/done 45m, with a break")

    async def test_a_forgotten_clock_asks(self, practice: ConnectedPractice):
        await answer(practice, "/start guitar", SPANISH)
        practice.now += timedelta(hours=14)
        assert "lleva 14 horas" in await answer(practice, "/done", SPANISH)
        assert "Anotado: **1 h** 🎸 Guitar" in await answer(practice, "/done 1h", SPANISH)

    async def test_a_refused_log_leaves_the_clock_running(self, practice: ConnectedPractice):
        practice.change(LocalEffect(writer.log, "Guitar", 1400, TODAY))
        await answer(practice, "/start guitar")
        practice.now += timedelta(minutes=50)
        assert "24 hours" in await answer(practice, "/done")
        assert "Logged **40 min** 🎸 Guitar" in await answer(practice, "/done 40m")

    async def test_past_midnight_it_belongs_to_the_evening(self, practice: ConnectedPractice):
        practice.now = practice.now.replace(hour=23, minute=50)
        await answer(practice, "/start guitar")
        practice.now += timedelta(minutes=30)
        await answer(practice, "/done")
        assert TODAY == (await practice.sessions(ANA))[0].day

    async def test_a_timer_without_a_skill_says_how_and_greets_nobody(self, practice: ConnectedPractice):
        assert (await answer(practice, "/timer")).startswith("`/start guitar` starts a clock")
        assert "Hello, Ana!" in await answer(practice, "/start")

    async def test_one_clock_at_a_time_and_one_can_let_it_go(self, practice: ConnectedPractice):
        await answer(practice, "/start guitar")
        assert "The clock runs already, for Guitar." in await answer(practice, "/start guitar")
        practice.now += timedelta(minutes=1)
        assert "nothing is logged (1 min of Guitar)" in await answer(practice, "/done off")
        await answer(practice, "/start guitar")
        practice.now += timedelta(seconds=3)
        assert "It ran for less than a minute" in await answer(practice, "/done")
        assert "No clock runs." in await answer(practice, "/done")
        assert 1 == len(await practice.sessions(ANA))

    @pytest.mark.parametrize("words", ["", "TENK-4711", "cello"])
    async def test_start_greets_where_it_names_no_skill(self, practice: ConnectedPractice, words: str):
        said = await answer(practice, f"/start {words}")
        assert "I am **TenK Coach**" in said
        assert "`/start guitar` starts a clock" in said


class TestForget:
    async def test_practice_is_deleted_after_it_was_said_twice(self, practice: ConnectedPractice):
        practice.change(LocalEffect(writer.save_plan, WeeklyPlan(TODAY, "plan")))
        practice.change(LocalEffect(writer.set_weekly_goal, 60))
        await answer(practice, "/start guitar")
        for words in ("", "practice", "practice no", "guitar yes"):
            await answer(practice, f"/forget {words}")
        assert 1 == len(await practice.sessions(ANA))
        assert "1 entry is deleted" in await answer(practice, "/forget practice yes")
        left = {
            table.name: practice.connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for table in metadata.sorted_tables
        }
        assert {0} == set(left.values())
        assert ["practice_forgotten"] == [row.action for row in audit_log(practice.connection)]

    async def test_in_spanish(self, practice: ConnectedPractice):
        assert "No se puede deshacer" in await answer(practice, "/forget práctica", SPANISH)
        assert "borrada" in await answer(practice, "/forget práctica si", SPANISH)
