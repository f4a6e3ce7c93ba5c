"""Who is blamed for the deaths of a process: what was alone at work, and nobody who stood beside it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from agent.ports import Turn, TurnPorts
from agent.transcript import EndReason, ModelResponded, TurnStarted, UserItem
from channels.base import Channel
from channels.messages import Address, ChatKind, InboundEvent, InboundMessage, Sender
from gateway.commands.base import Command, Invocation, Reply
from gateway.safety.guard import GuardConfig, InputGuard
from gateway.sessions.trials import ALONE_S, GIVEN_UP_AFTER, QUIET_S, SUSPECT_AFTER, Admitted, Trials, alone_s, pause_s
from gateway.sessions.user_items import UserItemBuilder
from gateway.store.inbox import InboxRow
from tests.fakes.spine import SORRY, Spine, quick_store
from tests.fakes.virtual_time import VirtualTimeLoop, passes, run_virtually
from tests.unit.sessions.test_approvals import Payer

REST_S = 100.0
AT = datetime(2026, 3, 4, tzinfo=UTC)


@dataclass
class Fate:
    """What kills the process, and when it did."""

    died: asyncio.Event = field(default_factory=asyncio.Event)
    begun_s: float = 0.0
    deaths_s: list[float] = field(default_factory=list)  # each as seconds after its process began
    runs: list[str] = field(default_factory=list)  # what was said in each turn that was begun or taken up
    steps: dict[str, int] = field(default_factory=dict)  # of turns that journal before they kill

    async def strike(self) -> None:
        """The process dies here: nothing of it goes on."""
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
    """What a chat shows, without the mark of what a death may have doubled."""
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
    """Another process over what is in the store."""
    await (end or spine.kill)()
    fate.died.clear()
    fate.begun_s = asyncio.get_running_loop().time()
    await spine.begin()


def scene(path: Path, play: Callable[[Spine, Fate], Awaitable[None]], **more: object) -> None:
    """A gateway on a clock of its own."""

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


def test_pauses_grow_and_are_bounded() -> None:
    """1, 2, 4 s, up to a minute; the solitude of a suspect grows alike, beyond what a turn may take."""
    assert [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0] == [pause_s(deaths) for deaths in range(3, 11)]
    assert 60.0 == pause_s(30_000)
    assert [*ALONE_S, ALONE_S[-1]] == [alone_s(deaths) for deaths in range(3, 9)]


def test_what_kills_the_process_each_time_is_given_up_after_three_deaths_alone(tmp_path: Path) -> None:
    """Three deaths among others, three alone after 1, 2 and 4 s; then its person is told, all others are answered."""

    async def play(spine: Spine, fate: Fate) -> None:
        await spine.say("long 50", "p2", "c2")
        await spine.say("poison")
        await live(spine, fate)
        assert SUSPECT_AFTER + GIVEN_UP_AFTER == len(fate.deaths_s)
        waited = [round(second) for second in fate.deaths_s[SUSPECT_AFTER:]]
        assert [SORRY] == shown(spine, "c1")
        assert ["done: long 50"] == shown(spine, "c2")
        assert waited in ([51, 2, 4], [1, 51, 4])  # the other suspect is tried first, or after the first of them

    scene(tmp_path, play)


def test_who_only_stood_beside_is_answered(tmp_path: Path) -> None:
    """A turn that was cut by every death of another's making is a suspect, runs alone and ends well."""

    async def play(spine: Spine, fate: Fate) -> None:
        for number in range(5):
            await spine.say(f"long 5 of {number}", "p2", f"g{number}")
        await spine.say("poison")
        await live(spine, fate)
        assert [SORRY] == shown(spine, "c1")
        answers = [shown(spine, f"g{number}") for number in range(5)]
        assert [[f"done: long 5 of {number}"] for number in range(5)] == answers

    scene(tmp_path, play)


def test_a_turn_that_gets_on_is_never_given_up(tmp_path: Path) -> None:
    """Seven deaths, each after something was journaled: it is taken up at once every time, and answered."""

    async def play(spine: Spine, fate: Fate) -> None:
        await spine.say("progress")
        await live(spine, fate)
        assert 7 == len(fate.deaths_s)
        assert [0.0] * 7 == [round(second, 1) for second in fate.deaths_s]
        assert ["done: progress"] == shown(spine)

    scene(tmp_path, play)


def test_a_stop_that_was_asked_for_is_no_death(tmp_path: Path) -> None:
    """Ten restarts in the middle of a turn make no suspect of it."""

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


def test_deaths_before_it_came_to_its_turn_are_not_counted(tmp_path: Path) -> None:
    """A suspect that waits for its pause is not at work: the process may die as often as it likes."""

    async def play(spine: Spine, fate: Fate) -> None:
        await spine.say("long 9")
        for _ in range(SUSPECT_AFTER):
            await spine.quiet()
            await again(spine, fate)
        for _ in range(10):
            await passes(0.5)
            await again(spine, fate)
        assert SUSPECT_AFTER == len(fate.runs)
        await passes(20)
        assert ["done: long 9"] == shown(spine)

    scene(tmp_path, play)


def test_others_wait_for_a_suspect_but_not_for_ever(tmp_path: Path) -> None:
    """What is said while a suspect is tried is begun when it has ended, or after 20 s at the latest."""

    async def play(spine: Spine, fate: Fate) -> None:
        await spine.say("long 300")
        for _ in range(SUSPECT_AFTER):
            await spine.quiet()
            await again(spine, fate)
        await passes(pause_s(SUSPECT_AFTER) + 0.5)
        await spine.say("hello", "p2", "c2")
        await passes(ALONE_S[0] - 1)
        assert [] == shown(spine, "c2")
        await passes(1)
        assert ["done: hello"] == shown(spine, "c2")
        await passes(300)
        assert ["done: long 300"] == shown(spine, "c1")

    scene(tmp_path, play)


def test_a_suspect_waits_for_quiet_but_nobody_waits_long_for_that(tmp_path: Path) -> None:
    """While a long turn is at work others are kept for 5 s, let in for 5 s, and so on; at last it is tried beside."""

    async def play(spine: Spine, fate: Fate) -> None:
        await spine.say("long 2", "p1", "c1")
        for _ in range(SUSPECT_AFTER):
            await spine.quiet()
            await again(spine, fate)
        await spine.say("long 10000", "p2", "c2")
        await passes(pause_s(SUSPECT_AFTER) + 0.5)
        await spine.say("kept", "p2", "g3")
        await passes(QUIET_S[0] - 1)
        assert [] == shown(spine, "g3")
        await passes(1)
        assert ["done: kept"] == shown(spine, "g3")
        await passes(2 * sum(QUIET_S) + 10)
        assert ["done: long 2"] == shown(spine, "c1")

    scene(tmp_path, play)


def test_a_message_that_kills_the_process_before_there_is_a_turn_is_given_up(tmp_path: Path) -> None:
    """D5: it is counted when it is taken in hand again; after three deaths alone it is failed, and the person told."""
    fates: list[Fate] = []

    class Deadly(UserItemBuilder):
        async def build(self, event: InboundEvent, channel: Channel) -> UserItem | None:
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
        assert 1 + SUSPECT_AFTER + GIVEN_UP_AFTER == len(fate.deaths_s)  # the first process knew nothing of it

    scene(tmp_path, play, reader=Deadly(InputGuard(GuardConfig()), "coach"))


def test_a_command_that_kills_the_process_is_given_up(tmp_path: Path) -> None:
    """The same rule; commands of others go on, and so does what is said after it."""
    fates: list[Fate] = []

    async def deadly(_asked: Invocation) -> Reply:
        await fates[0].strike()
        raise AssertionError

    async def play(spine: Spine, fate: Fate) -> None:
        fates.append(fate)
        row = await spine.say("/deadly")
        await live(spine, fate)
        after = await spine.say("hello")
        await passes(1)
        assert {row: "failed", after: "answered"} == await spine.outcomes()
        assert ["done: hello"] == shown(spine, "c1")[1:]

    scene(tmp_path, play, more_commands=(Command("deadly", "Kills", deadly),))


def test_a_suspect_that_asks_its_person_asks_once_and_hears_what_they_say(tmp_path: Path) -> None:
    """To ask is to get on: it is no suspect any more, what they say joins it, and nothing goes in circles."""
    payer, deaths = Payer(), iter(range(SUSPECT_AFTER))

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


def test_a_tenants_turns_are_bounded_within_those_of_all(tmp_path: Path) -> None:
    """What waits for its tenant keeps nobody else waiting."""

    async def play(_loop: VirtualTimeLoop) -> None:
        store = await quick_store(tmp_path / "tenk.db")
        running: list[str] = []

        async def work(trials: Trials, tenant: str) -> None:
            event = InboundMessage(
                event_id="e", message_id="1", address=Address("sim", "main", "c1"), sender=Sender("p1", "P"),
                received_at=AT, kind=ChatKind.DIRECT, text="hello", mentions_bot=True, tenant=tenant,
            )  # fmt: skip

            async def run(_admitted: Admitted) -> None:
                running.append(tenant)
                await passes(10)
                running.remove(tenant)

            await trials.run([InboxRow(1, tenant, "k", "u", event, AT)], run)

        async with asyncio.TaskGroup() as tasks:
            trials = Trials(store, 4, tasks)
            trials.set_bound("bell", 1)
            for tenant in ("bell", "bell", "bell", "default", "default", "default", "default"):
                tasks.create_task(work(trials, tenant))
            await passes(1)
            assert ["bell", "default", "default", "default"] == sorted(running)
            await passes(10)
            assert ["bell", "default"] == sorted(running)
            await passes(10)
            assert ["bell"] == running
        await store.aclose()

    run_virtually(play)
