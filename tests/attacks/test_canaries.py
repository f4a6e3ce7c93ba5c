"""S3, A51, A52: no person's private data stands in another person's prompt, whatever the order of events.

Three people in two groups and in direct messages, with everything they can do there: talk, commands typed and native,
weekly plans, tools that read and write their data, refused and failed calls, edits, deletions, `/stop`, `/new`, models
that fail or never answer, and processes that die. Each person's private data holds a canary; every prompt is checked.
"""

import asyncio
import json
import random
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from agent.coach.prompt import coach_prompt
from agent.coach.tools import CoachTools
from agent.context.sections import Section
from agent.errors import FailureKind
from agent.ports import (
    CallStreamed,
    ModelFacts,
    ModelFailure,
    ModelRequest,
    OnModelEvent,
    Principal,
    TextDelta,
)
from agent.tools.base import Effect, ToolError, tools_of
from agent.transcript import ModelResponded, StopReason, ToolCall
from channels.messages import Address, ChatKind, CommandInvoked, Route, Sender
from gateway.coach import writer
from gateway.coach.practice import StoredPractice
from gateway.sessions.config import SessionsConfig
from tests.fakes.agents import a_tool
from tests.fakes.practice_reader import add_people
from tests.fakes.spine import NOON, Spine, quick_store
from tests.unit.agent.test_history import is_sendable

PEOPLE = ("p1", "p2", "p3")
GROUPS = ("g1", "g2")


def canary(user: str) -> str:
    return f"canary{user}canary"


class Watching:
    """A model that asks for tools, answers, fails or never answers, and checks every prompt."""

    name = "test:watching"
    facts = ModelFacts()

    def __init__(self, dice: random.Random) -> None:
        self.asked = None
        self.requests = 0
        self.leaks: list[str] = []
        self.own = 0  # prompts that held their own person's canary: the looking works
        self._dice = dice

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        self.requests += 1
        user = request.who.user_id if request.who is not None else str(request.system).rpartition("user:")[2]
        assert user in PEOPLE, "a prompt is somebody's, also where notes are written"
        self._look(user, request)
        match self._dice.choice(["answer", "answer", "calls", "calls", "calls", "fail", "hang"]):
            case "fail":
                raise ModelFailure(FailureKind.AUTH, f"no key for {canary(user)}")
            case "hang" if self._dice.random() < 0.3:
                await asyncio.Event().wait()
            case "calls" if request.tools:
                return self._calls(user, on_event)
        private = "in private" in str(request.system)
        text = f"That is {canary(user)}." if private else "That is for all to read."
        on_event(TextDelta(text))
        return ModelResponded(0, text)

    def _look(self, user: str, request: ModelRequest) -> None:
        prompt = repr(request)
        self.own += canary(user) in prompt
        for other in PEOPLE:
            if other != user and (at := prompt.find(canary(other))) >= 0:
                self.leaks.append(f"of {other} to {user}: {prompt[max(0, at - 200) : at + 50]}")
        if not is_sendable(tuple(request.items)):
            self.leaks.append(f"not sendable: {request.items}")

    def _calls(self, user: str, on_event: OnModelEvent) -> ModelResponded:
        mine = canary(user)
        wishes = [
            ("log_practice", {"skill": f"skill {mine}", "minutes": 5, "notes": mine}),
            ("get_user_skills", {}),
            ("get_practice_sessions", {"skill_id": "none such"}),  # its error names the skills there are
            ("edit_session", {"notes": f"again {mine}"}),
            ("fail", {}),
            ("boom", {}),
            ("nothing_of_the_kind", {"secret": mine}),
            ("log_practice", {"wrong": mine}),
        ]
        wanted = self._dice.sample(wishes, self._dice.randint(1, 3))
        calls = tuple(ToolCall(f"c{at}", name, json.dumps(given)) for at, (name, given) in enumerate(wanted))
        for at, call in enumerate(calls):
            on_event(CallStreamed(at, call))
        return ModelResponded(0, f"Looking at {mine}", calls, (f"thinking of {mine}",), StopReason.TOOLS)

    async def aclose(self) -> None:
        pass


class Town:
    def __init__(self, spine: Spine, dice: random.Random) -> None:
        self.spine, self.dice = spine, dice
        self.said: list[tuple[str, str, str]] = []  # user, chat, message id

    async def act(self) -> None:
        acts: list[Callable[[str, str], Awaitable[object]]] = [
            *[self.talk] * 4,
            *[self.command] * 2,
            self.native,
            self.edit,
            self.take_back,
        ]
        user = self.dice.choice(PEOPLE)
        chat = self.dice.choice((*GROUPS, f"dm-{user}"))
        if self.dice.random() < 0.03:
            await self.spine.kill()
            await self.spine.begin()
        await self.dice.choice(acts)(user, chat)
        if self.dice.random() < 0.5:
            await self.spine.quiet()

    def words(self, user: str, chat: str) -> str:
        return "how am I doing?" if chat in GROUPS else f"my secret is {canary(user)}"

    async def talk(self, user: str, chat: str) -> None:
        message = self.spine.message(self.words(user, chat), user, chat)
        self.said.append((user, chat, message.message_id))
        await self.spine.admit(message, user)

    async def command(self, user: str, chat: str) -> None:
        private = () if chat in GROUPS else (f"/log 10m skill {canary(user)}", f"/plan {canary(user)}")
        words = ("/stats", "/skills", "/plan", "/stop", "/new", "/mode followup", "/mode steer", "/undo", *private)
        await self.spine.say(self.dice.choice(words), user, chat)

    async def native(self, user: str, chat: str) -> None:
        name, arguments = self.dice.choice([("coach", canary(user)), ("log", f"9m {canary(user)}"), ("plan", "")])
        self.spine.later(seconds=1)
        until = self.spine.now + timedelta(minutes=15)
        event = CommandInvoked(
            event_id=f"native:{self.spine.now.timestamp()}",
            address=Address("sim", "main", chat),
            sender=Sender(user, user.title()),
            received_at=self.spine.now,
            name=name,
            arguments=arguments,
            kind=ChatKind.GROUP if chat in GROUPS else ChatKind.DIRECT,
            route=Route("interaction", "token", until, private=True),
        )
        await self.spine.admit(event, user)

    async def edit(self, _user: str, _chat: str) -> None:
        for user, chat, message_id in self.said[-1:]:
            await self.spine.say(self.words(user, chat), user, chat, message_id=message_id, edited=True)

    async def take_back(self, _user: str, _chat: str) -> None:
        for user, chat, message_id in self.said[-1:]:
            await self.spine.take_back(message_id, user, chat)


def play(seed: int, operations: int) -> Watching:
    with capture_logs():  # what fails here fails by design
        return asyncio.run(_play(seed, operations))


async def _play(seed: int, operations: int) -> Watching:
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "tenk.db"
        store = await quick_store(path)
        model = Watching(dice)
        spine = Spine(
            store,
            model=model,
            practice=True,
            sessions=SessionsConfig(mailbox_size=3),  # type: ignore[arg-type]  as it
            prompt=prompt,
            tools=(*tools_of(CoachTools(StoredPractice(store), writer)), *failing()),
        )
        known = {user: Principal(user, "default", f"{user} {canary(user)}", locale="en") for user in PEOPLE}
        spine.people.known = known
        await store.commit(lambda connection: add_people(connection, *known.values()))
        await spine.begin()
        town = Town(spine, dice)
        for _ in range(operations):
            await town.act()
        await spine.kill()
        await store.aclose()
    return model


def prompt(principal: Principal, now: object, hints: str) -> Mapping[Section, str]:
    return {**coach_prompt(principal, NOON, hints), Section.MEMORY: f"user:{principal.user_id}"}


def failing() -> tuple[object, ...]:

    async def fail(context: object, _arguments: object) -> object:
        raise ToolError(f"no {canary(context.principal.user_id)}")  # type: ignore[attr-defined]  a ToolContext

    async def boom(context: object, _arguments: object) -> object:
        raise ValueError(canary(context.principal.user_id))  # type: ignore[attr-defined]  a ToolContext

    return a_tool("fail", fail, concurrency_safe=True), a_tool("boom", boom, effect=Effect.NONE)


def test_s3_no_canary_in_anybody_elses_prompt() -> None:
    model = play(seed=7, operations=60)
    assert [] == model.leaks[:1], model.requests
    assert model.own > 10


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_s3_no_canary_in_10_000_operations() -> None:
    for seed in range(10):
        model = play(seed, operations=1_000)
        assert [] == model.leaks[:1], model.requests
        assert model.own > 100
