"""Deferred tools: named until they are searched for; a loaded tool stays loaded."""

import json
from dataclasses import replace

import pytest

from agent.loop import run_turn
from agent.models.scripted import ScriptedModel, calls
from agent.pictures import Picture
from agent.tools.base import ToolContext, ToolError
from agent.tools.toolbox import ToolBox, ToolQuery, tool_pool
from agent.transcript import AssistantItem, EndReason, Item, NoteItem, ToolItem, UserItem, fold
from agent.turn_run import MAX_FREE_SEARCHES
from tests.fakes.agents import a_tool, an_agent, double, returned
from tests.fakes.turn_port import ANA, NOW, FakeTurnPort, a_turn
from tests.fakes.virtual_time import run_virtually

CONTEXT = ToolContext(ANA, NOW, "t/0/0")


def tools():
    return [
        a_tool("always", double),
        a_tool("send_mail", double, should_defer=True),
        a_tool("read_mail", double, should_defer=True, aliases=("inbox",)),
        a_tool("weather", double, should_defer=True),
    ]


def names(specs):
    return [spec.name for spec in specs]


def test_many_and_long_deferred_tools_are_listed_briefly_and_all_are_found():
    many = [replace(each, description="words " * 1000) for each in tools()[1:]]
    (search,) = ToolBox(many).specs
    assert 1000 > len(search.description)
    box = ToolBox([a_tool(f"tool_{number}", double, should_defer=True) for number in range(10_000)])
    assert 21_000 > len(box.specs[0].description)
    assert "more, which words of what they should do will find" in box.specs[0].description
    assert ["tool_9999"] == box.find_deferred("tool_9999")


def test_of_a_deferred_tool_only_name_and_description_are_told():
    always, search = ToolBox(tools()).specs
    assert ["always", "tool_search"] == [always.name, search.name]
    assert all(name in search.description for name in ("send_mail", "read_mail", "weather"))
    assert "inbox" not in json.dumps(search.schema)
    assert ["double"] == names(ToolBox([a_tool("double", double)]).specs)


def test_the_agents_own_tools_come_first_and_keep_their_names():
    own = [a_tool("walk", double), a_tool("note", double, aliases=("jot",))]
    installed = [a_tool(name, double) for name in ("zoom", "note", "jot", "tool_search", "ask")]
    pool, left_out = tool_pool(own, installed)
    assert ["note", "walk", "ask", "zoom"] == names(pool) == names(ToolBox(pool).specs)
    assert ("jot", "note", "tool_search") == left_out
    assert own[1] is ToolBox(pool).find("note")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("send_mail", ["send_mail"]),
        ("weather, read_mail", ["read_mail", "weather"]),
        ("select: Weather", ["weather"]),
        ("something with mail", ["read_mail", "send_mail"]),
    ],
)
async def test_a_search_loads_by_name_or_by_words(query, found):
    search = ToolBox(tools()).find("tool_search")
    assert {"loaded": found} == await search.run(CONTEXT, ToolQuery(query=query))


async def test_a_search_without_a_find_says_so():
    with pytest.raises(ToolError):
        await ToolBox(tools()).find("tool_search").run(CONTEXT, ToolQuery(query="zebra"))


async def test_what_was_looked_for_is_told_of_from_then_on():
    port = FakeTurnPort()
    model = ScriptedModel([calls(("tool_search", '{"query": "weather"}')), calls(("weather", '{"n": 2}')), "Sunny."])
    agent = an_agent(model, *tools())
    await run_turn(a_turn(port), port.ports, agent)
    told = [names(request.tools) for request in model.requests]
    base = ["always", "tool_search"]
    assert [base, [*base, "weather"], [*base, "weather"]] == told
    assert '"data":4' in returned(port)[-1].content
    again, later = ScriptedModel(["Hello again."]), FakeTurnPort()
    await run_turn(a_turn(later, history=fold(port.events)), later.ports, an_agent(again, *tools()))
    assert [*base, "weather"] == names(again.requests[0].tools)


def searching(times: int, takes_s: float = 0.0):
    """Return a model that searches so often, then calls a tool, then answers."""
    searches = [calls(("tool_search", f'{{"query": "weather {n}"}}')) for n in range(times)]
    return ScriptedModel([*(replace(each, delay_s=takes_s) for each in [*searches, calls(("always", "{}"))]), "Done."])


@pytest.mark.parametrize(
    ("searches", "reason"),
    [(3, EndReason.COMPLETED), (MAX_FREE_SEARCHES, EndReason.COMPLETED), (MAX_FREE_SEARCHES + 2, EndReason.MAX_STEPS)],
)
async def test_a_search_costs_no_step_unless_it_goes_on_and_on(searches, reason):
    port = FakeTurnPort()
    agent = an_agent(searching(searches), *tools(), max_steps=2)
    assert reason is await run_turn(a_turn(port), port.ports, agent)


@pytest.mark.parametrize(("takes_s", "reason"), [(40.0, EndReason.COMPLETED), (120.0, EndReason.TIMEOUT)])
def test_the_time_of_a_search_is_given_back(takes_s, reason):

    async def scene(loop):
        port = FakeTurnPort()
        agent = an_agent(searching(3, takes_s=takes_s), *tools(), deadline_s=100.0)
        assert reason is await run_turn(a_turn(port), port.ports, agent)

    run_virtually(scene)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "null",
        "[]",
        '{"data": 7}',
        '{"data": {"loaded": "weather"}}',
        '{"data": {"loaded": [7, "rm", "always"]}}',
    ],
)
def test_a_search_result_that_is_none_loads_nothing(content):
    assert frozenset() == ToolBox(tools()).names_loaded([ToolItem("c", "tool_search", content)])


@pytest.mark.parametrize(
    ("item", "of_others"),
    [
        (UserItem("my own words", recalled="[begin: memories]"), False),
        (UserItem("look at this", data="[begin: a forwarded message]"), True),
        (UserItem("", pictures=(Picture("id", "image/png", 1, 1),)), True),
        (UserItem("of another person here", own=False), True),
        (ToolItem("c1", "mine", "{}"), False),
        (ToolItem("c1", "web", "{}"), True),
        (ToolItem("c1", "gone", "{}"), True),
        (AssistantItem("an answer"), False),
        (NoteItem("a note"), False),
    ],
)
def test_words_of_others_are_told_from_those_of_the_person(item: Item, of_others: bool):
    box = ToolBox([a_tool("mine", double, own_words=True), a_tool("web", double)])
    assert of_others is box.holds_others([UserItem("hello"), item])


def test_a_model_without_tools_is_told_that_it_has_none():
    assert "You have no tools." in ToolBox([]).missing("agent")
