"""A long result, stored whole and read on; a conversation takes in a bounded share of all."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.loop import run_turn
from agent.models.scripted import Says, ScriptedModel, calls
from agent.ports import ModelFacts
from agent.tools.base import ToolContext, ToolError
from agent.tools.results import PREVIEW_CHARS, fit_result, success_result
from agent.tools.toolbox import LEAST_CHARS, PAGE_CHARS, READ_RESULT_TOOL, ResultBudget, ResultPage
from agent.transcript import ToolItem, ToolReturned, UserItem, fold
from tests.fakes.agents import a_tool, an_agent
from tests.fakes.turn_port import ANA, NOW, FakeTurnPort, a_turn

WHOLE = success_result({"lines": [f'line {n}: "quoted" and \\ back' for n in range(20_000)]})


def seen(port):
    return [item.content for item in fold(port.events) if isinstance(item, ToolItem)]


class ReadsOn:
    def __init__(self):
        self.text = ""
        self.told_of = []
        self.after = "Read."

    def __call__(self, request):
        self.told_of.append([spec.name for spec in request.tools])
        results = [item for item in request.items if isinstance(item, ToolItem)]
        if not results:
            return calls(("long", "{}"))
        data = json.loads(results[-1].content)["data"]
        self.text += data.get("preview", "") + data.get("text", "")
        if "handle" in data:
            self.handle = data["handle"]
        if data["next_offset"] is None:
            return Says(self.after)
        given = json.dumps({"handle": self.handle, "offset": data["next_offset"]})
        return calls(("read_result", given))


async def test_a_long_result_is_read_on_to_its_last_character():

    async def long(_context, _arguments):
        return json.loads(WHOLE)["data"]

    port, reads = FakeTurnPort(), ReadsOn()
    agent = an_agent(ScriptedModel(reads), a_tool("long", long), max_steps=200, max_results_chars=10_000_000)
    agent.model.facts = ModelFacts(10_000_000)
    await run_turn(a_turn(port), port.ports, agent)
    assert "Read." == port.answer
    assert WHOLE == reads.text
    assert ["long"] == reads.told_of[0]
    assert ["long", "read_result"] == reads.told_of[1]
    assert len(seen(port)[0]) < 2 * PREVIEW_CHARS
    (raw,) = [event for event in port.events if isinstance(event, ToolReturned) and event.name == "long"]
    assert WHOLE == raw.content


async def test_a_conversation_takes_in_only_so_much():

    async def long(_context, _arguments):
        return "x" * 30_000

    port = FakeTurnPort()
    model = ScriptedModel([*[calls(("long", f'{{"n": {n}}}')) for n in range(6)], "Done."])
    agent = an_agent(model, a_tool("long", long), max_results_chars=70_000)
    history = [UserItem("before"), ToolItem("c", "long", "y" * 5_000)]
    await run_turn(a_turn(port, history=history), port.ports, agent)
    sizes = [len(content) for content in seen(port)]
    assert [30_039, 30_039] == sizes[:2]
    assert all(0 < size <= LEAST_CHARS for size in sizes[3:])
    assert all(json.loads(content)["success"] for content in seen(port))


def test_the_budget_is_at_most_half_the_window():
    assert 14_000 == ResultBudget.of([], 400_000, 8_000).left_chars
    assert 400_000 == ResultBudget.of([], 400_000, 1_000_000).left_chars


async def page(handle="t/0/0", offset=0, whole=WHOLE, room=100_000):
    async def whole_result(asked):
        return whole if asked == "t/0/0" else None

    context = ToolContext(ANA, NOW, "t/1/0", room, whole_result)
    return await READ_RESULT_TOOL.run(context, ResultPage(handle=handle, offset=offset))


@pytest.mark.parametrize(("handle", "offset", "words"), [("t/9/9", 0, "no such result"), ("t/0/0", 10**9, "ends at")])
async def test_what_is_not_there_is_said(handle, offset, words):
    with pytest.raises(ToolError, match=words):
        await page(handle, offset)


@given(st.text(min_size=1, max_size=3000), st.integers(600, 4000))
async def test_a_page_fits_whatever_it_holds(text, room):
    found, offset = "", 0
    while offset is not None:
        read = await page(offset=offset, whole=text, room=room)
        assert read["text"]
        content = success_result(read)
        assert content == fit_result(content, room, "t/1/0")
        found += read["text"]
        offset = read["next_offset"]
    assert text == found


async def test_a_page_has_its_bound():
    assert PAGE_CHARS == len((await page(room=10_000_000))["text"])
