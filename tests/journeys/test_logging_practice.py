"""A person logs practice and asks how it goes."""

import json
from pathlib import Path

from gateway.testing.model import Call, Reply
from tests.journeys.house import house


async def test_practice_is_logged_by_command_and_told(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.sim.say(1, "/log 45m guitar scales")
        await here.told(1, "45")
        here.sim.say(1, "/stats")
        await here.until(lambda: len(here.texts(1)) == 2, "the answer to /stats")
        assert "guitar" in here.texts(1)[1].lower()
        rows = await here.rows("SELECT minutes, notes FROM practice_sessions")
        assert [(45, "scales")] == [(row["minutes"], row["notes"]) for row in rows]
        assert 0 == len(here.model.requests)


async def test_practice_is_logged_by_the_model_for_who_wrote(tmp_path: Path) -> None:
    """Cover A49."""
    async with house(tmp_path) as here:
        logging = {"skill": "cello", "minutes": 30}
        here.model.answers(
            Reply(calls=(Call("log_practice", json.dumps(logging | {"user_id": "somebody else"})),)),
            Reply(calls=(Call("log_practice", json.dumps(logging)),)),
            Reply("Thirty minutes, noted."),
        )
        here.sim.say(1, "I practised cello for half an hour")
        await here.told(1, "Thirty minutes, noted.")
        here.sim.say(2, "/stats")
        await here.until(lambda: len(here.texts(2)) == 1, "the stats of somebody else")
        assert "cello" not in here.texts(2)[0].lower()
        assert 1 == len(await here.rows("SELECT id FROM practice_sessions WHERE minutes = 30"))


async def test_an_undone_log_counts_no_more(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.sim.say(1, "/log 20m piano")
        await here.told(1, "20")
        here.sim.say(1, "/undo")
        await here.until(lambda: len(here.texts(1)) == 2, "the answer to /undo")
        assert 0 == len(await here.rows("SELECT id FROM practice_sessions WHERE undone_at IS NULL"))


async def test_what_is_read_behind_a_log_in_one_response_knows_of_it(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        log = Call("log_practice", json.dumps({"skill": "cello", "minutes": 30}))
        read = Call("get_user_skills")
        here.model.answers(Reply(calls=(read, log, read), chunk_delay_s=0.005), Reply("Noted."))
        here.sim.say(1, "half an hour of cello, how many skills have I?")
        await here.told(1, "Noted.")
        results = [json.loads(m["content"]) for m in here.model.requests[1].body["messages"] if m["role"] == "tool"]
        assert [0, 1] == [len(results[at]["data"]["skills"]) for at in (0, 2)]
        assert 30 == results[2]["data"]["skills"][0]["total_minutes"]
