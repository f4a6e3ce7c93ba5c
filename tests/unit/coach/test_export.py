"""Practice as a file: complete, without formulas."""

from datetime import date

from agent.coach.practice import PracticeSession, Skill
from gateway.coach.file_commands import practice_csv

GUITAR = Skill("s1", "guitar", "🎸", "#112233", 600_000, archived=False, total_minutes=75)


def test_every_session_is_a_row_the_oldest_first() -> None:
    sessions = [
        PracticeSession("b", "s1", 30, date(2026, 11, 20), "scales, slowly"),
        PracticeSession("a", "s1", 45, date(2026, 11, 19)),
    ]
    lines = practice_csv([GUITAR], sessions).decode("utf-8-sig").splitlines()
    assert [
        '"date","skill","minutes","notes"',
        '"2026-11-19","guitar",45,""',
        '"2026-11-20","guitar",30,"scales, slowly"',
    ] == lines


def test_a79_no_cell_is_a_formula() -> None:
    skill = Skill("s1", "=cmd|' /C calc'!A0", "", "#112233", 600_000, archived=False, total_minutes=1)
    session = PracticeSession("a", "s1", 1, date(2026, 1, 1), "@SUM(A1)")
    row = practice_csv([skill], [session]).decode("utf-8-sig").splitlines()[1]
    assert """\"2026-01-01","'=cmd|' /C calc'!A0",1,"'@SUM(A1)\"""" == row
