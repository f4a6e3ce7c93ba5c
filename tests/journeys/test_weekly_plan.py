"""A weekly plan as a person meets it: stored, shown again, and not overwritten by a question."""

from pathlib import Path

from tests.journeys.house import house

PLANS = "SELECT content, sessions FROM weekly_plans"


async def test_a_question_about_the_plan_leaves_it_as_it_is(tmp_path: Path) -> None:
    async with house(tmp_path, model=None) as here:
        here.sim.say(1, "/log 45m guitar scales")
        await here.told(1, "Logged")
        here.sim.say(1, "plan my week")
        await here.told(1, "Summary")
        await here.settled()
        kept = await here.rows(PLANS)
        here.sim.say(1, "what was my plan this week?")
        await here.settled()
        here.sim.say(1, "/plan")
        await here.told(1, "Your plan for")
        await here.settled()
        assert kept == await here.rows(PLANS)
        here.sim.say(1, "/plan gui")
        await here.settled()
        assert 1 == len(await here.rows(PLANS))
