"""Numbers in the offline coach's answers, counted again from the entries alone by a reference that shares no code."""

import re
from datetime import date, timedelta
from random import Random

import pytest

from agent.coach.changes import LogPractice, SetWeeklyGoal
from tests.fakes.offline_conversation import Conversation
from tests.fakes.practice_reader import TODAY
from tests.torture.sampling import sampled

Entry = tuple[str, int, date]
SKILLS = ("guitar", "Piano", "Cello")


def _entries(seed: int) -> list[Entry]:
    """Half a year of practice, a few of the days empty."""
    random = Random(seed)
    return [
        (random.choice(SKILLS), random.randint(1, 150), TODAY - timedelta(days=random.randint(0, 180)))
        for _ in range(random.randint(1, 60))
    ]


def _practise(ana: Conversation, entries: list[Entry]) -> None:
    for skill, minutes, day in entries:
        ana.practice.change(LogPractice(skill, minutes, day))


def _amounts(answer: str) -> list[int]:
    """The stretches of time in an answer, in minutes: "2 h 5 min", "45 min", "12 h"."""
    found = re.findall(r"(?<![\w.])(?:(\d[\d\u202f]*) h)?(?: ?(\d+) min)?", answer)
    return [int((h or "0").replace("\u202f", "")) * 60 + int(m or 0) for h, m in found if h or m]


def _minutes(entries: list[Entry], since: date = date.min, until: date = TODAY, skill: str | None = None) -> int:
    return sum(minutes for name, minutes, day in entries if since <= day <= until and skill in (None, name))


def _streak(entries: list[Entry]) -> int:
    days = {day for _, _, day in entries}
    at = TODAY if TODAY in days else TODAY - timedelta(days=1)
    length = 0
    while at - timedelta(days=length) in days:
        length += 1
    return length


MONDAY = TODAY - timedelta(days=TODAY.weekday())


@pytest.mark.parametrize("seed", sampled(range(6), every=3))
class TestNumbers:
    async def test_one_number(self, ana: Conversation, seed: int):
        """In all, this week, last week, today, of one skill; and the streak."""
        entries = _entries(seed)
        _practise(ana, entries)
        week = timedelta(days=7)
        for words, minutes in (
            ("how much have I practised in total?", _minutes(entries)),
            ("how long did I practise this week?", _minutes(entries, MONDAY)),
            ("how much did I practise last week?", _minutes(entries, MONDAY - week, MONDAY - timedelta(days=1))),
            ("¿cuánto he practicado hoy?", _minutes(entries, TODAY)),
        ):
            assert minutes in _amounts(await ana.say(words)) or not minutes, words
        answer = await ana.say("what is my streak?")
        assert str(_streak(entries)) in re.findall(r"\d+", answer) or not _streak(entries)

    async def test_the_entries_of_days(self, ana: Conversation, seed: int):
        """Their sum, and each of them."""
        entries = _entries(seed)
        _practise(ana, entries)
        first = TODAY.replace(day=1)
        amounts = _amounts(await ana.say("what did I do this month?"))
        month = [minutes for _, minutes, day in entries if first <= day]
        assert sorted(amounts) == sorted([sum(month), *month] if month else [])

    async def test_what_was_logged_and_the_total_after_it(self, ana: Conversation, seed: int):
        """As the entries say, one and two at a time."""
        entries = _entries(seed)
        _practise(ana, [*entries, ("guitar", 1, TODAY), ("Piano", 1, TODAY)])
        guitar, piano = (_minutes(entries, skill=skill) + 1 for skill in ("guitar", "Piano"))
        amounts = _amounts(await ana.say("20 minutes of guitar, 15 of piano"))
        assert {20, 15, guitar + 20, piano + 15} <= set(amounts)

    async def test_the_stats(self, ana: Conversation, seed: int):
        """Each stretch of time in them can be counted again."""
        entries = _entries(seed)
        _practise(ana, entries)
        assert _minutes(entries) in _amounts(await ana.say("how am I doing?"))

    async def test_when_hours_are_reached(self, ana: Conversation, seed: int):
        """As many weeks ahead as the pace of the last eight weeks says, for one skill and for all; or already there."""
        entries = _entries(seed)
        _practise(ana, entries)
        for skill, asked in (
            ("guitar", "when will I reach 30 hours of guitar?"),
            (None, "¿cuándo llegaré a 200 horas?"),
        ):
            wanted, total = (30 * 60, _minutes(entries, skill=skill)) if skill else (200 * 60, _minutes(entries))
            amounts = _amounts(await ana.say(asked))
            assert {wanted, total} <= set(amounts), asked

    async def test_on_which_weekday_most_is_practised(self, ana: Conversation, seed: int):
        """And how much; the longest session too."""
        entries = _entries(seed)
        _practise(ana, entries)
        by_weekday = [sum(minutes for _, minutes, day in entries if day.weekday() == at) for at in range(7)]
        assert max(by_weekday) in _amounts(await ana.say("which day do I practise most?"))
        assert [max(minutes for _, minutes, _ in entries)] == _amounts(await ana.say("what's my longest session?"))

    async def test_the_goal_of_the_week(self, ana: Conversation, seed: int):
        """What is done of it, and what is left; nothing where none is set."""
        entries = _entries(seed)
        _practise(ana, entries)
        assert "/goal 4h" in await ana.say("what is my goal?")
        ana.practice.change(SetWeeklyGoal(2_000))
        done = _minutes(entries, MONDAY)
        assert [done or 0, 2_000, 2_000 - done] == _amounts(await ana.say("how far am I from my weekly goal?"))
