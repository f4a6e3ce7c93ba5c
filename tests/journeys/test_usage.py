"""Model usage as its person and the operator read it; over the wire."""

from pathlib import Path

from gateway.testing.model import Reply
from tests.journeys.house import house

PRICES = "[model.prices]\ninput_usd_per_mtok = 2\noutput_usd_per_mtok = 10\n"


async def test_a_person_reads_what_was_used_for_them_and_what_it_cost(tmp_path: Path) -> None:
    async with house(tmp_path, config=PRICES) as here:
        here.model.answers(Reply("Hello Ana.", usage=(12_345, 678)))
        here.sim.say(1, "hello")
        await here.told(1, "Hello Ana.")
        await here.settled()
        here.sim.say(1, "/usage")
        told = await here.told(1, "Today:")
        assert "Today: 12,345 tokens read, 678 written, $0.03" in told.text
        assert "This week: 12,345 tokens" in told.text and "This month: 12,345 tokens" in told.text
        here.sim.say(1, "/language es")
        await here.told(1, "español")
        here.sim.say(1, "/usage")
        await here.told(1, "Hoy: 12.345 tokens leídos, 678 escritos, 0,03 US$")
        here.sim.say(2, "/usage")
        await here.told(2, "Today: nothing")
        (row,) = (await here.operator("GET /v1/usage", {"days": 1}))["rows"]
        groups = {
            by: (await here.operator("GET /v1/usage/by", {"days": 1, "by": by}))["rows"]
            for by in ("person", "model", "channel", "day")
        }
        days = (await here.operator("GET /v1/usage/summary", {"days": 3}))["days"]
        light = (await here.operator("GET /v1/usage/routes", {"days": 1}))["light"]
    assert (1, 1, 31_470, 12_345) == (light["turns"], light["calls"], light["cost_microusd"], light["input_tokens"])
    assert [*sorted(days)[:2], row["day"]] == [*days]
    assert [0, 0, 1] == [day["calls"] for day in days.values()]
    assert {"model": "openai:journey", "channel": "telegram:main", "day": row["day"], "person": row["name"]} == {
        by: rows[0]["name"] for by, rows in groups.items()
    }
    assert all([31_470] == [each["cost_microusd"] for each in rows] for rows in groups.values())
    assert (31_470, 0) == (row["cost_microusd"], row["unpriced_calls"])


async def test_an_unpriced_model_has_an_unknown_cost(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.sim.say(1, "hello")
        await here.told(1, "A short answer.")
        await here.settled()
        here.sim.say(1, "/usage")
        told = await here.told(1, "Today:")
        assert 3 == told.text.count("at a price I do not know") and "$" not in told.text
        (row,) = (await here.operator("GET /v1/usage", {"days": 1}))["rows"]
    assert (None, row["calls"]) == (row["cost_microusd"], row["unpriced_calls"])
