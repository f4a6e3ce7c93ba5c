"""Fallback, cooldown, circuit, limits, cache and routes, each on a virtual clock, and all together."""

import asyncio
from dataclasses import replace

import pytest

from agent.config import LinkConfig
from agent.errors import FailureKind
from agent.models.failures import failure
from agent.models.health import Cooldown, Gate, HealthBoard
from agent.models.link import ModelLink, RetryPolicy
from agent.models.scripted import Says, ScriptedModel
from agent.ports import (
    ModelFacts,
    ModelRequest,
    Principal,
    TextDelta,
    TextDiscarded,
)
from agent.transcript import AssistantItem, ToolCall, ToolItem
from tests.fakes.model_chain import REQUEST, SPEC, Watch, answering, ask, chain_of, failing, said

K = FailureKind


# ---------------------------------------------------------------- the chain


@pytest.mark.parametrize("kind", [K.BAD_REQUEST, K.CONTEXT])
async def test_a_request_that_is_at_fault_itself_goes_nowhere_else(kind):
    second = answering()
    problem, _ = await ask(chain_of(failing(kind), second))
    assert (kind, []) == (problem.kind, second.requests)


@pytest.mark.parametrize("kind", sorted(set(K) - {K.BAD_REQUEST, K.CONTEXT, K.RATE_LIMIT}))
async def test_rules_answer_when_every_provider_is_down_and_say_so(kind):
    chain = chain_of(failing(kind), failing(K.NETWORK, "second:m"))
    first, _ = await ask(chain)
    assert ["log"] == [call.name for call in first.tool_calls]
    items = (*REQUEST.items, AssistantItem("", first.tool_calls), ToolItem(first.tool_calls[0].id, "log", "{}"))
    answer, events = await ask(chain, ModelRequest(REQUEST.system, items, (SPEC,)))
    assert (f"{said(kind)}\n\nLogged.", "offline:rules") == (answer.text, answer.model)
    assert answer.text == "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_rules_do_not_begin_what_a_model_has_begun():
    call = ToolCall("c1", "log", "{}")
    items = (*REQUEST.items, AssistantItem("", (call,)), ToolItem("c1", "log", "{}"))
    problem, _ = await ask(chain_of(failing(K.SERVER)), ModelRequest(REQUEST.system, items, (SPEC,)))
    assert K.SERVER is problem.kind


async def test_what_a_failed_link_said_is_taken_back():
    half = ScriptedModel([Says("Half a", fails_after=failure(K.NETWORK, "cut"))], name="first:m")
    _, events = await ask(chain_of(half, answering("whole")))
    told = [event for event in events if isinstance(event, TextDelta | TextDiscarded)]
    assert [TextDelta("Half "), TextDelta("a"), TextDiscarded(), TextDelta("whole")] == told


# ---------------------------------------------------------------- cooldown


def link(model, board, mark=""):
    board.register(model.name, mark)
    return ModelLink(model, LinkConfig(), board, policy=RetryPolicy(retries=False))


@pytest.mark.parametrize(("kind", "first_s"), [(K.AUTH, 300), (K.QUOTA, 3600)])
async def test_a_refused_key_rests_twice_as_long_each_time(kind, first_s):
    watch = Watch()
    board = HealthBoard(watch)
    inner = failing(kind)
    model = link(inner, board)
    for strike in range(10):
        rest_s = min(first_s * 2**strike, 86_400)
        await ask(model)
        asked = len(inner.requests)
        watch.leap(rest_s - 1)
        problem, _ = await ask(model)
        assert (kind, 1.0, asked) == (problem.kind, problem.retry_after_s, len(inner.requests))
        watch.leap(1)
    assert 10 == len(inner.requests)


async def test_a_key_that_works_again_is_forgiven():
    watch = Watch()
    script = [failure(K.AUTH, "x"), Says("ok"), failure(K.AUTH, "x")]
    model = link(ScriptedModel(script, name="first:m"), HealthBoard(watch))
    for _ in range(3):
        await ask(model)
        watch.leap(301)
    assert 0 < len(script)
    watch.leap(-2)
    problem, _ = await ask(model)
    assert 1.0 == problem.retry_after_s


# ---------------------------------------------------------------- the board


async def test_rests_survive_a_restart_but_not_another_key():
    watch, kept = Watch(), {}

    def keep(model, gate, rest):
        kept[model, gate] = rest

    first = HealthBoard(watch, keep)
    await ask(link(failing(K.AUTH), first, mark="key one"))
    for mark, asked in (("key one", 0), ("key two", 1)):
        board, inner = HealthBoard(watch), failing(K.AUTH)
        model = link(inner, board, mark=mark)
        board.load(kept.values())
        await ask(model)
        assert asked == len(inner.requests)


async def test_an_operator_reads_how_each_model_is():
    watch = Watch()
    board = HealthBoard(watch)
    model = link(failing(K.QUOTA), board)
    assert {"first:m": "ready"} == board.states()
    await ask(model)
    assert {"first:m": "cools down until 2026-03-04 13:00:00 UTC: quota (cooldown)"} == board.states()
    watch.leap(3600)
    assert {"first:m": "ready"} == board.states()


# ---------------------------------------------------------------- the circuit


async def test_who_is_refused_while_a_model_rests_reads_what_it_failed_of():
    inner = ScriptedModel(lambda _: failure(K.NETWORK, "the answer is a web page"), name="first:m")
    model = ModelLink(inner, LinkConfig(tries=1), HealthBoard(Watch()))
    for _ in range(6):
        problem, _ = await ask(model)
    assert "network: the answer is a web page; cools down for 30 s more (circuit)" == str(problem)


async def test_only_one_call_tries_whether_it_is_back():
    watch, gate = Watch(), asyncio.Event()

    class Slow:
        name = "first:m"
        facts = ModelFacts()
        asked = 0

        async def respond(self, request, on_event):
            self.asked += 1
            await gate.wait()
            return await answering().respond(request, on_event)

    slow, board = Slow(), HealthBoard(watch)
    board.register("first:m", "")
    board.load([Cooldown("first:m", Gate.CIRCUIT, K.SERVER, watch.now, 1)])
    model = ModelLink(slow, LinkConfig(tries=1), board)
    async with asyncio.TaskGroup() as group:
        trial = group.create_task(ask(model))
        await asyncio.sleep(0)
        problem, _ = await ask(model)
        gate.set()
    assert (K.SERVER, "ok", 1) == (problem.kind, trial.result()[0].text, slow.asked)


async def test_who_chose_a_model_is_answered_by_it_and_by_the_others_behind_it():
    first, second = answering("one", "first:m"), answering("two", "second:m")
    ana = Principal("ana", "default", model="second:m")
    response, _ = await ask(chain_of(first, second), replace(REQUEST, who=ana))
    assert ("two", []) == (response.text, first.requests)
    response, _ = await ask(
        chain_of(answering("one", "first:m"), failing(K.SERVER, "second:m")), replace(REQUEST, who=ana)
    )
    assert "one" == response.text
    gone = replace(REQUEST, who=replace(ana, model="third:m"))
    assert "one" == (await ask(chain_of(answering("one", "first:m"), second), gone))[0].text
