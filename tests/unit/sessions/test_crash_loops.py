"""A message that crashes the process: it fails after its attempts, and turns beside it are answered."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from agent.ports import Turn, TurnPorts
from agent.transcript import EndReason, ModelResponded, TurnStarted, UserItem
from channels.base import Channel
from channels.messages import InboundEvent, InboundMessage
from gateway.commands.base import Command, Invocation, Reply
from gateway.safety.guard import GuardConfig, InputGuard
from gateway.sessions.config import SessionsConfig
from gateway.sessions.turn_limit import LAST_AFTER_S, LINE_S, MAX_ATTEMPTS, TurnLimit
from gateway.sessions.user_items import UserItemBuilder
from gateway.store.journal import TurnRow
from tests.fakes.spine import SORRY, Spine, quick_store
from tests.fakes.virtual_time import VirtualTimeLoop, passes, run_virtually
from tests.unit.sessions.test_approvals import Payer

REST_S = 100.0


@dataclass
class Fate:
    died: asyncio.Event = field(default_factory=asyncio.Event)
    begun_s: float = 0.0
    deaths_s: list[float] = field(default_factory=list)  # each as seconds after its process began
    runs: list[str] = field(default_factory=list)  # what was said in each turn that was begun or taken up
    steps: dict[str, int] = field(default_factory=dict)  # of turns that journal before they kill

    async def strike(self) -> None:
        self.deaths_s.append(asyncio.get_running_loop().time() - self.begun_s)
        self.died.set()
        await asyncio.Event().wait()

    async def agent(self, turn: Turn, ports: TurnPorts) -> EndReason:
        """Do what the message says."""
        started = turn.events[0]
        assert isinstance(started, TurnStarted)
        words = started.items[0].text
        self.runs.append(words)
        if words.startswith("progress"):
            self.steps[words] = self.steps.get(words, 0) + 1
            await ports.journal.record(ModelResponded(self.steps[words], "a step"))
        if "poison" in words or (words.startswith("progress") and self.steps[words] < 8):
            await self.strike()
        if words.startswith("long"):
            await passes(float(words.split()[1]))
        await ports.journal.finish(EndReason.COMPLETED, f"done: {words}", None)
        return EndReason.COMPLETED


def shown(spine: Spine, chat: str = "c1") -> list[str]:
    return [text.partition("\n\n(↻")[0] for text in spine.channel.shown(chat)]


async def live(spine: Spine, fate: Fate) -> None:
    """Begin again after each death, until nothing dies any more."""
    while True:
        try:
            async with asyncio.timeout(REST_S):
                await fate.died.wait()
        except TimeoutError:
            spine.check()
            return
        await again(spine, fate)


async def again(spine: Spine, fate: Fate, end: Callable[[], Awaitable[None]] | None = None) -> None:
    await (end or spine.kill)()
    fate.died.clear()
    fate.begun_s = asyncio.get_running_loop().time()
    await spine.begin()


def scene(path: Path, play: Callable[[Spine, Fate], Awaitable[None]], **more: object) -> None:

    async def on(loop: VirtualTimeLoop) -> None:
        store = await quick_store(path / "tenk.db")
        loop.busy = lambda: store.engine.under_way > 0
        fate = Fate()
        spine = Spine(store, agent=fate.agent, **more)  # type: ignore[arg-type]  by name
        await spine.begin()
        await play(spine, fate)
        await spine.kill()
        await store.aclose()

    run_virtually(on)


def test_a_message_that_crashes_each_time_fails_alone_beside_forty_others(tmp_path: Path) -> None:
    async def play(spine: Spine, fate: Fate) -> None:
        for number in range(20):
            await spine.say(f"long 2 of {number}", "p2", f"g{number}")
        await spine.say("poison")
        for number in range(20, 40):
            await spine.say(f"long 2 of {number}", "p2", f"g{number}")
        await live(spine, fate)
        assert MAX_ATTEMPTS == len(fate.deaths_s)
        assert [SORRY] == shown(spine, "c1")
        answers = [shown(spine, f"g{number}") for number in range(40)]
        assert [[f"done: long 2 of {number}"] for number in range(40)] == answers

    scene(tmp_path, play, sessions=SessionsConfig(max_turns=50))


def test_after_one_crash_everything_resumes_at_once(tmp_path: Path) -> None:
    async def play(spine: Spine, fate: Fate) -> None:
        for number in range(10):
            await spine.say(f"long 2 of {number}", "p2", f"g{number}")
        await spine.quiet()
        await again(spine, fate)
        await passes(6)
        answers = [shown(spine, f"g{number}") for number in range(10)]
        assert [[f"done: long 2 of {number}"] for number in range(10)] == answers

    scene(tmp_path, play)


def test_after_two_crashes_one_begins_after_the_other_but_none_keeps_the_line_for_ever(tmp_path: Path) -> None:
    async def play(spine: Spine, fate: Fate) -> None:
        await spine.say("long 300", "p1", "c1")
        await spine.quiet()
        await spine.say("long 1", "p2", "c2")
        for _ in range(2):
            await spine.quiet()
            await again(spine, fate)
        await passes(LAST_AFTER_S + LINE_S - 1)
        assert [] == shown(spine, "c2")
        await spine.say("new", "p2", "g3")
        await passes(0.5)
        assert ["done: new"] == shown(spine, "g3")
        await passes(2)
        assert ["done: long 1"] == shown(spine, "c2")
        await passes(300)
        assert ["done: long 300"] == shown(spine, "c1")

    scene(tmp_path, play)


def test_a_turn_that_gets_on_is_never_given_up(tmp_path: Path) -> None:

    async def play(spine: Spine, fate: Fate) -> None:
        await spine.say("progress")
        await live(spine, fate)
        assert 7 == len(fate.deaths_s)
        assert [0.0] * 7 == [round(second, 1) for second in fate.deaths_s]
        assert ["done: progress"] == shown(spine)

    scene(tmp_path, play)


def test_a_stop_without_a_crash_is_not_counted(tmp_path: Path) -> None:

    async def play(spine: Spine, fate: Fate) -> None:
        await spine.say("long 9")
        for _ in range(10):
            await spine.quiet()
            await again(spine, fate, spine.stop)
        await spine.quiet()
        assert 11 == len(fate.runs)  # at once each time, without a pause
        await passes(10)
        assert ["done: long 9"] == shown(spine)

    scene(tmp_path, play)


def test_a_crash_before_a_row_began_is_not_counted_for_it(tmp_path: Path) -> None:
    async def play(spine: Spine, fate: Fate) -> None:
        await spine.say("long 9", "p1", "c1")
        await spine.say("long 1", "p2", "c2")
        for _ in range(2):
            await spine.quiet()
            await again(spine, fate)
        for _ in range(10):  # nothing has begun yet
            await passes(LAST_AFTER_S - 1)
            await again(spine, fate)
        await passes(20)
        assert ["done: long 9"] == shown(spine, "c1")
        assert ["done: long 1"] == shown(spine, "c2")

    scene(tmp_path, play)


def test_a_message_that_kills_the_process_before_there_is_a_turn_is_given_up(tmp_path: Path) -> None:
    fates: list[Fate] = []

    class Deadly(UserItemBuilder):
        async def build(self, event: InboundEvent, channel: Channel, turn: TurnRow | None = None) -> UserItem | None:
            if isinstance(event, InboundMessage) and event.text == "deadly":
                await fates[0].strike()
            return await super().build(event, channel)

    async def play(spine: Spine, fate: Fate) -> None:
        fates.append(fate)
        row = await spine.say("deadly")
        other = await spine.say("hello", "p2", "c2")
        await live(spine, fate)
        assert [SORRY] == shown(spine, "c1")
        assert ["done: hello"] == shown(spine, "c2")
        assert {row: "failed", other: "answered"} == await spine.outcomes()
        assert 1 + MAX_ATTEMPTS == len(fate.deaths_s)  # the first attempt at a fresh row is counted by its claim

    scene(tmp_path, play, reader=Deadly(InputGuard(GuardConfig()), "coach"))


def test_a_command_that_crashes_the_process_is_failed_and_what_is_said_after_it_answered(tmp_path: Path) -> None:
    fates: list[Fate] = []

    async def deadly(_asked: Invocation) -> Reply:
        await fates[0].strike()
        raise AssertionError

    async def play(spine: Spine, fate: Fate) -> None:
        fates.append(fate)
        row = await spine.say("/deadly")
        await live(spine, fate)
        assert 1 + MAX_ATTEMPTS == len(fate.deaths_s)
        after = await spine.say("hello")
        await passes(1)
        assert {row: "failed", after: "answered"} == await spine.outcomes()
        assert ["done: hello"] == shown(spine, "c1")[1:]

    scene(tmp_path, play, more_commands=(Command("deadly", "Kills", deadly),))


def test_a_turn_that_asks_after_crashes_asks_once_and_hears_what_its_person_says(tmp_path: Path) -> None:
    payer, deaths = Payer(), iter(range(MAX_ATTEMPTS - 1))

    async def play(spine: Spine, fate: Fate) -> None:
        async def run(turn: Turn, ports: TurnPorts) -> EndReason:
            if next(deaths, None) is not None:
                await fate.strike()
            return await payer.run(turn, ports)

        spine.agent = run
        await spine.say("pay")
        await live(spine, fate)
        assert ["May I"] == [text[:5] for text in spine.channel.shown()]
        await spine.say("rather not")
        await live(spine, fate)
        assert ["May I", "You say rather not."] == [text if "You" in text else text[:5] for text in shown(spine)]
        assert [] == payer.paid

    scene(tmp_path, play)


def test_a_tenant_with_a_backlog_slows_its_neighbour_by_one_turn(tmp_path: Path) -> None:

    async def play(_loop: VirtualTimeLoop) -> None:
        store = await quick_store(tmp_path / "tenk.db")
        begun: list[str] = []

        async def work(limit: TurnLimit, tenant: str) -> None:
            async with limit.slot(tenant):
                begun.append(tenant)
                await passes(10)

        async with asyncio.TaskGroup() as tasks:
            limit = TurnLimit(store, 4)
            noisy = [tasks.create_task(work(limit, "noisy")) for _ in range(300)]
            await passes(1)
            noisy[4].cancel()  # it waits first, and is given nothing
            for _ in range(3):
                tasks.create_task(work(limit, "bell"))
            await passes(40)
            for task in noisy:
                task.cancel()
        assert ["noisy"] * 4 + ["noisy", "bell"] * 3 == begun[:10]
        async with asyncio.timeout(15), asyncio.TaskGroup() as tasks:
            for _ in range(4):
                tasks.create_task(work(limit, "late"))  # every slot is free again
        assert ["late"] * 4 == begun[-4:]
        await store.aclose()

    run_virtually(play)


def test_a_tenants_turns_are_bounded_within_those_of_all(tmp_path: Path) -> None:

    async def play(_loop: VirtualTimeLoop) -> None:
        store = await quick_store(tmp_path / "tenk.db")
        running: list[str] = []

        async def work(limit: TurnLimit, tenant: str) -> None:
            async with limit.slot(tenant):
                running.append(tenant)
                await passes(10)
                running.remove(tenant)

        async with asyncio.TaskGroup() as tasks:
            limit = TurnLimit(store, 4)
            limit.set_bound("bell", 1)
            for tenant in ("bell", "bell", "bell", "default", "default", "default", "default"):
                tasks.create_task(work(limit, tenant))
            await passes(1)
            assert ["bell", "default", "default", "default"] == sorted(running)
            await passes(10)
            assert ["bell", "default"] == sorted(running)
            await passes(10)
            assert ["bell"] == running
        await store.aclose()

    run_virtually(play)
