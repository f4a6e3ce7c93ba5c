"""Retries, Retry-After and the stall watchdog."""

import asyncio

import pytest
from structlog.testing import capture_logs

from agent.config import ModelConfig
from agent.errors import FailureKind
from agent.fallbacks import Fallback
from agent.models.failures import failure
from agent.models.link import ModelLink
from agent.models.scripted import Says, ScriptedModel
from agent.ports import (
    PINGED,
    ModelFacts,
    ModelFailure,
    ModelRequest,
    Recovering,
    RetryPause,
    SystemPrompt,
    TextDelta,
    TextDiscarded,
)
from agent.transcript import ModelResponded
from tests.fakes.virtual_time import passes, run_virtually

REQUEST = ModelRequest(SystemPrompt(), ())


class Pauses:
    def __init__(self):
        self.taken = []

    async def __call__(self, seconds):
        self.taken.append(seconds)


class Stalling:
    name = "stalling:test"
    facts = ModelFacts()

    def __init__(self, *beats):
        self.beats = beats  # (pause before it, event)
        self.requests = []

    async def respond(self, request, on_event):
        self.requests.append(request)
        if not request.stream:
            return ModelResponded(0, "whole")
        for pause_s, event in self.beats:
            due = asyncio.Event()
            asyncio.get_running_loop().call_later(pause_s, due.set)
            await due.wait()
            on_event(event)
        await asyncio.Event().wait()
        raise AssertionError("it never speaks again")

    async def aclose(self):
        pass


def resilient(model, **config):
    pauses = Pauses()
    return ModelLink(model, ModelConfig(**config), sleep=pauses, jitter=lambda: 0.0), pauses


async def ask(model, request=REQUEST):
    events = []
    try:
        return await model.respond(request, events.append), events
    except ModelFailure as problem:
        return problem, events


async def test_pauses_together_keep_within_the_patience():
    busy = failure(FailureKind.RATE_LIMIT, "429", wait_s=40)
    model, pauses = resilient(ScriptedModel([busy, busy, "never"]))
    problem, _ = await ask(model)
    assert (40, [40.0]) == (problem.retry_after_s, pauses.taken)


async def test_a_thrown_away_try_is_told():
    cut = Says("half an", fails_after=failure(FailureKind.NETWORK, "cut"))
    model, _ = resilient(ScriptedModel([cut, "whole"]))
    _, events = await ask(model)
    kinds = [type(event) for event in events if not isinstance(event, RetryPause)]
    assert [TextDelta, TextDelta, Recovering, TextDiscarded, TextDelta] == kinds


async def test_f21_no_first_byte_is_asked_again_without_streaming():
    inner = Stalling()
    response, events = await ask(resilient(inner, first_byte_s=0.02)[0])
    assert "whole" == response.text
    assert [True, False] == [request.stream for request in inner.requests]
    assert [Recovering(Fallback.UNSTREAMED, "timeout")] == events


async def test_f22_a_stall_in_the_middle_is_warned_of_then_ended():
    inner = Stalling((0, TextDelta("half")))
    with capture_logs() as logs:
        response, events = await ask(resilient(inner, first_byte_s=5, idle_warn_s=0.02, idle_abort_s=0.05)[0])
    assert "whole" == response.text
    assert [TextDelta("half"), Recovering(Fallback.UNSTREAMED, "timeout"), TextDiscarded()] == events
    assert ["model_stream_stalled", "model_call_failed"] == [line["event"] for line in logs]


async def test_the_last_stall_is_a_timeout():
    problem, _ = await ask(resilient(Stalling(), first_byte_s=0.01, tries=1)[0])
    assert FailureKind.TIMEOUT is problem.kind


async def test_cancelling_goes_through():
    inner = Stalling((0, TextDelta("x")))
    model, _ = resilient(inner)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await ask(model)
    assert 1 == len(inner.requests)


LOCAL = "http://127.0.0.1:11434/v1"


def seconds(*beats):

    class Slow(Stalling):
        async def respond(self, request, on_event):
            self.requests.append(request)
            for pause_s, event in self.beats:
                await passes(pause_s)
                on_event(event)
            return ModelResponded(0, "at last")

    return Slow(*beats)


def played(scene):
    results = []

    async def play(_loop):
        results.append(await scene())

    run_virtually(play)
    return results[0]


@pytest.mark.parametrize("config", [{"base_url": LOCAL}, {"base_url": LOCAL, "first_byte_s": 5}, {}])
def test_work_on_a_prompt_that_is_cut_is_not_begun_anew(config):
    beats = [] if config else [(20, PINGED)]
    inner = Stalling(*beats)
    problem, _ = played(lambda: ask(resilient(inner, **config)[0]))
    assert (FailureKind.TIMEOUT, False) == (problem.kind, problem.retryable)
    assert 1 == len(inner.requests)


def test_pings_in_the_middle_of_a_response_are_no_life():
    """Cover F22."""
    inner = Stalling((1, TextDelta("half")), *[(20, PINGED)] * 100)
    response, _ = played(lambda: ask(resilient(inner)[0]))
    assert "whole" == response.text


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:11434/v1", True),
        ("http://localhost:1234/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://192.168.1.20/v1", True),
        ("http://10.0.0.3:8000", True),
        ("http://100.64.1.2/v1", True),
        ("http://ollama:11434/v1", True),
        ("http://gpu.local/v1", True),
        ("http://host.docker.internal:11434", True),
        ("https://api.openai.com/v1", False),
        ("https://8.8.8.8/v1", False),
        (None, False),
        ("https://127.0.0.1.example.com", False),
    ],
)
def test_a_server_is_local_by_its_address(url, expected):
    assert expected == ModelConfig(base_url=url).is_local
    assert (not expected) == ModelConfig(base_url=url, local=not expected).is_local
