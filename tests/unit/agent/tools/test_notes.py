"""The tools `think` and `todo`: nothing happens, and the person sees the list."""

import pytest

from agent.loop import run_turn
from agent.models.scripted import ScriptedModel, calls
from agent.tools.notes import note_tools
from agent.tools.notes_config import NotesConfig
from agent.transcript import CallOutcome
from agent.turn_progress import ToolProgress
from tests.fakes.agents import an_agent, returned
from tests.fakes.turn_port import FakeTurnPort, a_turn

BOTH = note_tools(NotesConfig(think=True, todo=True))
STEPS = '{"steps": [{"text": "find *it*", "state": "done"}, {"text": "sell it", "state": "doing"}, {"text": "rest"}]}'


@pytest.mark.parametrize("wanted", [(), ("think",), ("todo",), ("think", "todo")])
def test_only_the_tools_that_are_switched_on_are_there(wanted):
    config = NotesConfig(**dict.fromkeys(wanted, True))
    assert list(wanted) == [tool.name for tool in note_tools(config)]


async def test_a_list_stays_in_the_chat_and_in_the_journal():
    port = FakeTurnPort()
    script = [calls(("think", '{"thought": "first the list"}'), ("todo", STEPS)), "Done."]
    await run_turn(a_turn(port), port.ports, an_agent(ScriptedModel(script), *BOTH))
    assert ['{"success":true,"data":{},"error":null}', '{"success":true,"data":{"left":2},"error":null}'] == [
        result.content for result in returned(port)
    ]
    (shown,) = [event for event in port.progressed if isinstance(event, ToolProgress)]
    assert (True, "- ☑ find \\*it\\*\n- ▸ sell it\n- ☐ rest") == (shown.stays, shown.values["steps"])


@pytest.mark.parametrize(
    "given", ['{"steps": []}', f'{{"steps": [{", ".join(["{}"] * 16)}]}}', '{"steps": [{"text": "x", "state": "?"}]}']
)
async def test_a_list_that_is_none_is_told_to_the_model(given):
    port = FakeTurnPort()
    await run_turn(a_turn(port), port.ports, an_agent(ScriptedModel([calls(("todo", given)), "Well."]), *BOTH))
    assert [CallOutcome.FAILED] == [result.outcome for result in returned(port)]
