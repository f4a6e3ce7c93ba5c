"""Turns that an agent of another framework answers, with a scripted one in place of the framework."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field

import pytest

from agent.bridges.foreign_turn import run_foreign_turn
from agent.bridges.port import Exchange, ForeignEvent, NeedsApproval, Responded, Returned
from agent.consent import Consent, TurnParked
from agent.definition import Agent
from agent.errors import FailureKind
from agent.models.scripted import ScriptedModel
from agent.pictures import Picture, Unseen
from agent.ports import ModelFailure, TextDelta
from agent.transcript import (
    AssistantItem,
    CallOutcome,
    EndReason,
    ModelResponded,
    Steered,
    ToolCall,
    ToolItem,
    ToolReturned,
    TurnEnded,
    TurnStarted,
    Usage,
    UserItem,
)
from tests.fakes.agents import an_agent
from tests.fakes.turn_port import Died, FakeTurnPort, a_turn

MODEL = ScriptedModel(())  # asked nothing
Script = Callable[[Exchange], AsyncGenerator[ForeignEvent, None]]


@dataclass
class ScriptedAgent:
    """A foreign agent that runs a script, and keeps what it was asked."""

    script: Script
    steers: bool = True
    keeps_state: bool = False
    name: str = "scripted:test"
    title: str = ""
    asked: list[Exchange] = field(default_factory=list)
    closed: int = 0

    async def run(self, exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        self.asked.append(exchange)
        try:
            async for event in self.script(exchange):
                yield event
        finally:
            self.closed += 1


def picture(id_: str) -> Picture:
    return Picture(id_, "image/png", 10, 2, 2)


def says(*pieces: str) -> Script:
    async def script(_exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        for piece in pieces:
            yield TextDelta(piece)
        yield Responded("".join(pieces), usage=Usage(10, 5), model="m:1")

    return script


class Shop:
    """A script with effects: it calls `order` for each of the first message's words, then answers with the results."""

    def __init__(self, *items: str, asks: Sequence[str] = ()) -> None:
        self.items, self.asks = items, asks
        self.done: list[str] = []

    async def __call__(self, exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        results = {item.call_id: item.content for item in exchange.items if isinstance(item, ToolItem)}
        made = any(isinstance(item, AssistantItem) and item.tool_calls for item in exchange.items)
        if not made:
            calls = tuple(ToolCall(f"c-{item}", "order", f'{{"item": "{item}"}}') for item in self.items)
            yield Responded("Let me see.", calls)
        waiting = [item for item in self.items if f"c-{item}" not in results]
        for item in waiting:
            allowed = exchange.consents.get(f"c-{item}", item not in self.asks or None)
            if allowed is None:
                yield NeedsApproval(f"c-{item}", f"Really {item}?")
            elif allowed:
                self.done.append(item)
                yield Returned(f"c-{item}", f"{item} ordered")
            results[f"c-{item}"] = str(allowed)
        if not any(exchange.consents.get(f"c-{item}") is None and item in self.asks for item in waiting):
            said = [item.text for item in exchange.items if isinstance(item, UserItem)]
            yield Responded(f"Done after {len(said)} messages.")


async def run(port: FakeTurnPort, foreign: ScriptedAgent, agent: Agent | None = None, text: str = "hello") -> EndReason:
    return await run_foreign_turn(a_turn(port, text), port.ports, agent or an_agent(MODEL), foreign)


async def test_an_answer_is_streamed_and_ends_the_turn() -> None:
    port = FakeTurnPort()
    assert EndReason.COMPLETED == await run(port, ScriptedAgent(says("Hi ", "there")))
    assert ("Hi there", "Hi there") == (port.answer, port.shown)
    (response,) = [event for event in port.events if isinstance(event, ModelResponded)]
    assert (Usage(10, 5), "m:1", 0) == (response.usage, response.model, response.step)


async def test_calls_are_journaled_before_and_after_they_run_and_their_text_is_no_answer() -> None:
    port, shop = FakeTurnPort(), Shop("tea", "milk")
    await run(port, ScriptedAgent(shop))
    kinds = [event.kind for event in port.events]
    assert ["turn_started", "model_responded", "tool_intended", "tool_intended", "tool_returned", "tool_returned"] == (
        kinds[:6]
    )
    assert "Done after 1 messages." == port.answer


@pytest.mark.parametrize("dies_after", [False, True])
@pytest.mark.parametrize("dies_at", range(4))
async def test_a_run_that_dies_at_any_commit_goes_on_and_repeats_no_effect(dies_at: int, dies_after: bool) -> None:
    port, shop = FakeTurnPort(dies_at=dies_at, dies_after=dies_after), Shop("tea", "milk")
    with pytest.raises(Died):
        await run(port, ScriptedAgent(shop))
    port.dies_at = None
    await run(port, ScriptedAgent(shop))
    assert len(shop.done) == len(set(shop.done))
    returned = [event for event in port.events if isinstance(event, ToolReturned)]
    assert ["c-milk", "c-tea"] == sorted(event.call_id for event in returned)
    assert {CallOutcome.DONE, CallOutcome.UNKNOWN} >= {event.outcome for event in returned}
    assert "Done after 1 messages." in port.answer


async def test_approval_parks_the_turn_and_the_answers_reach_the_agent() -> None:
    port, shop = FakeTurnPort(), Shop("tea", "gold", "milk", asks=("gold",))
    foreign = ScriptedAgent(shop)
    with pytest.raises(TurnParked):
        await run(port, foreign)
    assert (["tea", "milk"], "Really gold?", "order") == (shop.done, port.asked[0].question, port.asked[0].tool)
    port.consents[port.asked[0].call_key] = Consent.ALLOWED
    assert EndReason.COMPLETED == await run(port, foreign)
    assert ["tea", "milk", "gold"] == shop.done
    assert {"c-gold": True} == foreign.asked[-1].consents


@pytest.mark.parametrize("said", [Consent.DENIED, Consent.EXPIRED])
async def test_what_is_not_allowed_does_not_run(said: Consent) -> None:
    port, shop = FakeTurnPort(), Shop("gold", asks=("gold",))
    foreign = ScriptedAgent(shop)
    with pytest.raises(TurnParked):
        await run(port, foreign)
    port.consents[port.asked[0].call_key] = said
    await run(port, foreign)
    assert ([], {"c-gold": False}) == (shop.done, foreign.asked[-1].consents)
    (returned,) = [event for event in port.events if isinstance(event, ToolReturned)]
    assert said.value == returned.outcome.value


async def test_a_remembered_consent_asks_nobody() -> None:
    port, shop = FakeTurnPort(), Shop("gold", "silver", asks=("gold", "silver"))
    for index in range(2):
        port.consents[f"0190-turn-000000000001/0/{index}"] = Consent.REMEMBERED
    assert EndReason.COMPLETED == await run(port, ScriptedAgent(shop))
    assert ["gold", "silver"] == shop.done


async def test_two_questions_are_put_one_after_the_other() -> None:
    port, shop = FakeTurnPort(), Shop("gold", "silver", asks=("gold", "silver"))
    foreign = ScriptedAgent(shop)
    for index in range(2):
        with pytest.raises(TurnParked):
            await run(port, foreign)
        port.consents[f"0190-turn-000000000001/0/{index}"] = Consent.ALLOWED
    await run(port, foreign)
    assert ["gold", "silver"] == shop.done
    assert CallOutcome.UNKNOWN not in {event.outcome for event in port.events if isinstance(event, ToolReturned)}


async def test_a_message_instead_of_an_answer_skips_the_call() -> None:
    port, shop = FakeTurnPort(), Shop("gold", asks=("gold",))
    foreign = ScriptedAgent(shop)
    with pytest.raises(TurnParked):
        await run(port, foreign)
    port.say("leave it")
    await run(port, foreign)
    assert [] == shop.done
    assert "Done after 2 messages." == port.answer


async def test_a_message_in_between_joins_the_turn_after_the_step() -> None:
    port, shop = FakeTurnPort(), Shop("tea", "milk")
    port.on_progress = lambda _event: port.say("and be quick") if not port.waiting and not joined(port) else None
    foreign = ScriptedAgent(shop)
    await run(port, foreign)
    assert (["tea", "milk"], 2) == (shop.done, len(foreign.asked))
    assert "Done after 2 messages." == port.answer


def joined(port: FakeTurnPort) -> bool:
    return any(isinstance(event, Steered) for event in port.events)


async def test_without_steering_a_message_in_between_is_answered_next_in_the_same_turn() -> None:
    port = FakeTurnPort()

    async def script(exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        if not joined(port):
            port.say("one more")
        yield Responded(f"Answer {len([item for item in exchange.items if isinstance(item, UserItem)])}.")

    foreign = ScriptedAgent(script, steers=False)
    await run(port, foreign)
    assert "Answer 1.\n\nAnswer 2." == port.answer
    assert ["one more"] == [item.text for item in foreign.asked[1].unanswered]


async def test_a_stop_ends_a_run_that_hangs_and_keeps_what_was_said() -> None:
    port = FakeTurnPort()

    async def script(_exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        yield TextDelta("I think")
        await asyncio.Event().wait()

    foreign = ScriptedAgent(script)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run(port, foreign))
        while not port.shown:
            await asyncio.sleep(0)
        port.stop()
    assert EndReason.STOPPED == running.result()
    assert port.answer.startswith("I think\n\n")
    assert 1 == foreign.closed


async def test_a_run_that_hangs_ends_at_the_deadline() -> None:
    async def script(_exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        await asyncio.Event().wait()
        yield Responded("never")

    port = FakeTurnPort()
    agent = an_agent(MODEL, deadline_s=0.01, working_s=0)
    assert EndReason.TIMEOUT == await run(port, ScriptedAgent(script), agent)


async def raises(_exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
    yield TextDelta("I would")
    raise LookupError("no such table\nat line 4")


async def exits(_exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
    yield TextDelta("I would")
    raise SystemExit(3)


async def stops_early(_exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
    yield TextDelta("I would")


async def answers_nothing(_exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
    yield TextDelta("I would")
    yield Responded(" ")


async def asks_about_nothing(_exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
    yield TextDelta("I would")
    yield NeedsApproval("c-unknown")


async def calls_too_much(_exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
    yield TextDelta("I would")
    yield Responded("", tuple(ToolCall(f"c{n}", "f", "{}") for n in range(1000)))


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (raises, "LookupError: no such table"),
        (exits, "ForeignExit: SystemExit 3"),
        (stops_early, "it ended without an answer"),
        (answers_nothing, "it answered nothing"),
        (asks_about_nothing, "it asks about a call that it did not make"),
        (calls_too_much, "it made 1000 calls at once"),
    ],
)
async def test_an_agent_that_breaks_leaves_what_it_said_and_tells_the_operator_why(script: Script, why: str) -> None:
    port = FakeTurnPort()
    assert EndReason.MODEL_ERROR == await run(port, ScriptedAgent(script))
    ended = port.events[-1]
    assert isinstance(ended, TurnEnded)
    assert ended.text.startswith("I would\n\nThe agent behind me failed")
    assert why in ended.why


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (FailureKind.QUOTA, "out of credit"),
        (FailureKind.OVERLOADED, "is busy"),
        (FailureKind.AUTH, "The agent behind me refuses"),
    ],
)
async def test_a_known_failure_has_its_own_words(kind: FailureKind, words: str) -> None:
    async def script(_exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        raise ModelFailure(kind, "why")
        yield

    port = FakeTurnPort()
    await run(port, ScriptedAgent(script))
    assert words in port.answer


async def test_results_of_unknown_calls_and_second_results_are_dropped() -> None:
    async def script(_exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        yield Responded("", (ToolCall("c1", "f", "{}"),))
        yield Returned("c9", "whose?")
        yield Returned("c1", "first", failed=True)
        yield Returned("c1", "second")
        yield Responded("Well.")

    port = FakeTurnPort()
    await run(port, ScriptedAgent(script))
    (returned,) = [event for event in port.events if isinstance(event, ToolReturned)]
    assert ("first" in returned.content, CallOutcome.FAILED) == (True, returned.outcome)


async def test_a_flood_of_text_ends_at_the_longest_answer() -> None:
    async def script(_exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        while True:
            yield TextDelta("la la \x00\ud800")

    port = FakeTurnPort()
    agent = an_agent(MODEL, max_answer_chars=1000)
    assert EndReason.MAX_TOKENS == await run(port, ScriptedAgent(script), agent)
    assert 900 < len(port.answer) < 1300
    assert not {"\x00", "\ud800"} & set(port.answer)


async def test_an_agent_in_circles_ends_at_the_most_steps() -> None:
    async def script(_exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        for number in range(1000):
            yield Responded("", (ToolCall(f"c{number}", "f", "{}"),))
            yield Returned(f"c{number}", number)

    port = FakeTurnPort()
    agent = an_agent(MODEL, max_steps=3)
    assert EndReason.MAX_STEPS == await run(port, ScriptedAgent(script), agent)
    assert 3 == sum(isinstance(event, ModelResponded) for event in port.events)


async def test_what_an_agent_keeps_is_there_in_its_next_exchange() -> None:
    async def script(exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        count = exchange.state("scripted:test") or 0
        assert isinstance(count, int)
        if count == 0:
            port.say("again")
        yield Responded(f"{count}", state=count + 1)

    port = FakeTurnPort()
    await run(port, ScriptedAgent(script))
    assert "0\n\n1" == port.answer


@pytest.mark.parametrize(
    ("sees", "kept", "unseen"),
    [(True, {"p1": b"1"}, [None, Unseen.GONE]), (False, {}, [Unseen.BLIND, Unseen.BLIND])],
)
async def test_pictures_reach_an_agent_that_sees(sees: bool, kept: dict[str, bytes], unseen: list[Unseen]) -> None:
    shown = UserItem("look", pictures=(picture("p1"), picture("lost")))
    foreign, port = ScriptedAgent(says("ok")), FakeTurnPort([TurnStarted((shown,))], pictures={"p1": b"1"})
    await run_foreign_turn(a_turn(port), port.ports, an_agent(MODEL, sees_images=sees), foreign)
    (exchange,) = foreign.asked
    assert (kept, unseen) == (exchange.pictures, [each.unseen for each in exchange.said[0].pictures])
    assert exchange.unanswered == [*exchange.said]
