"""Any entry and any skill: shown, corrected, taken back, put away, renamed, merged; over the store's own functions."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from agent.ports import LocalEffect
from gateway.coach import writer
from tests.fakes.practice_reader import ANA, TODAY, ConnectedPractice, connected_practice
from tests.unit.commands.test_coach import answer

MONDAY = TODAY - timedelta(days=2)
SPANISH = replace(ANA, locale="es")


@pytest.fixture
def practice() -> Iterator[ConnectedPractice]:
    sunday = MONDAY - timedelta(days=1)
    with connected_practice() as connected:
        for log in (
            LocalEffect(writer.log, "Guitar", 300, TODAY.replace(month=1, day=7), "whole book"),
            LocalEffect(writer.log, "Guitar", 30, MONDAY, "scales"),
            LocalEffect(writer.log, "Piano", 20, MONDAY),
            LocalEffect(writer.log, "Guitar", 15, sunday, "slow scales"),
            LocalEffect(writer.log, "Guitar", 25, sunday),
        ):
            connected.change(log)
            connected.now += timedelta(minutes=1)
        yield connected


class TestEntries:
    @pytest.mark.parametrize(
        ("words", "title", "count"),
        [
            ("monday", "Monday: **50 min** in 2 entries", 2),
            ("monday guitar", "Monday, Guitar: **30 min**", 1),
            ("guitar monday", "Monday, Guitar: **30 min**", 1),
            ("on sunday", "Sunday: **40 min** in 2 entries", 2),
            ("last monday", "Monday: **50 min** in 2 entries", 2),
            ("week", "Monday to today: **50 min** in 2 entries, on 1 day", 2),
            ("last week", "23 February to 1 March: **40 min** in 2 entries, on 1 day", 2),
            ("this month", "This month: **1 h 30 min** in 4 entries, on 2 days", 4),
            ("scales", "All entries, “scales”: **45 min** in 2 entries, on 2 days", 2),
            ("2026-01-07", "7 January: **5 h**", 1),
            ("7.1.", "7 January: **5 h**", 1),
            ("", "All entries: **6 h 30 min** in 5 entries, on 3 days", 5),
        ],
    )
    async def test_what_was_done(self, practice: ConnectedPractice, words: str, title: str, count: int):
        said = await answer(practice, f"/entries {words}")
        assert title == said.splitlines()[0]
        assert count == said.count("\n- ")

    async def test_a_weekday_is_the_same_day_as_in_a_log(self, practice: ConnectedPractice):
        await answer(practice, "/log 45m guitar on wednesday")
        assert "Today: **45 min**" == (await answer(practice, "/entries wednesday")).splitlines()[0]
        assert "25 February: nothing is logged." == await answer(practice, "/entries last wednesday")
        assert "25 de febrero" in await answer(practice, "/entries el miércoles pasado", SPANISH)

    async def test_in_spanish(self, practice: ConnectedPractice):
        said = await answer(practice, "/entries el lunes", SPANISH)
        assert "Lunes: **50 min** en 2 anotaciones" == said.splitlines()[0]
        assert "Desde el lunes hasta hoy: " in await answer(practice, "/entries semana", SPANISH)
        assert "Este mes: " in await answer(practice, "/entries mes", SPANISH)
        assert "Todas las anotaciones, «scales»: " in await answer(practice, "/entries scales", SPANISH)
        assert "Esta" not in await answer(practice, "/entries mes pasado", SPANISH)

    async def test_nothing_is_told_as_nothing(self, practice: ConnectedPractice):
        assert "Yesterday: nothing is logged." == await answer(practice, "/entries yesterday")


class TestDelete:
    async def test_any_entry_goes_by_day_and_skill(self, practice: ConnectedPractice):
        assert "Took back 30 min 🎸 Guitar (Monday)." in await answer(practice, "/delete monday guitar")
        assert "Monday: **20 min**" in await answer(practice, "/entries monday")

    async def test_of_several_it_asks_which(self, practice: ConnectedPractice):
        said = await answer(practice, "/delete sunday guitar")
        assert "#1" in said
        assert "#2" in said
        assert 5 == len(await practice.sessions(ANA))
        assert "Took back 15 min" in await answer(practice, "/delete sunday guitar #2")

    @pytest.mark.parametrize("words", ["", "#1", "nonsense", "monday guitar nonsense", "sunday #9"])
    async def test_what_is_not_clear_takes_nothing_back(self, practice: ConnectedPractice, words: str):
        await answer(practice, f"/delete {words}")
        assert 5 == len(await practice.sessions(ANA))


class TestEdit:
    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ("monday guitar 40m", "Corrected: **40 min** 🎸 Guitar (Monday; it was 30 min)"),
            ("40m", "Corrected: **40 min** 🎸 Guitar (Sunday; it was 25 min)"),
            ("monday piano to guitar", "Corrected: **20 min** 🎸 Guitar (Monday"),
            ("monday piano on tuesday", "Corrected: **20 min** 🎹 Piano (yesterday"),
            ("monday guitar 1h to piano : both hands", "Corrected: **1 h** 🎹 Piano (Monday"),
            ("sunday guitar #2 10m", "Corrected: **10 min** 🎸 Guitar (Sunday; it was 15 min)"),
        ],
    )
    async def test_any_entry_is_corrected(self, practice: ConnectedPractice, words: str, told: str):
        assert told in await answer(practice, f"/edit {words}")

    @pytest.mark.parametrize(
        "words",
        ["", "monday guitar", "nonsense", "sunday guitar 10m", "2026-01-07 flute 10m", "monday piano 40m endgames"],
    )
    async def test_what_is_not_clear_changes_nothing(self, practice: ConnectedPractice, words: str):
        before = await practice.sessions(ANA)
        assert await answer(practice, f"/edit {words}")
        assert before == await practice.sessions(ANA)


class TestSkill:
    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ("piano archive", "is archived and no longer counts"),
            ("piano rename grand piano", "“Piano” is called **grand piano** now."),
            ("rename piano to grand piano", "“Piano” is called **grand piano** now."),
            ("piano colour blue", "is blue now"),
            ("piano colour #ABCDEF", "is #abcdef now"),
            ("piano goal 500h", "The goal of 🎹 **Piano** is 500 h now."),
            ("piano week 5h", "Your goal for 🎹 **Piano** is 5 h a week."),
            ("piano emoji 🎼", "The emoji of **Piano** is 🎼 now."),
            ("piano merge into guitar", "1 entry of “Piano” is part of 🎸 **Guitar** now. Total 6 h 30 min."),
            ("piano rename guitar", "You have a skill “Guitar” already."),
            ("piano merge piano", "cannot be merged with itself"),
            ("piano merge oboe", "You have no skill “oboe”"),
            ("piano colour loud", "I do not know the colour “loud”"),
            ("piano week 200h", "A week has 168 hours."),
            ("piano dance", "Change a skill with"),
            ("oboe archive", "You have no skill “oboe archive”"),
            ("piano", "## 🎹 Piano"),
            ("", "## Your skills"),
        ],
    )
    async def test_a_skill_is_changed_in_a_word(self, practice: ConnectedPractice, words: str, told: str):
        assert told in await answer(practice, f"/skill {words}")

    async def test_what_is_put_away_comes_back(self, practice: ConnectedPractice):
        await answer(practice, "/skill piano archivar", SPANISH)
        assert ["Guitar"] == [skill.name for skill in await practice.skills(ANA)]
        assert "(archived)" in await answer(practice, "/skill")
        assert "ha vuelto" in await answer(practice, "/skill piano restaurar", SPANISH)
        assert 2 == len(await practice.skills(ANA))

    async def test_merged_entries_keep_their_days_and_notes(self, practice: ConnectedPractice):
        await answer(practice, "/undo")
        await answer(practice, "/skill guitar merge piano")
        (piano,) = await practice.skills(ANA, include_archived=True)
        assert ("Piano", 365, 4) == (piano.name, piano.total_minutes, piano.session_count)


class TestGoal:
    async def test_a_goal_for_the_week_is_set_shown_and_taken_away(self, practice: ConnectedPractice):
        assert "no weekly goal yet" in await answer(practice, "/goal")
        assert "Your goal is **5 h** a week." == await answer(practice, "/goal 5h")
        assert "Goal for the week: 50 min of **5 h**" in await answer(practice, "/stats")
        assert "Tu meta es **5 h** por semana" in await answer(practice, "/goal", SPANISH)
        await answer(practice, "/goal guitar 3h")
        assert "Your goal for 🎸 **Guitar** is 3 h a week." in await answer(practice, "/goal")
        await answer(practice, "/goal off")
        assert "Goal for the week" not in await answer(practice, "/stats")

    async def test_of_a_skill_that_is_named_it_is_that_skills(self, practice: ConnectedPractice):
        assert "Your goal for 🎹 **Piano** is 5 h a week." == await answer(practice, "/goal piano 5h")
        assert await practice.weekly_goal(ANA) is None

    @pytest.mark.parametrize("words", ["much", "200h", "-5h", "cello 5h", "piano", "piano much"])
    async def test_what_is_no_goal_is_told(self, practice: ConnectedPractice, words: str):
        await answer(practice, f"/goal {words}")
        assert await practice.weekly_goal(ANA) is None


async def test_an_entry_is_named_by_its_id(practice: ConnectedPractice) -> None:
    (oldest,) = [one for one in await practice.sessions(ANA, limit=9) if one.minutes == 300]
    assert "Corrected: **40 min** 🎸 Guitar" in await answer(practice, f"/edit {oldest.id} 40m")
    assert "Took back 40 min" in await answer(practice, f"/delete {oldest.id}")
