"""A player of faults through the real wires: sessions, store and agent unchanged, a model server behind a socket.

The clock is the loop's own and leaps, so that a stall of 90 seconds takes none. This module asserts the promises about
every fault: the turn ends in its time with one visible outcome, the next message works, the history is valid, and
nothing is left open.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, SecretStr

from agent.config import ModelConfig
from agent.models.select import ModelDeps, build_model
from agent.tools.base import Effect, Tool, ToolContext, ToolError
from agent.transcript import JOURNAL_EVENT, JournalEvent, TurnEnded, fold
from gateway.delivery.config import DeliveryConfig
from gateway.sessions.budgets import Budgets
from gateway.sessions.config import BudgetsConfig
from gateway.store.tables.turns import events as event_rows
from gateway.testing.model import Reply
from tests.contract.fault_cases import OK, TOOL_S, Case, is_beside
from tests.fakes.chat import FakeChannel
from tests.fakes.model_server import ModelServer
from tests.fakes.spine import NEVER_S, NOON, Spine, quick_store
from tests.fakes.strict_transcripts import flaws_in_items
from tests.fakes.virtual_time import VirtualTimeLoop, passes, run_virtually

RESTS = {"F03", "F09", "F10"}
"""The cooldown of a refused key or account; an operator who mends it need not wait."""

SOCKETS_S = 0.003
LOOK_EVERY_S = 1.0
DIES_AT_S = 3.0
IGNORED_S = 300.0
KEY = "sk-fault-0123456789abcdef"


class Number(BaseModel):
    """A number."""

    model_config = ConfigDict(extra="forbid")
    n: int = 0


class How(BaseModel):
    """The result of a call."""

    how: str


class Text(BaseModel):
    """Any text."""

    text: str = ""


async def double(_context: ToolContext, arguments: Number) -> int:
    return arguments.n * 2


async def echo(_context: ToolContext, arguments: Text) -> str:
    return arguments.text


async def act(_context: ToolContext, arguments: How) -> object:
    """Fail as told."""
    match arguments.how:
        case "raise":
            raise RuntimeError("broken")
        case "refuse":
            raise ToolError("not today")
        case "fenceless":
            raise ExceptionGroup("two", [ValueError("a"), KeyError("b")])
        case "lost":
            raise ConnectionResetError("the tool server hung up")
        case "hang":
            await asyncio.Event().wait()
        case "ignore":
            await _ignore_cancellation()
    return _ODD.get(arguments.how)


async def _ignore_cancellation() -> None:
    for _ in range(2):
        try:
            await asyncio.sleep(IGNORED_S)
        except asyncio.CancelledError:
            continue
        return


_NESTED: list[Any] = []
for _ in range(500):
    _NESTED = [_NESTED]
_ODD: dict[str, object] = {
    "big": "x" * 2_000_000,
    "bytes": b"\x00\xff" * 100,
    "none": None,
    "odd": object(),
    "deep": _NESTED,
    "nan": {"a": float("nan"), "b": 10**400},
}

TOOLS = tuple(
    Tool(name=name, description=name, arguments=arguments, run=run, effect=Effect.NONE, timeout_s=TOOL_S)
    for name, arguments, run in (("act", How, act), ("double", Number, double), ("echo", Text, echo))
)


async def act_anew(_context: ToolContext, arguments: Number) -> int:
    return arguments.n


def _outside(name: str, effect: Effect, arguments: type[BaseModel] = How, run: Any = act) -> Tool:
    return Tool(
        name=name,
        description=name,
        arguments=arguments,
        run=run,
        effect=effect,
        timeout_s=TOOL_S,
        permission=lambda _context, _arguments: "allow",
    )


def _offered(state: str) -> tuple[Tool, ...]:
    kinds = {"note": Effect.IDEMPOTENT, "send": Effect.UNSAFE}
    if state == "gone":
        return TOOLS[1:]
    if state == "changed":
        changed = (_outside(name, effect, Number, act_anew) for name, effect in kinds.items())
        return (replace(TOOLS[0], arguments=Number, run=act_anew), *TOOLS[1:], *changed)
    return (*TOOLS, *(_outside(name, effect) for name, effect in kinds.items()))


class FaultWorld:
    """One gateway and one model server, for all variants of one fault over one wire; each in a chat of its own."""

    def __init__(self, loop: VirtualTimeLoop, spine: Spine, channel: FakeChannel, server: ModelServer) -> None:
        self._loop = loop
        self._spine = spine
        self._channel = channel
        self._server = server
        self._chats = 0

    async def play(self, case: Case, wire: str) -> None:
        """Play one variant, from a fresh model to the answer to the next message."""
        if case.provider:
            await self._begin_again("back")
        self._chats += 1
        chat = f"g{self._chats}"  # a group has a session of its own
        tasks = asyncio.all_tasks()
        caps = Budgets(BudgetsConfig(**case.caps), self._spine.store, lambda: NOON)
        model = build_model(self._config(case, wire), ModelDeps(charge=caps.charge_by(BudgetsConfig(**case.caps), {})))
        self._spine.model = model  # type: ignore[assignment]  any model will do
        try:
            await self._play(case, chat)
            if case.fault in RESTS or case.caps:
                await model.aclose()
                model = build_model(self._config(case, wire))
                self._spine.model = model  # type: ignore[assignment]  as above
            await self._go_on(case, chat)
        finally:
            await model.aclose()
        await self._look_behind(case, tasks)

    async def _play(self, case: Case, chat: str) -> None:
        server = self._server
        server.forget()
        server.brain = lambda _: Reply(OK)
        for number in range(case.before):
            await self._exchange(chat, f"before {number}")
        before = len(self._channel.shown(chat))
        server.answers(*case.answers)
        server.brain = case.brain or server.brain
        server.requests.clear()
        took_s = await self._say(chat, "the fault", case)
        self._look(case, self._channel.shown(chat)[before:], took_s)

    async def _go_on(self, case: Case, chat: str) -> None:
        self._server.forget()
        self._server.brain = lambda _: Reply("Next.")
        if not case.model or case.caps:
            await self._exchange(chat, "and now?")
            assert "Next." in self._channel.shown(chat)[-1]

    def _look(self, case: Case, shown: list[str], took_s: float) -> None:
        assert case.at_least_s <= took_s <= case.within_s, f"it took {took_s:.1f} s"
        said = [text for text in shown if not is_beside(text)]
        assert (case.parts <= len(said)) if case.parts > 1 else 1 >= len(said), f"{len(said)} answers: {shown}"
        assert shown, "the person was told nothing"
        assert any(case.words in text for text in said or shown), shown
        assert not any("Traceback" in text or KEY in text for text in shown), shown
        assert case.asked in {None, len(self._server.requests)}, f"{len(self._server.requests)} requests"

    async def _look_behind(self, case: Case, tasks: Iterable[asyncio.Task[Any]]) -> None:
        async with asyncio.timeout(60):
            while self._server.connections:
                await passes(LOOK_EVERY_S)
        await passes(2 * IGNORED_S if case.fault == "F48" else 1)  # a tool that will not end ends at last
        running = [task for task in asyncio.all_tasks() if not _is_the_servers(task)]
        left = Counter(map(_named, running)) - Counter(map(_named, tasks)) if case.provider else {*running} - {*tasks}
        assert not left, left
        journal = await self._spine.store.read(_journal)
        for session in journal.values():
            flaws = flaws_in_items(fold(session))
            assert not flaws, flaws

    async def _begin_again(self, provider: str) -> None:
        await self._spine.kill()
        self._spine.tools = _offered(provider)
        await self._spine.begin()

    async def _exchange(self, chat: str, words: str) -> None:
        await self._say(chat, words, None)

    async def _say(self, chat: str, words: str, case: Case | None) -> float:
        """Say it and wait until it has its outcome and what is to be seen is seen; how long that took."""
        began_s = self._loop.time()
        row = await self._spine.say(words, chat=chat)
        stop_at_s = None if case is None else case.stop_at_s
        dies_at_s = DIES_AT_S if case is not None and case.provider else None
        while (await self._spine.outcomes())[row] is None:
            if stop_at_s is not None and self._loop.time() - began_s >= stop_at_s:
                stop_at_s = None
                await self._spine.say("/stop", chat=chat)
            if case is not None and dies_at_s is not None and self._loop.time() - began_s >= dies_at_s:
                dies_at_s = None
                await self._begin_again(case.provider)
            await passes(LOOK_EVERY_S)
            assert self._loop.time() - began_s <= 300, "no end"
        took_s = self._loop.time() - began_s
        await passes(LOOK_EVERY_S)
        await self._spine.quiet()
        return took_s

    def _config(self, case: Case, wire: str) -> ModelConfig:
        port = self._server.base_url.rpartition(":")[2].removesuffix("/v1")
        url = self._server.base_url if wire == "openai" else self._server.root_url
        more = {key: value.format(port=port) if isinstance(value, str) else value for key, value in case.model.items()}
        settings = {"base_url": url, "api_key": SecretStr(KEY), "local": False, **more}
        return ModelConfig(name=f"{wire}:test", **settings)  # type: ignore[arg-type]  by name


def _named(task: asyncio.Task[Any]) -> str:
    return getattr(task.get_coro(), "__qualname__", "")


def _is_the_servers(task: asyncio.Task[Any]) -> bool:
    return _named(task).startswith("RequestHandler.")


def _journal(connection: Any) -> dict[str, list[JournalEvent]]:
    found: dict[str, list[JournalEvent]] = {}
    rows = connection.execute(event_rows.select().order_by(event_rows.c.session_id, event_rows.c.seq))
    for row in rows:
        found.setdefault(row.session_id, []).append(JOURNAL_EVENT.validate_json(row.payload))
    return {id_: events for id_, events in found.items() if isinstance(events[-1], TurnEnded)}


def play_faults(path: Path, cases: Iterable[Case], wire: str) -> None:
    """Play these one after the other in a gateway of their own."""

    async def on(loop: VirtualTimeLoop) -> None:
        loop.sockets_s = SOCKETS_S
        store = await quick_store(path / "tenk.db")
        loop.busy = lambda: store.engine.under_way > 0
        channel = FakeChannel(now=loop.time).limited(max_text=4000)
        live = DeliveryConfig(typing_after_s=NEVER_S, placeholder_after_s=NEVER_S, reaction_after_s=NEVER_S)
        spine = Spine(
            store, channel, tools=_offered("back"), live=live, clock=lambda: NOON + timedelta(seconds=loop.elapsed_s)
        )
        await spine.begin()
        loop.busy = lambda: store.engine.under_way + spine.delivery.long_texts.under_way > 0
        async with ModelServer() as server:
            world = FaultWorld(loop, spine, channel, server)
            for case in cases:
                try:
                    await world.play(case, wire)
                except BaseException as problem:
                    problem.add_note(f"{case.fault}, {case.name}, over {wire}")
                    raise
        await spine.kill()
        await store.aclose()

    run_virtually(on)
