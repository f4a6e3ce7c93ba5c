"""Charts: the logged numbers, each shown once, in its own place."""

import asyncio
import re
from collections.abc import Sequence
from datetime import date, timedelta
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.child_process import ProgramEnded
from agent.coach.chart import (
    MAX_SKILLS,
    MAX_WEEKS,
    ChartReport,
    ChartSkill,
    ChartWeek,
    ChartWish,
    caption_text,
    chart_of,
    chart_text,
    read_chart_wish,
    weeks_in,
)
from agent.coach.chart_picture import DARK, LIGHT, chart_svg, draw_chart, plot, short_minutes
from agent.coach.durations import spell_minutes
from agent.coach.practice import COLOURS, DayTotal, Skill

TODAY = date(2026, 11, 22)  # a Sunday
SVG = "{http://www.w3.org/2000/svg}"
NAMES = (
    "guitar",
    "Conversación en inglés con Rosa los martes por la noche",
    "🎹 Piano",
    "M" * 64,
    "a <b>&</b>",
    "数学",
)


def a_skill(at: int, *, weekly: int | None = None) -> Skill:
    return Skill(f"s{at}", NAMES[at % len(NAMES)], "🎸", COLOURS[at % 8], 600_000, False, 0, 0, weekly)


def a_chart(skills: int, weeks: int, goal: int | None = None, minutes: int = 725) -> ChartReport:
    drawn = tuple(ChartSkill(name=NAMES[at % 6], colour=COLOURS[at % 8], minutes=minutes) for at in range(skills))
    days = [TODAY - timedelta(days=7 * back + 6) for back in reversed(range(weeks))]
    rows = tuple(ChartWeek(week=day, minutes=(minutes,) * skills) for day in days)
    return ChartReport(skills=drawn, weeks=rows, goal_minutes=goal)


async def test_two_charts_are_drawn_at_once_and_no_more():
    running: list[int] = []
    most = 0

    async def draw(argv: Sequence[str], given: bytes) -> ProgramEnded:
        nonlocal most
        running.append(1)
        most = max(most, len(running))
        for _ in range(5):
            await asyncio.sleep(0)
        running.pop()
        return ProgramEnded(0, given[:4], b"")

    async with asyncio.TaskGroup() as people:
        drawings = [people.create_task(draw_chart("en", a_chart(1, 2), run=draw)) for _ in range(20)]
    assert 2 == most
    assert {b"<svg"} == {drawing.result() for drawing in drawings}


def test_what_is_logged_in_a_week_that_has_not_begun_here_breaks_nothing():
    """A person logs on Monday, then flies west, where it is still Sunday."""
    totals = [DayTotal("s0", TODAY + timedelta(days=1), 30)]
    chart = chart_of([a_skill(0)], totals, TODAY, 0, ChartWish(), None)
    assert [date(2026, 11, 16)] == [week.week for week in chart.weeks] and not chart.total


@given(
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 400), st.integers(1, 600)), max_size=60),
    st.integers(1, MAX_WEEKS),
    st.integers(0, 6),
)
def test_every_minute_of_its_weeks_is_in_it_once(logged: list[tuple[int, int, int]], weeks: int, week_start: int):
    totals = [DayTotal(f"s{skill}", TODAY - timedelta(days=ago), minutes) for skill, ago, minutes in logged]
    chart = chart_of([a_skill(at) for at in range(12)], totals, TODAY, week_start, ChartWish(weeks=weeks), None)
    inside = sum(total.minutes for total in totals if total.day >= chart.weeks[0].week)
    assert inside == chart.total == sum(skill.minutes for skill in chart.skills)
    assert 1 <= len(chart.weeks) <= weeks and len(chart.skills) <= MAX_SKILLS
    assert all(week.week.weekday() == week_start for week in chart.weeks)
    assert chart.weeks[-1].week <= TODAY < chart.weeks[-1].week + timedelta(days=7)


def test_one_skill_has_its_own_goal_and_no_empty_weeks_before_its_first():
    skills = [a_skill(0, weekly=120), a_skill(1)]
    totals = [DayTotal("s0", TODAY - timedelta(days=9), 30), DayTotal("s1", TODAY, 45)]
    chart = chart_of(skills, totals, TODAY, 0, ChartWish(skills[0]), 300)
    assert [30, 0] == [week.total for week in chart.weeks]
    assert (120, "guitar") == (chart.goal_minutes, chart.only)


@pytest.mark.parametrize(
    ("text", "skill", "weeks", "dark", "rest"),
    [
        ("", None, None, False, ""),
        ("guitar", "guitar", None, False, ""),
        ("guitar 8", "guitar", 8, False, ""),
        ("8 guitar", "guitar", 8, False, ""),
        ("3 meses oscuro", None, 13, True, ""),
        ("1w", None, 1, False, ""),
        ("guitar 8 semanas", "guitar", 8, False, ""),
        ("500", None, 500, False, ""),
        ("60 weeks", None, 60, False, ""),
        ("guitar last year", "guitar", 52, False, ""),
        ("del último año", None, 52, False, ""),
        ("2 años", None, 104, False, ""),
        ("cello", None, None, False, "cello"),
        ("0", None, 1, False, ""),
        ("dark guitar", "guitar", None, True, ""),
    ],
)
def test_arguments_come_in_any_order(text: str, skill: str | None, weeks: int | None, dark: bool, rest: str):
    wish = read_chart_wish(text, [a_skill(0), a_skill(2)])
    assert (skill, weeks, dark, rest) == (wish.skill and wish.skill.name, wish.weeks, wish.is_dark, wish.rest)


@pytest.mark.parametrize(
    ("text", "weeks"),
    [
        ("show me a chart", None),
        ("gráfico de 8 semanas", 8),
        ("a chart of 2 months", 9),
        ("chart of the last year", 52),
    ],
)
def test_a_sentence_names_weeks_or_not(text: str, weeks: int | None):
    assert weeks == weeks_in(text)


@pytest.mark.parametrize("skills", [1, 3, 8])
@pytest.mark.parametrize("weeks", [1, 5, 12, 60])
@pytest.mark.parametrize("goal", [None, 60, 900, 90_000])
def test_no_words_stand_in_each_others_place(skills: int, weeks: int, goal: int | None):
    root = ET.fromstring(chart_svg("es", a_chart(skills, weeks, goal), LIGHT))
    wide = float(root.attrib["viewBox"].split()[2])
    boxes = []
    for text in root.iter(f"{SVG}text"):
        words = "".join(text.itertext())
        size, x, y = (float(text.attrib[name]) for name in ("font-size", "x", "y"))
        length = size * sum(1.0 if char > "\u2e80" else 0.9 if char in "MW" else 0.52 for char in words)
        left = x - length * {"start": 0, "middle": 0.5, "end": 1}[text.attrib["text-anchor"]]
        boxes.append((left, left + length, y - size * 0.7, y, words))
    assert all(-2 <= left and right <= wide + 2 for left, right, *_ in boxes), boxes
    for at, (left, right, top, bottom, words) in enumerate(boxes):
        for other in boxes[at + 1 :]:
            apart = right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top
            assert apart, (words, other[4])


@pytest.mark.parametrize(("weeks", "first"), [(52, "24 Nov"), (60, "29 Sep 2025")])
def test_dates_of_more_than_a_year_have_their_year(weeks: int, first: str):
    chart = a_chart(1, weeks)
    assert f"{first}: 12 h 5 min" in chart_text("en", chart)
    drawn = [each.text or "" for each in ET.fromstring(chart_svg("en", chart, LIGHT)).iter(f"{SVG}text")]
    assert ("16 Nov 2026" if weeks > 52 else "16 Nov") in drawn


def test_the_only_week_is_named_as_one():
    assert "week of 16 Nov" in chart_svg("en", a_chart(1, 1), LIGHT)
    assert "semana del 16 nov" in chart_svg("es", a_chart(1, 1), DARK)
    assert ">16 Nov<" in chart_svg("en", a_chart(1, 2), LIGHT)


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_words_say_what_the_picture_shows(language: str):
    chart = a_chart(3, 4, 600, minutes=45)
    text = chart_text(language, chart)
    assert 4 == text.count("2 h 15 min")
    assert spell_minutes(chart.total) in text and "10 h" in text
    assert 4 == len(re.findall(r">2 h 15<", chart_svg(language, chart, DARK)))


@pytest.mark.parametrize("minutes", [95, 100, 105])
def test_totals_stand_clear_of_the_goals_line(minutes: int):
    root = ET.fromstring(chart_svg("en", a_chart(1, 4, 100, minutes=minutes), LIGHT))
    (goal, _) = (float(line.attrib["y1"]) for line in root.iter(f"{SVG}line") if "stroke-dasharray" in line.attrib)
    totals = [text for text in root.iter(f"{SVG}text") if text.text == short_minutes(minutes)]
    assert 4 == len(totals)
    for total in totals:
        bottom, size = float(total.attrib["y"]), float(total.attrib["font-size"])
        assert bottom < goal - 2 or bottom - size > goal


@pytest.mark.parametrize(
    ("wanted", "weeks", "said"),
    [
        (80, 70, "60 weeks are the most that one chart shows."),
        (60, 5, "There is nothing before the week of 19 Oct."),
        (60, 52, "There is nothing before the week of 24 Nov 2025."),
        (None, 5, ""),
    ],
)
def test_fewer_weeks_than_asked_for_have_a_reason(wanted: int | None, weeks: int, said: str):
    totals = [DayTotal("s0", TODAY - timedelta(days=7 * ago), 45) for ago in range(weeks)]
    chart = chart_of([a_skill(0)], totals, TODAY, 0, ChartWish(weeks=wanted), None)
    line, _, reason = caption_text("en", chart).partition(" weeks.")
    assert said == reason.strip() and "\n" not in line and min(weeks, MAX_WEEKS) == len(chart.weeks)


def test_short_minutes_are_hours_and_what_is_left():
    assert ["45 min", "2 h", "2 h 15"] == [short_minutes(minutes) for minutes in (45, 120, 135)]


def test_two_skills_of_one_colour_can_be_told_apart():
    same = tuple(ChartSkill(name=name, colour="#dc2626", minutes=60) for name in ("a", "b"))
    chart = ChartReport(skills=same, weeks=(ChartWeek(week=TODAY, minutes=(60, 60)),), goal_minutes=None)
    dots = re.findall(r'<circle[^>]*fill="([^"]+)"', chart_svg("en", chart, LIGHT))
    assert 2 == len(set(dots))


async def test_a_picture_is_a_png_and_has_its_numbers_in_words():
    made = await plot("es", a_chart(8, 12, 600))
    assert made.png.startswith(b"\x89PNG\r\n") and 10_000 < len(made.png) < 300_000
    assert made.description.startswith("Tu práctica: ") and "*" not in made.description
    assert len(made.description) <= 1_000


async def test_nothing_logged_is_said_without_a_picture():
    made = await plot("en", a_chart(0, 3))
    assert (b"", "Nothing is logged in the last 3 weeks.") == (made.png, made.description)
