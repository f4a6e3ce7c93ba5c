"""A small model that writes a tool call as text: over HTTP, from its server to the program that asked."""

from pathlib import Path

from gateway.testing.model import Fault, Reply
from tests.fakes.api import api_house

WRITTEN = '```json\n{"name": "log_practice", "arguments": {"skill": "guitar", "minutes": 45}}\n```'


async def test_a_call_written_as_json_runs_as_any_other_and_is_not_shown(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        here.model.answers(Reply(WRITTEN), Reply("Logged."))
        _, turn = await program.say("I practised guitar for 45 minutes")
        practised = await program.get("/v1/practice?skill=guitar")
    assert ("Logged.", 45) == (turn["answer"], practised["total_minutes"])
    assert [("log_practice", "done")] == [(tool["name"], tool["outcome"]) for tool in turn["tools"]]


async def test_a_call_that_the_person_pasted_is_not_run(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        here.model.answers(Reply(WRITTEN), Reply("That logs practice."))
        _, turn = await program.say(f"what does this do?\n{WRITTEN}")
    assert ("That logs practice.", []) == (turn["answer"], turn["tools"])


async def test_a_call_that_groq_could_not_read_is_asked_for_once_more(tmp_path: Path) -> None:
    failed = {"message": "Failed to call a function.", "type": "invalid_request_error", "code": "tool_use_failed"}
    async with api_house(tmp_path) as here:
        program = await here.program()
        here.model.answers(Fault(status=400, body={"error": failed}), Reply("Hello."))
        status, turn = await program.say("hello")
        asked = len(here.model.requests)
    assert (200, "Hello.", 2) == (status, turn["answer"], asked)
