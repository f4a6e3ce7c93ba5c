"""A month with the offline coach, day by day on a clock of its own; every answer is checked by a second calculation.

Two people, one in English from London, one in Spanish from Madrid; the clocks go back in it, and both fly to New York,
where they go back again. The test shares no code with the coach: it counts days, weeks, streaks and slots itself.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from agent.coach.reader.reader import OfflineReader
from agent.models.offline import OfflineModel
from channels.base import Limits
from gateway.coach.product import COACH
from gateway.coach.tables import practice_sessions
from gateway.ops.scheduler import PEOPLES, take_due
from gateway.store.tables.people import users
from tests.fakes.chat import FakeChannel
from tests.fakes.spine import Spine, quick_store

DAY = timedelta(days=1)
FIRST = date(2026, 10, 12)  # a Monday; clocks go back on 25 October in Europe, on 1 November in New York
LAST = FIRST + timedelta(days=27)
FLIGHT = date(2026, 10, 29)
REMINDED = "19:00"


@dataclass(frozen=True)
class Voice:
    locale: str
    skill: str
    home: str  # IANA zone
    still_to_come: str
    denied: str
    level_up: str


ENGLISH = Voice(
    "en",
    "guitar",
    "Europe/London",
    "tomorrow I'm going to play guitar for 50 minutes",
    "I nearly played guitar for 30 minutes",
    "Apprentice",
)
SPANISH = Voice(
    "es",
    "guitarra",
    "Europe/Madrid",
    "mañana voy a tocar la guitarra 50 minutos",
    "casi toco la guitarra 30 minutos",
    "Aprendiz",
)


@dataclass
class Month:
    spine: Spine
    look: Callable[[], Awaitable[None]]
    voice: Voice
    zone: ZoneInfo
    done: Counter[date] = field(default_factory=Counter)
    reminded: list[datetime] = field(default_factory=list)
    reminded_on: set[date] = field(default_factory=set)  # dates where they were

    async def until(self, day: date, hour: int) -> None:
        """Let the hours pass, one by one, as their watch shows them; what is due is said meanwhile."""
        while self.spine.now.astimezone(self.zone) < datetime(day.year, day.month, day.day, hour, 5, tzinfo=self.zone):
            self.spine.later(hours=1)
            before = len(self.spine.channel.calls)
            await self.look()
            local = self.spine.now.astimezone(self.zone)
            if local.hour == int(REMINDED[:2]) and local.date() not in self.reminded_on:
                await self.spine.until(partial(self._has_said_more, before))
            await self.spine.quiet()
            if any("⏰" in call.text for call in self.spine.channel.calls[before:]):
                self.reminded.append(self.spine.now)
                self.reminded_on.add(local.date())

    async def say(self, text: str) -> str:
        before = len(self.spine.channel.calls)
        await self.spine.say(text)
        await self.spine.until(partial(self._has_said_more, before))
        await self.spine.quiet()
        shown = {call.message_id: call.text for call in self.spine.channel.calls[before:]}
        return "\n".join(shown.values())

    def _has_said_more(self, calls: int) -> bool:
        return len(self.spine.channel.calls) > calls

    def streak(self, today: date) -> int:
        at, length = today if self.done[today] else today - DAY, 0
        while self.done[at - length * DAY]:
            length += 1
        return length

    def week(self, today: date) -> int:
        monday = today - timedelta(days=today.weekday())
        return sum(minutes for day, minutes in self.done.items() if monday <= day <= today)


def amounts(answer: str) -> set[int]:
    found = re.findall(r"(?<![\w.])(?:(\d[\d\u202f]*) h)?(?: ?(\d+) min)?", answer)
    return {int((h or "0").replace("\u202f", "")) * 60 + int(m or 0) for h, m in found if h or m}


@asynccontextmanager
async def a_month(directory: Path, voice: Voice) -> AsyncIterator[Month]:
    store = await quick_store(directory / "tenk.db")
    channel = FakeChannel(limits=Limits(max_text=4000, unit=FakeChannel().limits.unit, edit_interval_s=0.0))
    zone = ZoneInfo(voice.home)
    begins = datetime(FIRST.year, FIRST.month, FIRST.day, 8, 5, tzinfo=zone).astimezone(UTC)
    spine = Spine(
        store,
        channel=channel,
        practice=True,
        prompt=COACH.prompt,
        now=begins,
        tools=tuple(COACH.tools(store.of("default"))),
    )
    spine.model = OfflineModel(OfflineReader())  # type: ignore[assignment]  # a model as any other
    spine.people.known["p1"] = replace(spine.people.known["p1"], locale=voice.locale, timezone=voice.home)
    person = {
        "id": "p1",
        "tenant_id": "default",
        "role": "owner",
        "display_name": "Ana",
        "locale": voice.locale,
        "timezone": voice.home,
        "week_start": 0,
        "created_at": begins,
    }
    await store.commit(lambda connection: connection.execute(users.insert().values(person)))
    await spine.begin()
    look = partial(take_due, store, PEOPLES, lambda: spine.now, lambda: spine.now)
    try:
        yield Month(spine, look, voice, zone)
    finally:
        await spine.kill()
        await store.aclose()


async def practise(month: Month, day: date) -> None:
    voice, number = month.voice, (day - FIRST).days
    minutes = 200 + 5 * number
    if number % 7 == 6:
        return  # Sundays are free
    if number % 7 == 2:
        await month.say(f"/log 40m {voice.skill} yesterday; {minutes}m {voice.skill}")
        month.done[day - DAY] += 40
    else:
        await month.say(f"/log {minutes}m {voice.skill}")
    month.done[day] += minutes
    if number % 5 == 3:
        answer = await month.say(f"/edit today {voice.skill} {minutes - 15}m")
        month.done[day] -= 15
        assert minutes - 15 in amounts(answer), answer
    if number % 9 == 4:
        for words in (voice.still_to_come, voice.denied):
            await month.say(words)
        await month.say(f"/log 17m {voice.skill}")
        assert 17 in amounts(await month.say("/undo"))


@pytest.mark.gate
@pytest.mark.parametrize("voice", [ENGLISH, SPANISH], ids=lambda voice: voice.locale)
async def test_a_month_of_answers_agrees_with_what_was_done(tmp_path: Path, voice: Voice) -> None:
    async with a_month(tmp_path, voice) as month:
        assert REMINDED in await month.say(f"/remind {REMINDED} {voice.skill}")
        await month.say(f"/log 1m {voice.skill}")
        month.done[FIRST] += 1
        levels = 0
        for number in range(28):
            day = FIRST + number * DAY
            if day == FLIGHT:
                month.zone = ZoneInfo("America/New_York")
                assert "New_York" in await month.say("/timezone America/New_York")
            await month.until(day, 20)
            before = sum(month.done.values())
            await practise(month, day)
            levels += before < 6_000 <= sum(month.done.values())
            stats = await month.say("/stats")
            assert month.week(day) in amounts(stats), stats
            assert day == FIRST or str(month.streak(day)) in re.findall(r"\d+", stats), stats
        total = sum(month.done.values())
        assert total in amounts(await month.say(f"/stats {voice.skill}"))
        assert total > 6_000 and levels == 1
        assert any(voice.level_up in call.text for call in month.spine.channel.calls)
        at_seven = [at.astimezone(month_zone(at, voice)) for at in month.reminded]
        assert [FIRST + number * DAY for number in range(28)] == [at.date() for at in at_seven]
        assert {int(REMINDED[:2])} == {at.hour for at in at_seven}
        assert total in amounts(await month.say("/plan"))
        assert total in amounts(await month.say("/plan"))  # the one that was kept
        assert month.week(LAST) in amounts(await month.say("/chart"))
        on, spent = practice_sessions.c.local_date, sa.func.sum(practice_sessions.c.minutes)
        kept = sa.select(on, spent).where(practice_sessions.c.undone_at.is_(None)).group_by(on)
        stored = await month.spine.store.read(lambda connection: {row[0]: row[1] for row in connection.execute(kept)})
        assert stored == {day: minutes for day, minutes in month.done.items() if minutes}


def month_zone(at: datetime, voice: Voice) -> ZoneInfo:
    return ZoneInfo(voice.home) if at.astimezone(ZoneInfo(voice.home)).date() < FLIGHT else ZoneInfo("America/New_York")
