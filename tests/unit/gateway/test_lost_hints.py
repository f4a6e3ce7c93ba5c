"""Hints after a commit: lost, late, doubled or out of order, they change nothing."""

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from agent.tools.base import Effect
from agent.transcript import ModelResponded, ToolCall
from channels.errors import Permanent, PermanentKind
from channels.messages import Address
from gateway import failpoints
from gateway.access.agents import AgentChoice
from gateway.access.config import AccessConfig
from gateway.access.policy import AccessSnapshot
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.errors import StoreUnavailable
from gateway.inbound.intake import ChannelSink, Intake
from gateway.inbound.reception import ReceptionDeps
from gateway.ops.unannounced import Unannounced
from gateway.store.causes import AnswerOf
from gateway.store.outbox import OutboxRow
from tests.fakes.agents import a_tool
from tests.fakes.door import KEYS, UnheardHealth
from tests.fakes.spine import AGENT, Spine, put_unheard


@pytest.fixture(autouse=True)
async def disarm() -> AsyncIterator[None]:
    yield
    failpoints.arm(None)


def looking(spine: Spine) -> Unannounced:

    async def reload() -> None:
        spine.router.forget_all()

    return Unannounced(spine.store, spine.bus, spine.delivery, spine.parking, reload)


@dataclass
class Home:
    intake: Intake


def sink_of(spine: Spine) -> ChannelSink:
    rules = AccessConfig.model_validate({"direct": "open"})
    deps = ReceptionDeps(AgentChoice(AGENT, AccessSnapshot()), KEYS, spine.vault)
    intake = Intake(
        spine.store, rules, AccessSnapshot(), spine.delivery, spine.bus, lambda _key: 0, lambda: spine.now, deps
    )
    return ChannelSink(spine.store, {"default": Home(intake)}, spine.channel, UnheardHealth(), "default")


async def test_people_are_read_again_after_a_look_at_them_failed(spine: Spine) -> None:
    reads = iter([StoreUnavailable("away"), None])

    async def read_people() -> None:
        if (failure := next(reads)) is not None:
            raise failure

    look = Unannounced(spine.store, spine.bus, spine.delivery, spine.parking, read_people)
    async with asyncio.TaskGroup() as callers:
        caller = callers.create_task(spine.store.commit(lambda _connection: None))
        await asyncio.sleep(0)
        caller.cancel()
    async with asyncio.timeout(10):
        while not spine.store.unheard:
            await asyncio.sleep(0)
    with pytest.raises(StoreUnavailable):
        await look.look()
    await look.look()
    assert [] == list(reads)


async def answered(spine: Spine, text: str) -> None:
    await spine.asked()
    spine.model.give(text)
    await spine.quiet()


@pytest.mark.parametrize("point", ["", "commit_done/_admit_all"])
async def test_a_message_whose_intake_is_cancelled_is_answered_once(spine: Spine, point: str) -> None:
    look, sink = looking(spine), sink_of(spine)
    await look.look()
    await spine.quiet()
    message = spine.message("hello", "p7")
    if point:
        failpoints.arm(f"{point}:1:cancel")
    async with asyncio.TaskGroup() as tasks:
        receiving = tasks.create_task(sink.receive([message]))
        await asyncio.sleep(0)
        if not point:
            receiving.cancel()
    assert receiving.cancelled()
    await sink.receive([message])  # the platform was told nothing, and delivers it again
    assert 1 == spine.store.unheard
    await look.look()
    await answered(spine, "an answer")
    await look.look()
    await spine.quiet()
    assert ["an answer"] == spine.channel.shown("c1")


async def test_a_turn_whose_claim_is_cancelled_is_resumed_once(spine: Spine) -> None:
    """Its session ends with it; the next life of the process resumes the turn."""
    failpoints.arm("commit_done/claim:1:cancel")
    await spine.say("hello")
    await spine.quiet()
    await spine.kill()
    await spine.begin()
    await answered(spine, "an answer")
    assert ["an answer"] == spine.channel.shown("c1")


@pytest.mark.parametrize("hit", [1, 2, 3])
async def test_a_turn_whose_step_is_cancelled_is_resumed_once(spine: Spine, hit: int) -> None:
    """The journal has the response, the intent or the result; the tool does not run again."""
    ran = 0

    async def send(_context: object, _arguments: object) -> str:
        nonlocal ran
        ran += 1
        return "sent"

    await spine.kill()
    spine.tools = (a_tool("send", send, effect=Effect.IDEMPOTENT, permission=lambda *_: "allow"),)
    await spine.begin()
    failpoints.arm(f"commit_done/record:{hit}:cancel")
    await spine.say("hello")
    await spine.asked()
    spine.model.give(ModelResponded(0, "", (ToolCall("c", "send", '{"n": 2}'),)))
    await spine.quiet()
    await spine.kill()
    await spine.begin()
    await answered(spine, "an answer")
    assert (["an answer"], 1) == (spine.channel.shown("c1"), ran)


async def test_a_command_whose_commit_is_cancelled_holds_and_is_answered_once(spine: Spine) -> None:
    """Keep the effect of `/new` for the next message, although the session did not hear of the commit."""
    look = looking(spine)
    await spine.say("hello")
    await answered(spine, "the first")
    failpoints.arm("commit_done/commit_command:1:cancel")
    await spine.say("/new")
    await spine.quiet()
    await look.look()
    await spine.quiet()
    await spine.say("and more")
    await answered(spine, "the second")
    shown = spine.channel.shown("c1")
    assert ("the first", "the second", 3) == (shown[0], shown[-1], len(shown))
    assert "hello" not in str(spine.model.requests[-1].items)


async def test_an_answer_whose_end_is_cancelled_is_sent_once(spine: Spine) -> None:
    look = looking(spine)
    failpoints.arm("commit_done/commit_end:1:cancel")
    await spine.say("hello")
    await answered(spine, "the first")
    assert ["the first"] == spine.channel.shown("c1"), "the commit's news need no caller"
    await look.look()
    await spine.quiet()
    await spine.say("and more")
    await answered(spine, "the second")
    assert ["the first", "the second"] == spine.channel.shown("c1")


@pytest.mark.parametrize("point", ["record_sent:1", "run_held:1", "run_held:2"])
async def test_a_part_whose_receipt_is_cancelled_is_sent_once(spine: Spine, point: str) -> None:
    look = looking(spine)
    if "run_held" in point:
        spine.channel.fates.append(Permanent("too long", PermanentKind.REJECTED))
    failpoints.arm(f"commit_done/{point}:cancel")
    await spine.say("hello")
    await answered(spine, "the first")
    await look.look()
    await spine.quiet()
    await spine.say("and more")
    await answered(spine, "the second")
    shown = spine.channel.shown("c1")
    assert "the second" == shown[-1]
    assert 2 == len(shown)


@pytest.mark.parametrize("seed", range(8))
async def test_parts_are_sent_once_and_in_order_whichever_hints_there_are(spine: Spine, seed: int) -> None:
    chance = random.Random(seed)
    chats, hints = ["c1", "c2", "c3"], list[OutboxRow]()
    for number in range(12):
        address = Address("sim", "main", chance.choice(chats))
        parts = to_parts(spine.channel, OutboundMessage(address, AnswerOf(f"t{number}"), f"{number:02}"))
        claimed = chance.random() < 0.5 and spine.delivery.reserve(parts[0])
        hints += await spine.store.commit(put_unheard, "default", parts, spine.now, first_claimed=claimed)
        for row in chance.sample(hints, chance.randint(0, min(3, len(hints)))):
            spine.delivery.publish([row])
    chance.shuffle(hints)
    for row in hints[:6]:
        spine.delivery.publish([row])
    await looking(spine).look()
    await spine.quiet()
    spine.delivery.publish(hints)
    await spine.quiet()
    shown = {chat: spine.channel.shown(chat) for chat in chats}
    assert 12 == sum(map(len, shown.values()))
    assert [sorted(texts) for texts in shown.values()] == [*shown.values()]
