"""Several people with the bot in one group: each is served with their own data."""

import json
from pathlib import Path

from gateway.testing.model import Call, Reply
from tests.journeys.house import house, said

GROUP = -1001234567890
ALLOWED = f'[access.accounts."telegram:main"]\ngroups = "open"\nallow_groups = ["telegram:{GROUP}"]\n'


async def test_what_a_tool_read_for_one_member_is_not_told_for_another(tmp_path: Path) -> None:
    """Cover A51, A52."""
    async with house(tmp_path, config=ALLOWED) as here:
        here.sim.add_chat(GROUP, "supergroup")
        here.sim.say(1, "/log 45m secretcello")
        await here.told(1, "45")
        ask = Reply(calls=(Call("get_user_skills", json.dumps({}), id="one"),))
        here.model.answers(ask, Reply("Going well."), Reply("Hello Bea."), Reply("Still well."))
        bot = f"@{here.sim.world.bot().username}"
        for person, answer in ((1, "Going well."), (2, "Hello Bea."), (1, "Still well.")):
            here.sim.say(GROUP, f"{bot} how do I do?", person=person)
            await here.told(GROUP, answer)
            await here.settled()
        _, _, of_bea, of_ana = [request.body for request in here.model.requests]
        assert "secretcello" not in json.dumps(of_bea) and "get_user_skills" not in json.dumps(of_bea["messages"])
        assert ["user", "assistant", "user"] == [message["role"] for message in of_bea["messages"][1:]]
        assert "another person" in said(of_bea)[0] and "another person" not in said(of_bea)[1]
        assert "Going well." in json.dumps(of_bea)
        assert "secretcello" in json.dumps(of_ana)
