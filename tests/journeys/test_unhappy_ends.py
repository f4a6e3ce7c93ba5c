"""A turn whose model fails: its cost is counted, its findings are told, and the apology is no person's words."""

from pathlib import Path

import structlog
from structlog.testing import capture_logs

from gateway.testing.model import Call, Fault, Reply
from tests.journeys.house import House, house

QUICK = """
[model]
first_byte_s = 5.0
idle_abort_s = 1.0
whole_s = 5.0
tries = 2
[agent]
patience_s = 0.5
"""
BUSY = Fault(status=429, body={"error": {"message": "slow down"}}, headers={"Retry-After": "3600"})
LOGGED = Reply(calls=(Call("log_practice", '{"skill": "guitar", "minutes": 30}'),))


async def used(here: House) -> list[tuple[int, int, bool]]:
    rows = await here.rows("SELECT input_tokens, output_tokens, estimated FROM usage ORDER BY id")
    return [(row["input_tokens"], row["output_tokens"], bool(row["estimated"])) for row in rows]


async def test_a_response_cut_at_the_cap_is_paid_for(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.model.answers(Reply("half of", finish="length", usage=(100, 70)), Reply("The whole.", usage=(101, 7)))
        here.sim.say(1, "hello")
        await here.told(1, "The whole.")
        await here.settled()
        assert [(100, 70, False), (101, 7, False)] == await used(here)
        (told,) = (await here.operator("GET /v1/usage", {"days": 1}))["rows"]
        assert (2, 1, 0, 201, 77) == tuple(
            told[key] for key in ("calls", "discarded", "estimated", "input_tokens", "output_tokens")
        )


async def test_a_stream_that_breaks_is_paid_for_by_an_estimate(tmp_path: Path) -> None:
    async with house(tmp_path, config=QUICK) as here:
        here.model.answers(Reply("words " * 40, stall_after_chunks=4), Reply("The whole.", usage=(101, 7)))
        here.sim.say(1, "hello")
        await here.told(1, "The whole.")
        await here.settled()
        (thrown_away, kept) = await used(here)
        assert (101, 7, False) == kept
        assert thrown_away[2]
        assert thrown_away[0] > 0 < thrown_away[1]


async def test_a_plan_handed_to_the_loop_is_paid_for(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.model.answers(Reply("", usage=(300, 1)), Reply("Practise daily.", usage=(101, 7)))
        here.sim.say(1, "/plan")
        await here.told(1, "Practise daily.")
        await here.settled()
        assert [(300, 1, False), (101, 7, False)] == await used(here)


async def test_an_excuse_is_told_and_is_not_the_models_words(tmp_path: Path) -> None:
    async with house(tmp_path, config=QUICK) as here:
        here.model.answers(BUSY)
        here.sim.say(1, "hello")
        await here.told(1, "My model is busy")
        here.sim.say(1, "and now?")
        await here.told(1, "A short answer.")
        messages = here.model.requests[-1].body["messages"]
        assert not [message for message in messages if "busy" in str(message["content"])]
        assert [] == [message for message in messages if message["role"] == "assistant"]
        asked = [str(message["content"]) for message in messages if message["role"] == "user"]
        assert any("hello" in text for text in asked)
        assert any("and now?" in text for text in asked)


async def test_what_was_done_before_the_model_failed_is_told(tmp_path: Path) -> None:
    async with house(tmp_path, config=QUICK) as here:
        here.model.answers(LOGGED, BUSY)
        here.sim.say(1, "30 minutes of guitar")
        shown = await here.told(1, "My model is busy")
        assert "30 min" in shown.text
        assert "guitar" in shown.text
        assert 1 == len(await here.rows("SELECT id FROM practice_sessions"))


async def test_a_turn_that_goes_well_is_in_the_log(tmp_path: Path) -> None:
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as logs:
        async with house(tmp_path) as here:
            here.model.answers(LOGGED, Reply("Noted.", usage=(150, 20)))
            here.sim.say(1, "30 minutes of guitar")
            await here.told(1, "Noted.")
            here.sim.say(1, "/help me, canary")
            await here.told(1, "/help")
            await here.settled()
            (turn,) = await here.rows("SELECT id, session_id, user_id FROM turns")
    begun, ended = (line for line in logs if str(line["event"]).startswith("turn_"))
    (command,) = (line for line in logs if line["event"] == "command_ended")
    assert ("help", "info", turn["user_id"]) == tuple(command[key] for key in ("command", "log_level", "user_id"))
    assert ("canary" in str(command), command["inbox_id"] > 0) == (False, True)
    for line in (begun, ended):
        assert (turn["id"], turn["session_id"], turn["user_id"]) == (
            line["turn_id"],
            line["session_id"],
            line["user_id"],
        )
    assert ("turn_started", "debug", "turn_ended", "info") == (
        begun["event"],
        begun["log_level"],
        ended["event"],
        ended["log_level"],
    )
    assert ("completed", "openai:journey", "log_practice") == (ended["reason"], ended["model"], ended["tools"])
    assert (2, 1, 250, 30) == tuple(ended[key] for key in ("steps", "calls", "input_tokens", "output_tokens"))
    assert 0 <= ended["model_s"] + ended["tools_s"] <= ended["duration_s"]
    assert not [line for line in logs if "turn_id" in line and line["turn_id"] != turn["id"]]


async def test_a_broken_response_names_its_turn_in_the_log(tmp_path: Path) -> None:
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as logs:
        async with house(tmp_path, config=QUICK) as here:
            here.model.answers(Reply("words " * 9, stall_after_chunks=2))
            here.sim.say(1, "hello")
            await here.told(1, "A short answer.")
            (turn,) = await here.rows("SELECT id FROM turns")
    (failed,) = (line for line in logs if line["event"] == "model_call_failed")
    assert turn["id"] == failed["turn_id"]


async def test_who_was_told_to_wait_says_retry(tmp_path: Path) -> None:
    async with house(tmp_path, config=QUICK) as here:
        here.model.answers(BUSY)
        here.sim.say(1, "how do I hold a bow?")
        await here.told(1, "in about 60 min: /retry")
        here.model.answers(Reply("Loosely."))
        here.sim.say(1, "/retry")
        await here.told(1, "Loosely.")
        asked = here.model.requests[-1].body["messages"][-1]
        assert "how do I hold a bow?" in asked["content"]
        assert "/retry" not in asked["content"]
        here.sim.say(1, "/retry")
        await here.told(1, "nothing to try again")
        assert 2 == len(here.model.requests)
