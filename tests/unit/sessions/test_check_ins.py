"""Check-ins through the gateway's own parts: a plan as the week begins, a sentence after a gap, each said once."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent.coach.reader.reader import OfflineReader
from agent.models.offline import OfflineModel
from gateway.coach.product import COACH
from gateway.ops.scheduler import take_due
from gateway.store.people import set_timezone
from tests.fakes.practice_reader import add_people
from tests.fakes.spine import Spine, quick_store

WEDNESDAY = datetime(2026, 3, 4, 19, 0, tzinfo=UTC)
MONDAY = datetime(2026, 3, 9, 8, 1, tzinfo=UTC)
GAP_OVER = datetime(2026, 3, 9, 18, 1, tzinfo=UTC)  # the evening of the fifth day after Wednesday


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Spine]:
    store = await quick_store(tmp_path / "tenk.db")
    spine = Spine(
        store, practice=True, prompt=COACH.prompt, now=WEDNESDAY, tools=tuple(COACH.tools(store.of("default")))
    )
    spine.model = OfflineModel(OfflineReader())  # type: ignore[assignment]  # a model as any other
    await store.commit(lambda connection: add_people(connection, *spine.people.known.values()))
    await spine.begin()
    yield spine
    await spine.kill()
    await store.aclose()


async def look(here: Spine, at: datetime, *, times: int = 2) -> list[str]:
    here.now = at
    before = len(here.channel.shown())
    assert COACH.schedule is not None
    for _ in range(times):
        await take_due(here.store, COACH.schedule, lambda: here.now, lambda: here.now)
        await here.quiet()
    return here.channel.shown()[before:]


def plans(said: list[str]) -> int:
    return sum("**Plan**" in text for text in said)


async def asked(here: Spine, text: str, chat: str = "c1") -> str:
    before = len(here.channel.shown(chat))
    await here.say(text, chat=chat)
    await here.quiet()
    return "\n".join(here.channel.shown(chat)[before:])


async def test_a_gap_of_five_days_is_noticed_in_one_sentence_and_never_twice(here: Spine) -> None:
    await asked(here, "/log 45m guitar")
    assert [] == await look(here, GAP_OVER - timedelta(hours=1))
    (said,) = await look(here, GAP_OVER)
    assert "45 min of guitar" in said
    assert 1 == len(said.split(". "))
    assert [] == await look(here, GAP_OVER + timedelta(days=5))


async def test_practice_moves_the_notice_on(here: Spine) -> None:
    await asked(here, "/log 45m guitar")
    here.now += timedelta(days=2)
    await asked(here, "/log 20m piano")
    assert [] == await look(here, GAP_OVER)
    (said,) = await look(here, GAP_OVER + timedelta(days=2))
    assert "20 min of piano" in said


async def test_a_person_who_practises_once_a_week_hears_nothing(here: Spine) -> None:
    for week in range(4):
        here.now = WEDNESDAY + timedelta(weeks=week)
        await asked(here, "/log 45m guitar")
    assert [] == await look(here, GAP_OVER + timedelta(weeks=3))


async def test_a_person_who_wants_no_notice_hears_none(here: Spine) -> None:
    assert "will not write" in await asked(here, "/checkins gaps off")
    await asked(here, "/log 45m guitar")
    assert [] == await look(here, GAP_OVER)


async def test_a_gap_that_ended_while_no_gateway_ran_is_not_told(here: Spine) -> None:
    await asked(here, "/log 45m guitar")
    assert [] == await look(here, GAP_OVER + timedelta(days=1))


async def test_a_person_who_said_yes_once_has_each_week_opened_with_a_plan(here: Spine) -> None:
    await asked(here, "/log 45m guitar")
    assert "Shall I open each of your weeks" in await asked(here, "/plan new")
    assert "Shall I open each of your weeks" not in await asked(here, "/plan new"), "the question is put once"
    assert "Mondays at 08:00" in await asked(here, "/checkins plan on")
    assert [] == await look(here, MONDAY - timedelta(minutes=5))
    assert 1 == plans(await look(here, MONDAY))
    await asked(here, "/log 30m guitar")
    assert 1 == plans(await look(here, MONDAY + timedelta(weeks=1)))
    await asked(here, "/checkins plan off")
    assert 0 == plans(await look(here, MONDAY + timedelta(weeks=2)))


async def test_a_week_is_opened_in_the_morning_of_the_zone_where_the_person_is_now(here: Spine) -> None:
    await asked(here, "/log 45m guitar")
    await asked(here, "/checkins plan on")
    await here.store.commit(lambda connection: set_timezone(connection, "p1", "America/New_York"))
    assert 0 == plans(await look(here, MONDAY))
    assert 1 == plans(await look(here, MONDAY + timedelta(hours=4)))


async def test_a_person_who_has_not_practised_for_a_month_is_left_alone(here: Spine) -> None:
    await asked(here, "/log 45m guitar")
    await asked(here, "/checkins plan on")
    assert [] == await look(here, MONDAY + timedelta(weeks=5))


async def test_what_is_on_is_shown(here: Spine) -> None:
    shown = await asked(here, "/checkins")
    assert "I do not open your weeks" in shown
    assert "five days" in shown
