"""Limits, cache and routes, each on a virtual clock; and the whole stack together."""

from datetime import timedelta

import pytest

from agent.config import LinkConfig, ModelConfig
from agent.errors import FailureKind
from agent.models.chain import ModelRoute, RoutedModel, needs_tools
from agent.models.failures import RETRYABLE, failure
from agent.models.health import DOWN, HealthBoard
from agent.models.link import ModelLink, RetryPolicy
from agent.models.scripted import Says, ScriptedModel
from agent.ports import (
    ModelFacts,
    ModelRequest,
    SystemPrompt,
    TextDelta,
    ToolSpec,
)
from agent.transcript import ToolCall, Usage
from tests.fakes.model_chain import REQUEST, SPEC, Watch, answering, ask, chain_of, failing
from tests.fakes.virtual_time import passes, run_virtually

K = FailureKind


# ---------------------------------------------------------------- limits


def test_tokens_a_minute_count_what_the_provider_counted():

    async def scene(loop):
        used = ScriptedModel(lambda _: Says("ok", usage=Usage(90, 10)), name="first:m")
        model = ModelLink(used, LinkConfig(tokens_per_min=150))
        begun = []
        for _ in range(2):
            await ask(model, ModelRequest(SystemPrompt("x" * 210), ()))
            begun.append(loop.time())
        await ask(model, ModelRequest(SystemPrompt("x" * 7000), ()))
        begun.append(loop.time())
        assert [0.0, 60.0, 120.0] == pytest.approx(begun)

    run_virtually(scene)


def test_tokens_a_minute_count_the_tools_a_model_is_told_of():

    async def scene(loop):
        model = ModelLink(answering(), LinkConfig(tokens_per_min=150))
        told = ToolSpec("double", "x" * 350, {})
        for _ in range(2):
            await ask(model, ModelRequest(SystemPrompt(), (), (told,)))
        assert 60.0 == pytest.approx(loop.time())

    run_virtually(scene)


def test_f02_a_wait_over_the_turns_patience_is_a_busy_model():

    async def scene(loop):
        model = ModelLink(answering(), LinkConfig(requests_per_min=1))
        await ask(model)
        await passes(20)
        problem, _ = await ask(model, ModelRequest(SystemPrompt(), (), retry_budget_s=30))
        assert (K.RATE_LIMIT, 20.0) == (problem.kind, loop.time())
        assert 40.0 == pytest.approx(problem.retry_after_s)

    run_virtually(scene)


def test_another_model_answers_instead_of_waiting_for_room():

    async def scene(loop):
        limits = LinkConfig(requests_per_min=1)
        first = ModelLink(answering("one", "first:m"), limits, policy=RetryPolicy(frozenset({FailureKind.RATE_LIMIT})))
        chain = chain_of(first, ModelLink(answering("two", "second:m"), limits))
        texts = [(await ask(chain))[0].text for _ in range(2)]
        assert (["one", "two"], 0.0) == (texts, loop.time())
        assert "two" == (await ask(chain))[0].text
        assert 60.0 == pytest.approx(loop.time())

    run_virtually(scene)


# ---------------------------------------------------------------- cache and routes


def test_the_same_request_is_answered_from_the_cache_for_a_while():

    async def scene(_loop):
        inner = ScriptedModel(lambda _: Says(f"answer {len(inner.requests)}", usage=Usage(9, 9)))
        model = ModelLink(inner, LinkConfig(cache_s=60))
        first, _ = await ask(model)
        again, events = await ask(model)
        assert (first.text, Usage(0, 0, cost_microusd=0), [TextDelta(first.text)]) == (again.text, again.usage, events)
        await ask(model, ModelRequest(SystemPrompt("to somebody else"), REQUEST.items, (SPEC,)))
        await passes(61)
        assert "answer 3" == (await ask(model))[0].text
        calling = ScriptedModel(lambda _: Says("", (ToolCall("c", "log", "{}"),)))
        cached = ModelLink(calling, LinkConfig(cache_s=60))
        await ask(cached)
        await ask(cached)
        assert 2 == len(calling.requests)

    run_virtually(scene)


async def test_a_router_has_the_smallest_window_of_all():
    small = ScriptedModel([], facts=ModelFacts(8000))
    assert 8000 == RoutedModel([ModelRoute(needs_tools, small)], answering()).facts.context_window_tokens


# ---------------------------------------------------------------- all together


def stack(inner, board, config=None, passes_on=DOWN):
    config = config or ModelConfig(requests_per_min=100)
    return ModelLink(inner, config, board, policy=RetryPolicy(passes_on), jitter=lambda: 1.0)


@pytest.mark.parametrize("kind", [K.SERVER, K.NETWORK, K.OVERLOADED])
def test_every_provider_down_is_answered_within_three_seconds(kind):

    async def scene(loop):
        watch = Watch()
        board = HealthBoard(lambda: watch.now + timedelta(seconds=loop.time()))
        first, second = failing(kind), failing(kind, "second:m")
        chain = chain_of(stack(first, board, passes_on=RETRYABLE), stack(second, board))
        took = []
        for _ in range(4):
            begun_s = loop.time()
            response, _ = await ask(chain)
            took.append(loop.time() - begun_s)
            assert "offline:rules" == response.model
        assert max(took) < 3.0
        assert [0.0, 0.0] == took[2:]
        assert (5, 5) == (len(first.requests), len(second.requests))
        await passes(31)
        await ask(chain)
        assert (6, 6) == (len(first.requests), len(second.requests))

    run_virtually(scene)


def test_a_moments_weakness_is_not_handed_to_the_rules():

    async def scene(_loop):
        flaky = ScriptedModel([failure(K.SERVER, "x"), Says("ok")], name="first:m")
        response, _ = await ask(chain_of(stack(flaky, HealthBoard())))
        assert ("ok", "first:m") == (response.text, response.model)

    run_virtually(scene)


def test_f01_a_busy_provider_is_waited_for_if_no_other_can_answer():

    async def scene(loop):
        busy = ScriptedModel([failure(K.RATE_LIMIT, "x", wait_s=5.0), Says("ok")], name="first:m")
        response, _ = await ask(chain_of(stack(busy, HealthBoard())))
        assert ("ok", 6.0) == (response.text, pytest.approx(loop.time()))

    run_virtually(scene)


def test_a_busy_provider_is_not_waited_for_where_another_can_answer():

    async def scene(loop):
        board = HealthBoard()
        chain = chain_of(stack(failing(K.RATE_LIMIT, retry_after_s=5.0), board, passes_on=RETRYABLE), answering())
        response, _ = await ask(chain)
        assert ("second:m", 0.0) == (response.model, loop.time())

    run_virtually(scene)
