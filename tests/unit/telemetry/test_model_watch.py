"""Health of models, by their last calls."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from agent.errors import FailureKind
from agent.ports import ModelFacts, ModelFailure, ModelRequest, OnModelEvent, SystemPrompt
from agent.transcript import ModelResponded, Usage
from gateway.ops.instrumentation import MeasuredModel, ModelWatch
from gateway.ops.status import ModelHealth
from gateway.telemetry import REGISTRY

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
REQUEST = ModelRequest(SystemPrompt("x"), ())


class Told:
    name = "test:watched"
    facts = ModelFacts()

    def __init__(self) -> None:
        self.next: ModelFailure | ModelResponded = ModelResponded(0, "hi", usage=Usage(10, 2, cost_microusd=500_000))

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        if isinstance(self.next, ModelFailure):
            raise self.next
        return self.next

    async def aclose(self) -> None:
        pass


async def test_a_model_that_fails_is_called_so_until_it_answers() -> None:
    now = [NOON]
    watch, told = ModelWatch(lambda: now[0]), Told()
    model = MeasuredModel(told, watch)
    standing = ModelHealth(lambda: {"test:watched": "ready", "test:other": "ready"}, watch)

    async def ask(kind: FailureKind | None) -> None:
        told.next = Told().next if kind is None else ModelFailure(kind, "no", status=500)
        if kind is None:
            await model.respond(REQUEST, lambda _: None)
        else:
            with pytest.raises(ModelFailure):
                await model.respond(REQUEST, lambda _: None)
        now[0] += timedelta(minutes=1)

    assert "not asked since the start" == standing.states()["test:watched"]
    await ask(None)
    assert ("answered at 2026-03-02 12:00:00 UTC", []) == (standing.states()["test:watched"], standing.troubles())
    await ask(FailureKind.CONTEXT)
    assert "answered at 2026-03-02 12:00:00 UTC" == standing.states()["test:watched"]
    await ask(FailureKind.SERVER)
    await ask(FailureKind.SERVER)
    assert (
        "fails since 2026-03-02 12:02:00 UTC, 2 times in a row: server (HTTP 500): no"
        == (standing.states()["test:watched"])
    )
    assert "not asked since the start" == standing.states()["test:other"]
    assert [] == standing.troubles()
    await ask(FailureKind.NETWORK)
    assert ["model test:watched"] == [trouble.key for trouble in standing.troubles()]
    await ask(None)
    await ask(FailureKind.AUTH)
    (refused,) = standing.troubles()
    assert ("model test:watched", True) == (refused.key, refused.at_once)
    rests = ModelHealth(lambda: {"test:watched": "rests until then", "test:other": "rests"}, watch).states()
    assert rests["test:watched"].endswith("(HTTP 500): no; rests until then")
    assert "rests" == rests["test:other"]


async def test_estimates_that_are_far_too_low_are_a_trouble_until_one_is_right() -> None:
    watch, told = ModelWatch(), Told()
    standing = ModelHealth("test:watched", watch=watch)
    for counted, times in ((9000, 0), (9000, 0), (100, 0), (9000, 1), (9000, 1), (2000, 0), (1000, 0), (9000, 0)):
        told.next = ModelResponded(0, "hi", usage=Usage(counted, 2))
        await MeasuredModel(told, watch).respond(replace(REQUEST, estimated_tokens=2000), lambda _: None)
        assert times == len(standing.drifts())
    for _ in range(2):
        await MeasuredModel(told, watch).respond(replace(REQUEST, estimated_tokens=2000), lambda _: None)
    assert [("estimates test:watched", "its provider counts 4.5 times the tokens that we estimate")] == [
        (trouble.key, trouble.words) for trouble in standing.drifts()
    ]


async def test_an_operator_reads_how_long_a_busy_provider_asks_to_wait() -> None:
    watch = ModelWatch(lambda: NOON)
    watch.note_failure("test:busy", ModelFailure(FailureKind.RATE_LIMIT, "slow down", 429, retry_after_s=400))
    assert "rate_limit (HTTP 429): slow down; it asks to wait until 12:06:40 UTC" == watch.failing["test:busy"].words
    watch.note_failure("test:busy", ModelFailure(FailureKind.RATE_LIMIT, "slow down", 429))
    assert "rate_limit (HTTP 429): slow down" == watch.failing["test:busy"].words


async def test_a_persons_own_refused_key_is_their_matter() -> None:
    watch, told = ModelWatch(), Told()
    for kind, failing in ((FailureKind.AUTH, 0), (FailureKind.QUOTA, 0), (FailureKind.SERVER, 1)):
        told.next = ModelFailure(kind, "no", own_credential=True)
        with pytest.raises(ModelFailure):
            await MeasuredModel(told, watch).respond(REQUEST, lambda _: None)
        assert failing == len(watch.failing)


@pytest.mark.parametrize("kind", [FailureKind.AUTH, FailureKind.SERVER])
async def test_a_model_that_cools_down_has_failed_once(kind: FailureKind) -> None:
    watch, told = ModelWatch(), Told()
    first = ModelFailure(kind, "no")
    for failure in (first, replace(first, message="no; cools down", unasked=True, retry_after_s=30.0)):
        told.next = failure
        with pytest.raises(ModelFailure):
            await MeasuredModel(told, watch).respond(REQUEST, lambda _: None)
    failing = watch.failing[told.name]
    assert (1, str(first)) == (failing.times, failing.words)


async def test_what_a_model_costs_is_counted() -> None:
    before = cost()
    await MeasuredModel(Told()).respond(REQUEST, lambda _: None)
    assert 0.5 == cost() - before


def cost() -> float:
    return REGISTRY.get_sample_value("tenk_model_cost_usd_total", {"model": "test:watched"}) or 0.0
