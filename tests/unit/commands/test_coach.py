"""The coach's commands, over the store's own functions."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta

import pytest

from agent.ports import LocalEffect, Principal
from gateway.coach import writer
from gateway.coach.commands import coach_commands
from gateway.coach.product import COACH
from gateway.commands.table import CommandTable
from tests.fakes.invocations import FakeSession, invocation, run
from tests.fakes.practice_reader import ANA, TODAY, ConnectedPractice, connected_practice


@pytest.fixture
def practice() -> Iterator[ConnectedPractice]:
    with connected_practice() as connected:
        yield connected


EACH = "That is 1 h on a day with practice."


async def answer(practice: ConnectedPractice, text: str, who: Principal = ANA, files: Sequence[str] = ()) -> str:
    """Return what a command says, with its changes made."""
    table = CommandTable(coach_commands(practice))
    command, name, arguments = table.parse(text) or (None, "", "")
    assert command is not None
    practice.keys += 1
    asked = invocation(name, arguments, who, FakeSession(files=files), store=practice.connection, texts=COACH.catalogue)
    asked = replace(asked, row=replace(asked.row, id=practice.keys), now=practice.now)
    return (await run(command, asked, practice.connection)).text


class TestLog:
    async def test_it_is_answered_with_total_and_level(self, practice: ConnectedPractice):
        practice.change(LocalEffect(writer.log, "Guitar", 690, TODAY))
        assert "Logged **45 min** 🎸 Guitar (scales). Total 12 h 15 min, 🌱 Seed. /undo takes it back." == await answer(
            practice, "/log 45m guitar scales"
        )

    async def test_a_new_skill_is_named(self, practice: ConnectedPractice):
        assert "“guitr” is a new skill of yours, with a goal of 10\u202f000 h." in await answer(
            practice, "/log 45m guitr"
        )

    async def test_several_entries_are_one_command(self, practice: ConnectedPractice):
        said = await answer(practice, "/log yesterday 45m guitar; 20m piano")
        assert "Logged **45 min** 🎸 guitar (yesterday)" in said and "Logged **20 min** 🎹 piano." in said
        assert "(slow; scales)" in await answer(practice, "/log 30m guitar slow; scales")

    async def test_a_time_in_the_notes_may_be_a_second_entry(self, practice: ConnectedPractice):
        assert "Which one do you mean?" == await answer(practice, "/log 1h guitar, 30m chess")
        assert "(30m warm up)" in await answer(practice, "/log 1h guitar 30m warm up")

    async def test_a_misspelled_name_of_another_language_is_asked_about(self, practice: ConnectedPractice):
        practice.change(LocalEffect(writer.log, "guitar", 20, TODAY))
        assert "guiatrra" in (said := await answer(practice, "/log 30 min guiatrra")) and "Logged" not in said

    async def test_a_goal_of_a_month_is_not_a_weekly_one(self, practice: ConnectedPractice):
        practice.change(LocalEffect(writer.log, "guitar", 20, TODAY))
        assert "Tell me the time per week" in await answer(practice, "/goal guitar 20h this month")
        assert "20 h" in await answer(practice, "/goal guitar 20h per week")

    async def test_another_day_is_named(self, practice: ConnectedPractice):
        assert "(yesterday)" in await answer(practice, "/log yesterday 20 min guitar")
        assert "on Friday" in await answer(practice, "/log 2026-02-27 20 min guitar")
        assert "on 3 January" in await answer(practice, "/log 2026-01-03 20 min guitar")
        assert "on 31 December 2025" in await answer(practice, "/log 2025-12-31 20 min guitar")

    async def test_arguments_may_have_lines(self, practice: ConnectedPractice):
        assert "(bars 5 to 8 slowly)" in await answer(practice, "/log 45m guitar\nbars 5 to 8\nslowly")

    async def test_a_new_level_is_celebrated(self, practice: ConnectedPractice):
        for day in range(5):
            practice.change(LocalEffect(writer.log, "Guitar", 1190, TODAY - timedelta(days=day)))
        assert "You have reached 📘 Apprentice!" in await answer(practice, "/log 50m guitar")

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("/log", "`/log 45m guitar scales`"),
            ("/log guitar", "How long was it?"),
            ("/log 45 guitar", "Minutes or hours?"),
            ("/log 0m guitar", "Zero minutes"),
            ("/log -5m guitar", "without the minus"),
            ("/log guitar −1h30", "without the minus"),
            ("/log 25h guitar", "24 hours"),
            ("/log 2026-03-05 45m guitar", "2026-03-05 has not come yet"),
            ("/log 45m guitar tomorrow", "tomorrow has not come yet"),
            ("/log mañana 45m guitarra", "mañana has not come yet"),
            ("/log 45m guitar next wednesday", "next wednesday has not come yet"),
            ("/log 45m guitarra el lunes que viene", "el lunes que viene has not come yet"),
            ("/log 45m tomorrow", "tomorrow has not come yet"),
            ("/log 2026-13-05 45m guitar", "“2026-13-05”"),
            ("/log 45m", "Which skill was it?"),
            ("/log 45m 🎸", "letters"),
        ],
    )
    async def test_what_it_cannot_read_it_explains(self, practice: ConnectedPractice, text: str, words: str):
        assert words in await answer(practice, text)
        assert () == await practice.sessions(ANA)

    async def test_a_full_day_is_refused_in_the_persons_language(self, practice: ConnectedPractice):
        practice.change(LocalEffect(writer.log, "Guitar", 1400, TODAY))
        spanish = replace(ANA, locale="es")
        assert "Serían más de 24 horas el 2026-03-04" in await answer(practice, "/log 1h guitar", spanish)

    async def test_markdown_in_a_name_is_shown_as_it_is(self, practice: ConnectedPractice):
        assert "\\*\\*x\\*\\* \\[a\\](b)" in await answer(practice, '/log 45m "**x** [a](b)"')

    @pytest.mark.parametrize("notes", ["piece for next wednesday", "what is due tomorrow", "por la mañana"])
    async def test_what_is_to_come_may_stand_in_the_notes(self, practice: ConnectedPractice, notes: str):
        assert f"({notes})" in await answer(practice, f"/log 45m guitar {notes}")
        assert [TODAY] == [entry.day for entry in await practice.sessions(ANA)]


class TestUndo:
    async def test_it_says_what_it_took_back(self, practice: ConnectedPractice):
        await answer(practice, "/log 45m guitr")
        said = await answer(practice, "/undo")
        assert "Took back 45 min 🎯 guitr (today). Total 0 min." in said
        assert "archived" in said
        assert "nothing to undo" in await answer(practice, "/undo")

    async def test_it_says_what_it_brought_back(self, practice: ConnectedPractice):
        await answer(practice, "/log 45m oboe")
        await answer(practice, "/delete oboe")
        assert "Brought back 45 min 🎯 oboe (today). Total 45 min." == await answer(practice, "/undo")


class TestReading:
    async def test_nothing_logged_says_how_to_begin(self, practice: ConnectedPractice):
        for text in ("/stats", "/skills"):
            assert "Start with your first entry" in await answer(practice, text)

    async def test_stats_are_overall_or_of_one_skill(self, practice: ConnectedPractice):
        practice.change(LocalEffect(writer.log, "Guitar", 60, TODAY))
        practice.change(LocalEffect(writer.log, "Piano", 30, TODAY))
        overall = await answer(practice, "/stats")
        assert "**1 h 30 min** today: you have begun." in overall
        assert "Piano" in overall
        one = await answer(practice, "/stats gui")
        assert "**1 h** today" in one
        assert "Piano" not in one

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                "guitar february",
                "February, Guitar: **1 h 30 min** in 2 entries, on 2 days. That is 45 min on a day with practice.",
            ),
            ("february", f"February: **2 h** in 3 entries, on 2 days. {EACH}\n\n- Guitar: 1 h 30 min\n- Piano: 30 min"),
            (
                "en febrero guitar",
                "February, Guitar: **1 h 30 min** in 2 entries, on 2 days. That is 45 min on a day with practice.",
            ),
            (
                "guitar mondays",
                "Every Monday, Guitar: **1 h 20 min** in 2 entries, on 2 days. That is 40 min on a day with practice.",
            ),
            ("los lunes 2025", "2025, every Monday: **20 min**."),
            ("february 2024", "February 2024: nothing is logged."),
            ("last year", "2025: **20 min**."),
            ("last week", "23 February to 1 March: nothing is logged."),
            ("december", "December 2025: **20 min**."),
        ],
    )
    async def test_stats_of_days_answer_what_was_asked(self, practice: ConnectedPractice, text: str, expected: str):
        for skill, minutes, day in (
            ("Guitar", 60, date(2026, 2, 2)),  # a Monday
            ("Guitar", 30, date(2026, 2, 3)),
            ("Piano", 30, date(2026, 2, 3)),
            ("Guitar", 20, date(2025, 12, 29)),  # a Monday
        ):
            practice.change(LocalEffect(writer.log, skill, minutes, day))
        assert expected == await answer(practice, f"/stats {text}")

    @pytest.mark.parametrize("text", ["guitar octobre", "2025 2024"])
    async def test_stats_of_no_such_days_say_what_may_be_written(self, practice: ConnectedPractice, text: str):
        practice.change(LocalEffect(writer.log, "Guitar", 60, TODAY))
        assert "`/stats guitar mondays`" in await answer(practice, f"/stats {text}")

    async def test_an_unknown_skill_is_told(self, practice: ConnectedPractice):
        for text in ("violin", "february violin", "violin february 2025", "violin en octubre"):
            assert "You have no skill “violin”. /skills shows yours." == await answer(practice, f"/stats {text}")

    async def test_a_skill_in_another_language_is_asked_about_with_its_days(self, practice: ConnectedPractice):
        practice.change(LocalEffect(writer.log, "Guitar", 60, TODAY))
        spanish = await answer(practice, "/stats guitarra octubre", replace(ANA, locale="es"))
        assert "No tienes ninguna habilidad «guitarra». ¿Querías decir **Guitar**?" == spanish

    async def test_skills_are_a_line_each(self, practice: ConnectedPractice):
        practice.change(LocalEffect(writer.log, "Guitar", 60, TODAY))
        assert "- 🎸 **Guitar**: 🌱 Seed, 1 h of 100 h to 📘 Apprentice" in await answer(practice, "/skills")

    async def test_plan_starts_a_turn(self, practice: ConnectedPractice):
        (plan,) = (command for command in coach_commands(practice) if command.name == "plan")
        assert "plan" == plan.turn
