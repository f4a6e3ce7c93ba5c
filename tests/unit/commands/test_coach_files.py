"""Practice as files: in and out, checked first; over the store's own functions."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from agent.coach.practice_file import BadLine, guard_cell, read_file, unguard_cell
from agent.ports import LocalEffect
from gateway.coach import writer
from gateway.coach.commands import coach_commands
from gateway.coach.file_commands import practice_csv
from gateway.commands.personal_data import MAX_EXPORT_BYTES
from gateway.commands.table import CommandTable
from gateway.store.tables.people import users
from tests.fakes.invocations import invocation, run
from tests.fakes.practice_reader import ANA, TODAY, ConnectedPractice, connected_practice
from tests.unit.commands.test_coach import answer

GOOD = "date,skill,minutes,notes\n2026-02-01,guitar,45,scales\n2026-02-02,piano,30,\n"
BAD = (
    "date;skill;hours\nsoon;guitar;1\n2026-02-01;guitar;1,5\n2026-02-02;;1\n2027-01-01;guitar;1\n2026-02-03;guitar;x\n"
)


@pytest.fixture
def practice() -> Iterator[ConnectedPractice]:
    with connected_practice() as connected:
        yield connected


class TestReading:
    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("", ()),
            ("hello", ("import.no_header",)),
            ("a,b\n1,2", ("import.no_header",)),
            ("{", ("import.no_json",)),
            ('{"a": 1}', ("import.no_json",)),
            ("[1, null]", ("import.bad_date", "import.bad_date")),
            ("[" * 100_000, ("import.no_json",)),
        ],
    )
    def test_what_is_no_file_of_practice_is_told(self, text: str, why: tuple[str, ...]):
        assert why == tuple(bad.why for bad in read_file(text, TODAY).bad)

    def test_ten_thousand_bad_lines_are_counted(self):
        lines = [f"2026-13-{number},guitar,45" for number in range(10_000)]
        found = read_file("\n".join(("date,skill,minutes", *lines, "2026-02-01,guitar,45")), TODAY)
        assert (10_000, 1) == (len(found.bad), len(found.rows))
        assert BadLine(2, "import.bad_date", "2026-13-0") == found.bad[0]

    def test_more_than_fits_is_said(self):
        lines = ["2026-02-01,guitar,1"] * 5_001
        found = read_file("\n".join(("date,skill,minutes", *lines)), TODAY)
        assert (5_000, True) == (len(found.rows), found.more)


class TestImport:
    async def test_it_says_first_what_it_would_add(self, practice: ConnectedPractice):
        said = await answer(practice, "/import", files=[GOOD])
        assert "2 entries would be added, from Sunday, 1 February to Monday, 2 February: guitar, piano." in said
        assert "Nothing is added yet." in said
        assert () == await practice.sessions(ANA)

    async def test_then_it_adds_what_is_not_there_yet(self, practice: ConnectedPractice):
        practice.change(LocalEffect(writer.log, "Guitar", 45, date(2026, 2, 1), "scales"))
        said = await answer(practice, "/import now", files=[GOOD])
        assert "1 entry is added. New skills: piano. 1 was there already." == said
        assert "0 entries are added. 2 were there already." == await answer(practice, "/import now", files=[GOOD])
        twice = "date,skill,minutes\n" + "2026-01-05,guitar,10\n" * 2
        assert "2 entries are added." == await answer(practice, "/import now", files=[twice])

    async def test_bad_lines_are_named_and_the_good_ones_added(self, practice: ConnectedPractice):
        said = await answer(practice, "/import ahora", replace(ANA, locale="es"), [BAD])
        assert "1 anotación añadida." in said
        assert "- línea 2: «soon» no es una fecha como 2026-03-09" in said
        assert 4 == said.count("- línea")

    async def test_a_day_has_twenty_four_hours(self, practice: ConnectedPractice):
        practice.change(LocalEffect(writer.log, "Guitar", 1400, TODAY - timedelta(days=1)))
        content = f"date,skill,minutes\n{TODAY - timedelta(days=1)},guitar,60\n"
        assert "1 is left out" in await answer(practice, "/import now", files=[content])

    async def test_lines_can_be_pasted(self, practice: ConnectedPractice):
        assert "2 entries would be added" in await answer(practice, f"/import\n{GOOD}")
        assert "2 entries are added" in await answer(practice, f"/import now\n{GOOD}")
        assert 2 == len(await practice.sessions(ANA))

    async def test_skills_come_back_as_they_were_kept(self, practice: ConnectedPractice):
        guitar = {"name": "Guitar", "emoji": "🪕", "colour": "#ABCDEF", "archived": True, "goal_minutes": 600}
        chess = {"name": "chess", "emoji": "", "colour": "red;", "goal_minutes": -1, "weekly_minutes": 90}
        day = {"date": "2026-02-01", "minutes": 10}
        sessions = [{**day, "skill": name} for name in ("guitar", "chess", "piano")]
        practice.change(LocalEffect(writer.log, "Piano", 5, date(2026, 1, 1)))
        piano = {"name": "Piano", "goal_minutes": 60}
        whole = json.dumps({"skills": [guitar, chess, piano, None, {"name": "unused"}], "sessions": sessions})
        assert "New skills: guitar, chess." in await answer(practice, "/import now", files=[whole])
        kept = {skill.name: skill for skill in await practice.skills(ANA, include_archived=True)}
        assert {"guitar", "chess", "Piano"} == set(kept)
        assert ("🪕", "#abcdef", True, 600) == (
            kept["guitar"].emoji,
            kept["guitar"].colour,
            kept["guitar"].archived,
            kept["guitar"].goal_minutes,
        )
        assert (False, 600_000, 90) == (
            kept["chess"].archived,
            kept["chess"].goal_minutes,
            kept["chess"].weekly_minutes,
        )
        assert 600_000 == kept["Piano"].goal_minutes

    @pytest.mark.parametrize("text", ["/import", "/import now"])
    async def test_without_a_file_it_says_how(self, practice: ConnectedPractice, text: str):
        assert "`date,skill,minutes,notes`" in await answer(practice, text)


class TestExport:
    @pytest.mark.parametrize(("locale", "name"), [("en", "practice"), ("es", "practica")])
    @pytest.mark.parametrize("form", ["csv", "json"])
    async def test_what_goes_out_comes_in_again(self, practice: ConnectedPractice, form: str, locale: str, name: str):
        entries = [("=cmd()", 45, 'a, "b"\nc; \'d'), ("Guitar", 30, "-1 semitone"), ("Guitar", 30, "'+")]
        for skill, minutes, notes in entries:
            practice.change(LocalEffect(writer.log, skill, minutes, TODAY, notes))
        table = CommandTable(coach_commands(practice))
        command, word, arguments = table.parse(f"/export {form}") or (None, "", "")
        assert command is not None
        ana = replace(ANA, locale=locale)
        reply = await run(command, invocation(word, arguments, ana), practice.connection)
        (file,) = reply.files
        assert f"{name}-{TODAY}.{form}" == file.name
        assert (form, "es") != ("csv", locale) or b'"fecha","habilidad","minutos","notas"' in file.content
        kept = sorted((each.minutes, each.notes) for each in await practice.sessions(ANA))
        found = read_file(file.content.decode("utf-8-sig"), TODAY)
        assert () == found.bad
        assert kept == sorted((row.minutes, row.notes) for row in found.rows)
        if form == "json":
            assert {"=cmd()", "Guitar"} == {skill["name"] for skill in json.loads(file.content)["skills"]}
        assert {"=cmd()", "Guitar"} == {row.skill for row in found.rows}

    async def test_all_that_is_kept_goes_out_in_a_direct_chat(self, practice: ConnectedPractice):
        practice.change(LocalEffect(writer.log, "Guitar", 30, TODAY, "scales"))
        command, word, arguments = CommandTable(coach_commands(practice)).parse("/export all") or (None, "", "")
        assert command is not None
        asked = invocation(word, arguments, store=practice.connection)
        (file,) = (await run(command, asked, practice.connection)).files
        whole = json.loads(file.content)
        assert ["scales"] == [row["notes"] for row in whole["practice_sessions"]]
        assert ["Ana"] == [row["display_name"] for row in whole["users"]]
        group = replace(asked, principal=replace(ANA, in_group=True))
        assert "in a direct chat only" in (await run(command, group, practice.connection)).text
        practice.connection.execute(sa.update(users).values(display_name="a" * MAX_EXPORT_BYTES))
        assert "too much for a file in a chat" in (await run(command, asked, practice.connection)).text

    async def test_no_cell_begins_a_formula_whatever_separates_cells(self, practice: ConnectedPractice):
        """Spreadsheets of many countries split cells at ";", inside our quotes too."""
        marks = ("=", "+", "-", "@", "\t=", ";=", " =", ";;@", "＝", "'=")
        notes = [f"{before}{mark}cmd()" for before in ("", "x;", "x\t", "x,", "x\n") for mark in marks]
        for note in notes:
            practice.change(LocalEffect(writer.log, "guitar", 5, TODAY, note))
        (skill,), sessions = await practice.skills(ANA), await practice.sessions(ANA)
        content = practice_csv([skill], sessions).decode("utf-8-sig")
        for delimiter in ",;\t":
            cells = [cell for row in csv.reader(io.StringIO(content, newline=""), delimiter=delimiter) for cell in row]
            assert not [cell for cell in cells if cell.lstrip(' \t;,"')[:1] in {"=", "+", "-", "@", "＝"}], cells
        assert len(notes) == content.count(f'"{TODAY}","guitar",5,"')
        assert sorted(each.notes for each in sessions) == sorted(row.notes for row in read_file(content, TODAY).rows)

    @given(text=st.text(alphabet="=+-@;,\t\n' \"aＡ＝", max_size=20))
    def test_what_guards_a_cell_is_taken_off_again(self, text: str):
        assert text == unguard_cell(guard_cell(text))
