"""Reminders through the gateway's own parts: one a slot, over kills, clock jumps and other zones."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from gateway.access.config import Role
from gateway.ops.scheduler import PEOPLES, take_due
from gateway.store.engine import Store
from gateway.store.people import set_timezone
from gateway.store.tables.people import users
from tests.fakes.spine import Spine, practising

ANA = "p1"
SEVEN = datetime(2026, 3, 4, 19, 0, tzinfo=UTC)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Spine]:
    async with practising(tmp_path) as spine:
        yield spine


async def look(here: Spine, at: datetime | None = None, *, times: int = 1) -> list[str]:
    here.now = at or here.now
    before = len(here.channel.shown())
    for _ in range(times):
        await take_due(here.store, PEOPLES, lambda: here.now, lambda: here.now)
        await here.quiet()
    return here.channel.shown()[before:]


async def asked(here: Spine, text: str, **more: str) -> str:
    chat = more.get("chat", "c1")
    before = len(here.channel.shown(chat))
    await here.say(text, **more)
    await here.quiet()
    return "\n".join(here.channel.shown(chat)[before:])


async def count(store: Store, table: str) -> int:
    query = sa.text(f"SELECT count(*) FROM {table}")
    return await store.read(lambda connection: connection.execute(query).scalar_one())


async def test_what_a_sentence_would_say_the_command_takes(here: Spine) -> None:
    assert "tomorrow at **07:00**." in await asked(here, "/remind tomorrow at seven")
    assert "tomorrow at **07:00** (play)" in await asked(here, "/remind me tomorrow at 7 to play")
    assert "today at **12:20**." in await asked(here, "/remind in 20 minutes")
    assert "passed already" in await asked(here, "/remind yesterday at seven")
    assert "Say when" in await asked(here, "/remind guitar")


async def test_it_says_what_there_is_to_build_on(here: Spine) -> None:
    here.people.known[ANA] = replace(here.people.known[ANA], locale="es")
    await asked(here, "/remind 19:00")
    for day in ("2026-03-02", "2026-03-03"):
        await asked(here, f"/log {day} 30m guitarra")
    assert ["⏰ 19:00: hora de practicar. Tu racha es de 2 días; unos minutos la mantienen."] == await look(here, SEVEN)
    here.later(hours=23)
    await asked(here, "/log 45m guitarra")
    (said,) = await look(here, SEVEN + timedelta(days=1))
    assert "Hoy ya llevas 45 min" in said


async def test_a_clock_set_back_says_nothing_twice(here: Spine) -> None:
    await asked(here, "/remind 19:00")
    assert 1 == len(await look(here, SEVEN))
    assert [] == await look(here, SEVEN - timedelta(hours=5))
    assert [] == await look(here, SEVEN + timedelta(seconds=2))
    assert 1 == len(await look(here, SEVEN + timedelta(days=1)))


async def test_what_was_missed_is_said_late_once_or_not_at_all(here: Spine) -> None:
    await asked(here, "/remind 19:00")
    (said,) = await look(here, SEVEN + timedelta(hours=2))
    assert "I could not tell you at 19:00" in said
    assert [] == await look(here, SEVEN + timedelta(days=3, hours=7))
    (said,) = await look(here, SEVEN + timedelta(days=6, hours=1))
    assert "sorry for the delay" in said


async def test_a_restart_says_it_once(here: Spine) -> None:
    await asked(here, "/remind 19:00")
    here.now = SEVEN
    await here.kill()
    await take_due(here.store, PEOPLES, lambda: here.now, lambda: here.now)
    assert 1 == await count(here.store, "inbox WHERE kind = 'system' AND outcome IS NULL")
    await here.begin()
    await here.quiet()
    assert 1 == sum("⏰ 19:00" in text and "time to practise" in text for text in here.channel.shown())
    assert [] == await look(here, SEVEN + timedelta(minutes=1))


async def test_a_commit_that_fails_moves_nothing_on(here: Spine) -> None:
    await asked(here, "/remind 19:00")
    here.now = SEVEN
    take = PEOPLES.take

    def broken(connection: sa.Connection, now: datetime) -> list[object]:
        take(connection, now)
        raise ValueError("in the middle of the commit")

    with pytest.raises(ValueError, match="in the middle"):
        await take_due(here.store, replace(PEOPLES, take=broken), lambda: here.now, lambda: here.now)
    assert 0 == await count(here.store, "inbox WHERE kind = 'system'")
    assert 1 == len(await look(here, SEVEN))


async def test_it_follows_the_person_to_another_zone(here: Spine) -> None:
    await asked(here, "/remind 19:00")
    assert 1 == len(await look(here, SEVEN))
    await here.store.commit(lambda connection: set_timezone(connection, ANA, "America/New_York"))
    assert [] == await look(here, SEVEN + timedelta(hours=5))
    assert 1 == len(await look(here, SEVEN + timedelta(days=1, hours=5)))


async def test_a_reminder_for_one_day_is_gone_after_it(here: Spine) -> None:
    await asked(here, "/remind tomorrow 7:00 scales")
    assert "07:00, tomorrow: scales" in await asked(here, "/remind list")
    (said,) = await look(here, datetime(2026, 3, 5, 7, tzinfo=UTC))
    assert "**scales**" in said
    assert "You have no reminders" in await asked(here, "/remind list")


async def test_reminders_are_taken_away(here: Spine) -> None:
    for words in ("19:00 guitar", "20:00 piano", "21:00 chess"):
        await asked(here, f"/remind {words}")
    assert "1 reminder is gone." == await asked(here, "/remind off 2")
    assert "piano" not in await asked(here, "/remind")
    assert "2 reminders are gone." == await asked(here, "/remind off")
    assert [] == await look(here, SEVEN + timedelta(hours=3))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("2026-03-04 11:00", "That has passed already"),
        ("2025-01-01 11:00", "That has passed already"),
        ("25:00 guitar", "no such time as “25:00”"),
        ("2027-02-30 10:00 concert", "no such day as “2027-02-30”"),
        ("some time", "Say when, like"),
        ("off 7", "no reminders"),
    ],
)
async def test_what_makes_no_sense_is_told(here: Spine, words: str, told: str) -> None:
    assert told in await asked(here, f"/remind {words}")
    assert 0 == await count(here.store, "schedules")


async def test_a_time_that_does_not_exist_and_a_zone_that_does_not(here: Spine) -> None:
    here.people.known[ANA] = replace(here.people.known[ANA], timezone="Europe/Madrid")
    assert "That day has no 02:30" in await asked(here, "/remind 2026-03-29 2:30")
    here.people.known[ANA] = replace(here.people.known[ANA], timezone="Moon/Base")
    assert "I do not know the zone “Moon/Base”" in await asked(here, "/remind 19:00")


async def test_in_a_group_it_is_not_set(here: Spine) -> None:
    assert "in a direct chat" in await asked(here, "/remind 19:00", chat="g1")
    assert 0 == await count(here.store, "schedules")


async def test_people_cannot_type_the_gateways_own_markers(here: Spine) -> None:
    assert "⏰" not in await asked(here, '/reminder {"at": "19:00", "about": "", "late_min": 0}')
    assert "/reminder" not in await asked(here, "/help")


async def test_who_is_let_out_is_reminded_no_more(here: Spine) -> None:
    await asked(here, "/remind 19:00")
    await here.store.commit(lambda c: c.execute(sa.update(users).where(users.c.id == ANA).values(role=Role.BLOCKED)))
    del here.people.known[ANA]
    assert [] == await look(here, SEVEN)
