"""One suite for the agents of all frameworks: the gateway runs, the model behind the framework is scripted."""

import asyncio
import importlib
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from channels.simulators.telegram.server import TelegramSimulator
from gateway.testing.gateway import TestGateway
from tests.fakes.model_server import ModelServer
from tests.fakes.pictures import png
from tests.fakes.shops import a2a_shop, http_shop
from tests.fakes.shops.tools import FOLDER, ledger
from tests.fakes.shops.words import LONG
from tests.house.tree import ROOT
from tests.journeys.pantry_house import PERSON, PantryWorld


@dataclass(frozen=True, slots=True)
class BridgeRig:
    """A framework's shop, and what the bridge to it can do."""

    product: str
    asks: bool = True  # tools ask for approval
    keeps_questions: bool = True  # they outlive a kill
    shows_calls: bool = True  # calls are steps of the turn
    price: str = "price"  # name of that tool in the turn's steps
    starts_s: int = 0  # seconds that an answer may take to begin
    serve: Callable[[], AbstractAsyncContextManager[str]] | None = None  # yields the end of `product`, such as a URL

    @property
    def config(self) -> str:
        return f'[agent]\nproduct = "{self.product}"\ndeadline_s = 20\n[model]\nname = "offline"\n'


@asynccontextmanager
async def acp_command() -> AsyncIterator[str]:
    folder = os.environ[FOLDER]
    yield f"env PYTHONPATH={ROOT} {FOLDER}={folder} {sys.executable} -m tests.fakes.shops.acp_shop {folder}"


RIGS = {
    "a2a": BridgeRig("a2a:", asks=False, shows_calls=False, serve=a2a_shop.shop),
    "acp": BridgeRig("acp:", price="read", starts_s=3, serve=acp_command),
    "http": BridgeRig("http:", asks=False, shows_calls=False, serve=http_shop.shop),
    "langgraph": BridgeRig("langgraph:tests.fakes.shops.langgraph_shop:keeping", keeps_questions=False),
    "langgraph without checkpointer": BridgeRig("langgraph:tests.fakes.shops.langgraph_shop:shop", asks=False),
    "openai-agents": BridgeRig("openai-agents:tests.fakes.shops.openai_agents_shop:shop"),
    "pydantic-ai": BridgeRig("pydantic-ai:tests.fakes.shops.pydantic_ai_shop:shop"),
}


SAMPLE = "pydantic-ai"
"""The bridge of `make test`; the unit tests know the others, and the gate runs this suite over all of them."""


@pytest.fixture(params=[pytest.param(name, marks=() if name == SAMPLE else pytest.mark.gate) for name in RIGS])
async def rig(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[BridgeRig]:
    (notes := tmp_path / "notes").mkdir()
    monkeypatch.setenv(FOLDER, str(notes))
    rig: BridgeRig = RIGS[request.param]
    if rig.serve is None:
        yield rig
        return
    async with rig.serve() as url:
        yield replace(rig, product=f"{rig.product}{url}")


@asynccontextmanager
async def running(rig: BridgeRig, more: str = "") -> AsyncIterator[TestGateway]:
    async with TestGateway(rig.config.replace("deadline_s = 20\n", more or "deadline_s = 20\n")) as gateway:
        yield gateway


EXAMPLES = (
    "pydantic-ai:pydantic_ai_shop:shop",
    "langgraph:langgraph_shop:shop",
    "openai-agents:openai_agents_shop:shop",
    f"acp:{sys.executable} acp_shop.py",
)


@pytest.mark.gate
@pytest.mark.parametrize("product", EXAMPLES)
async def test_the_examples_of_the_documentation_run(product: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "docs" / "examples")
    async with TestGateway(BridgeRig(product).config) as gateway:
        ada = gateway.person()
        await ada.say("price tea")
        assert "tea costs 3 euros." == (await ada.answer()).text
        await ada.say("order tea")
        await ada.answer("tea")
        await ada.press("Allow once")
        assert "tea is ordered." == (await ada.answer("ordered")).text


SERVERS = {
    "a2a_shop": ("a2a:{url}", {"price tea": "tea costs 3 euros.", "order tea": "Order tea?", "yes": "tea is ordered."}),
    "http_shop": (
        "http:{url}/answer",
        {"price tea": "tea costs 3 euros.", "order tea": "tea is ordered.", "hi": "Say:"},
    ),
}


@pytest.mark.gate
@pytest.mark.parametrize(("name", "product", "talk"), [(name, *each) for name, each in SERVERS.items()], ids=SERVERS)
async def test_the_servers_of_the_documentation_answer(
    name: str, product: str, talk: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs" / "examples")
    module = importlib.import_module(name)
    serving = http_shop.serving(module.app) if name == "http_shop" else a2a_shop.listening(module.app_at)
    async with serving as url, TestGateway(BridgeRig(product.format(url=url)).config) as gateway:
        ada = gateway.person()
        for said, heard in talk.items():
            await ada.say(said)
            await ada.answer(heard)


def test_every_example_is_run() -> None:
    there = {path.stem for path in (ROOT / "docs" / "examples").glob("*_shop.py")}
    named = {re.findall(r"\w+_shop", product)[0] for product in EXAMPLES}
    assert there == named | set(SERVERS)


async def test_it_answers_knows_the_conversation_and_long_answers_are_split_in_order(rig: BridgeRig) -> None:
    async with running(rig) as gateway:
        ada = gateway.person()
        await ada.say("hello")
        assert "You said: hello" == (await ada.answer()).text
        await ada.say("count")
        assert "I have heard 2 messages." == (await ada.answer()).text
        await ada.say("long")
        await gateway.settle()
        parts = [message.text for message in ada.messages()[2:]]
        assert len(parts) > 1
        assert LONG.split() == " ".join(parts).split()
        bob = gateway.person()
        await bob.say("count")
        assert "I have heard 1 messages." == (await bob.answer()).text


async def test_its_tools_run_and_are_steps_of_the_turn(rig: BridgeRig) -> None:
    async with running(rig) as gateway:
        ada = gateway.person()
        await ada.say("price of tea")
        assert "tea costs 3 euros" in (await ada.answer()).text
        (session,) = (await gateway.operator("GET /v1/all-sessions"))["sessions"]
        hops = (await gateway.operator(f"GET /v1/all-sessions/{session['id']}"))["hops"]
        steps = [(hop["facts"]["tool"], hop["facts"].get("outcome")) for hop in hops if hop["hop"].startswith("tool_")]
        assert ([(rig.price, None), (rig.price, "done")] if rig.shows_calls else []) == steps


@pytest.mark.parametrize("sees", [True, pytest.param(False, marks=pytest.mark.gate)])
async def test_a_picture_is_seen_if_the_operator_says_so(rig: BridgeRig, sees: bool) -> None:
    async with running(rig, f"sees_images = {str(sees).lower()}\n") as gateway:
        ada = gateway.person()
        ada.side.send_picture(ada.chat, png(), "look")
        assert f"I see {int(sees)} pictures." in (await ada.answer()).text


async def test_a_tool_waits_for_approval(rig: BridgeRig) -> None:
    if not rig.asks:
        pytest.skip("this bridge cannot ask")
    async with running(rig) as gateway:
        ada = gateway.person()
        await ada.say("order tea")
        question = await ada.answer()
        assert "tea" in question.text
        assert [] == ledger().ordered
        await ada.press("Allow once")
        assert "tea is ordered" in (await ada.answer()).text
        await ada.say("order gold")
        await ada.answer("gold")
        await ada.press("Deny")
        assert "gold is ordered" not in (await ada.answer()).text
        assert ["tea"] == ledger().ordered


async def test_a_message_in_between_is_heard(rig: BridgeRig) -> None:
    ledger().slow.touch()
    async with running(rig) as gateway:
        ada = gateway.person()
        await ada.say("stock of tea")
        await gateway.until(lambda: ledger().counting == ["tea"], "the count")
        await ada.say("hurry up")
        await asyncio.sleep(0.1)
        ledger().slow.unlink()
        answer = await ada.answer()
        assert "You said: hurry up" in answer.text


async def test_stop_ends_a_run_that_hangs_and_the_next_message_is_answered(rig: BridgeRig) -> None:
    async with running(rig) as gateway:
        ada = gateway.person()
        await ada.say("hang")
        await gateway.until(lambda: any("One moment" in message.text for message in ada.messages()), "the beginning")
        await ada.say("/stop")
        assert "One moment" in (await ada.answer("(Stopped.)")).text
        await ada.say("hello")
        await ada.answer("You said: hello")


async def test_a_run_that_hangs_ends_at_the_deadline_and_one_that_breaks_says_so(rig: BridgeRig) -> None:
    async with running(rig, f"deadline_s = {1 + rig.starts_s}\nworking_s = 0\n") as gateway:
        ada = gateway.person()
        await ada.say("hang")
        assert "One moment" in (await ada.answer("time")).text
        await ada.say("break")
        assert "One moment" != (await ada.answer("One moment")).text
        await ada.say("hello")
        await ada.answer("You said: hello")


@asynccontextmanager
async def open_world(rig: BridgeRig, directory: Path) -> AsyncIterator[tuple[PantryWorld, TelegramSimulator]]:
    (directory / "gateway.toml").write_text(f"{rig.config}[access]\ndirect = 'open'\ndanger_allow_everyone = true\n")
    (directory / "home").mkdir(mode=0o700)
    ours = {"PYTHONPATH": str(ROOT), "TENK_HOME": str(directory / "home"), "TENK_HTTP": "127.0.0.1:0"}
    async with TelegramSimulator.with_bot() as telegram, ModelServer() as model:
        yield PantryWorld(directory, [telegram], model, os.environ | ours | telegram.environment()), telegram


@pytest.mark.gate
async def test_an_approval_after_a_kill_runs_the_tool(rig: BridgeRig, tmp_path: Path) -> None:
    if not rig.asks or not rig.keeps_questions:
        pytest.skip("this bridge cannot ask, or its checkpointer forgets")
    async with open_world(rig, tmp_path) as (world, telegram):
        chat = telegram.direct(PERSON)
        async with world.life(killed=True) as running:
            telegram.say(chat, "order tea")
            await running.until(lambda: any(shown.buttons for shown in telegram.answers(chat)), "the question")
        async with world.life() as running:
            question = next(shown for shown in telegram.answers(chat) if shown.buttons)
            telegram.press(chat, question.message_id, dict(question.buttons)["Allow once"])
            await running.answered(telegram, "The shop says: tea is ordered")


@pytest.mark.gate
async def test_a_kill_while_a_tool_runs_loses_nothing_and_says_nothing_twice(rig: BridgeRig, tmp_path: Path) -> None:
    ledger().slow.touch()
    async with open_world(rig, tmp_path) as (world, telegram):
        chat = telegram.direct(PERSON)
        async with world.life(killed=True) as running:
            telegram.say(chat, "stock of tea")
            await running.until(lambda: bool(ledger().counting), "the count")
        ledger().slow.unlink()
        async with world.life() as running:
            await running.answered(telegram, "The shop says: ")
            telegram.say(chat, "count")
            await running.answered(telegram, "I have heard 2 messages.")
    assert 2 == len(telegram.answers(chat))
    assert (1 if rig.shows_calls else 2) >= len(ledger().counting)
