"""A reminder on the wire: asked for in a chat, and sent there when it is due."""

from pathlib import Path

from tests.journeys.house import house

DUE = """UPDATE schedules SET next_at = next_at - 86400000000,
    next_wall = strftime('%Y-%m-%dT%H:%M', next_wall, '-1 day')"""

MISSED = """UPDATE schedules SET next_at = next_at - 259200000000,
    rule = json_set(rule, '$.day', date(json_extract(rule, '$.day'), '-3 day')),
    next_wall = strftime('%Y-%m-%dT%H:%M', next_wall, '-3 day') WHERE rule LIKE '%"once"%'"""


async def test_a_reminder_is_said_in_the_chat_it_was_asked_for_in(tmp_path: Path) -> None:
    async with house(tmp_path, model=None) as here:
        at = (await here.rows("SELECT strftime('%H:%M', 'now', '-2 minutes') AS at"))[0]["at"]
        here.sim.say(1, f"/remind {at} guitar")
        await here.told(1, "I will remind you at")
        await here.store.commit(lambda connection: connection.exec_driver_sql(DUE))
        await here.told(1, f"⏰ {at}: guitar.")
        await here.settled()
        assert [{"kind": "system", "outcome": "answered"}] == await here.rows(
            "SELECT kind, outcome FROM inbox WHERE kind = 'system'"
        )
        assert 1 == sum("⏰" in text and "guitar." in text for text in here.texts(1))
        day = (await here.rows("SELECT date('now', '+2 days') AS day"))[0]["day"]
        here.sim.say(1, f"/remind {day} {at} concert")
        await here.told(1, f"at {at} (concert)")
        await here.store.commit(lambda connection: connection.exec_driver_sql(MISSED))
        await here.told(1, "I missed it: I was to remind you")
        assert [] == await here.rows("SELECT id FROM schedules WHERE rule LIKE '%once%'")


async def test_a_reminder_that_is_asked_for_in_words_is_set_by_a_yes(tmp_path: Path) -> None:
    async with house(tmp_path, model=None) as here:
        here.sim.say(1, "remind me tomorrow at 18:00 to practise guitar")
        await here.told(1, "18:00, tomorrow: guitar")
        here.sim.say(1, "yes")
        await here.told(1, "I will remind you")
        await here.settled()
        assert [{"at": "18:00", "about": "guitar"}] == await here.rows(
            "SELECT substr(next_wall, 12) AS at, name AS about FROM schedules"
        )
