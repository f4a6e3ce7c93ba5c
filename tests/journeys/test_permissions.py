"""Permissions as people set them in a chat: rules of one person and conversation, and the mode of an owner."""

from pathlib import Path

from agent.tools.base import tools_of
from gateway.testing.model import Call, Reply
from tests.journeys.house import house, results
from tests.journeys.test_confirming import Shop

SEEN = "an update that the earlier gateway read"  # the new simulator counts from one again

LOGS = Reply(calls=(Call("log_practice", '{"minutes": 45, "skill": "guitar"}'),))
ORDERS = Reply(calls=(Call("order", '{"name": "tea"}'),))


async def test_an_owner_sets_plan_mode_for_the_chat_and_nothing_is_changed_in_it(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.sim.say(1, "/start")
        await here.told(1, "Hello")
        here.sim.say(1, "/permissions plan")
        await here.told(1, "/permissions plan is for owners")
        await here.operator("POST /v1/users/telegram:1/role", {"role": "owner"})
        here.sim.say(1, "/permissions plan")
        await here.told(1, "I read and plan, and change nothing")
        here.model.answers(LOGS, Reply("I may not."))
        here.sim.say(1, "I practised guitar for 45 minutes")
        await here.told(1, "I may not.")
        assert "in plan mode nothing is changed" in results(here)[-1]["error"]
        here.sim.say(1, "/new")
        await here.settled()
    async with house(tmp_path) as here:
        here.sim.say(1, SEEN)
        here.model.answers(LOGS, Reply("Still not."), LOGS, Reply("Logged."))
        here.sim.say(1, "and now?")
        await here.told(1, "Still not.")
        assert "in plan mode nothing is changed" in results(here)[-1]["error"]
        here.sim.say(1, "/permissions default")
        await here.told(1, "(mode default)")
        here.sim.say(1, "and now?")
        await here.told(1, "Logged.")
        assert results(here)[-1]["success"]


async def test_a_rule_of_a_person_holds_for_their_conversation(tmp_path: Path) -> None:
    shop = Shop()
    async with house(tmp_path, tools=tools_of(shop)) as here:
        for words, told in (
            ("/permissions allow order(name=tea)", "order(name=tea): runs unasked in this conversation"),
            ("/permissions deny log_*", "log_*: denied in this conversation"),
            ("/permissions ask order(", r"order( is not a rule"),
        ):
            here.sim.say(1, words)
            await here.told(1, told)
        here.model.answers(ORDERS, LOGS, Reply("Done."))
        here.sim.say(1, "order tea")
        await here.told(1, "Done.")
        assert ["tea"] == shop.ordered
        assert "the rules forbid it (log_*, session)" in results(here)[-1]["error"]
        here.sim.say(1, "/permissions deny get_*")
        await here.told(1, "get_*: denied in this conversation")
        here.model.answers(Reply(calls=(Call("get_user_skills", "{}"),)), Reply("Beside it."))
        here.sim.say(1, "/btw what do I practise?")
        await here.told(1, "Beside it.")
        assert "the rules forbid it (get_*, session)" in results(here)[-1]["error"]
        here.sim.say(1, "/new")
        await here.told(1, "new conversation")
        here.model.answers(ORDERS)
        here.sim.say(1, "order tea")
        await here.told(1, "May I use order?")
