"""The channel manager: a failed channel stops no other, and is restarted with backoff."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from channels.base import ChannelState, Reaction, Sink
from channels.errors import ConfigRefused
from channels.messages import Address
from channels.registry import ChannelNotInstalled
from gateway.inbound.connections import ChannelAccount
from gateway.inbound.manager import RESTART_S, ChannelManager
from gateway.store.engine import Store
from tests.fakes.chat import FakeChannel
from tests.fakes.people import NOON
from tests.fakes.spine import quick_store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await quick_store(tmp_path / "tenk.db")
    yield store
    await store.aclose()


@dataclass
class Runs(FakeChannel):
    ends: list[Exception | None] = field(default_factory=list)
    runs: int = 0

    async def run(self, sink: Sink) -> None:
        self.runs += 1
        if self.ends and (end := self.ends.pop(0)) is not None:
            raise end
        sink.report(ChannelState.READY)
        await asyncio.Event().wait()


class Ours:
    def __init__(self) -> None:
        self.menus = {"": [("start", "What I do")]}
        self.personas = {"web:main": "You are Ada."}


@asynccontextmanager
async def managed(
    store: Store, *accounts: tuple[str, Callable[[], FakeChannel]]
) -> AsyncIterator[tuple[ChannelManager, list[float]]]:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        specs = [ChannelAccount(name, "main", make) for name, make in accounts]
        manager = ChannelManager(specs, store, lambda: NOON, tasks, {"default": Ours()}, pause)
        running = tasks.create_task(manager.run())
        yield manager, pauses
        running.cancel()


async def until(condition: Callable[[], bool]) -> None:
    """Let others work until this holds."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0)


def fails(error: Exception) -> Callable[[], FakeChannel]:

    def make() -> FakeChannel:
        raise error

    return make


@pytest.mark.parametrize(
    "error", [ConfigRefused("no token"), ChannelNotInstalled("pip install it"), KeyError("a bug in the adapter")]
)
async def test_a_channel_that_cannot_be_made_stops_no_other(store: Store, error: Exception) -> None:
    good = Runs(name="good")
    async with managed(store, ("bad", fails(error)), ("good", lambda: good)) as (manager, _):
        await until(lambda: manager.states()["good:main"][0] is ChannelState.READY)
        await until(lambda: manager.states()["bad:main"][0] in {ChannelState.FAILED, ChannelState.DEGRADED})
        refused = not isinstance(error, KeyError)
        assert refused == (manager.states()["bad:main"][0] is ChannelState.FAILED)
        assert manager.now_loaded(Address("bad", "main", "1")) is None
        assert manager.is_configured(Address("bad", "main", "1"))
        assert not manager.is_configured(Address("none", "main", "1"))


async def test_a_start_waits_until_each_channel_has_asked_or_could_not(store: Store) -> None:

    class Silent(Runs):
        async def run(self, sink: Sink) -> None:
            await asyncio.Event().wait()

    accounts = ("good", lambda: Runs(name="good")), ("bad", fails(ConfigRefused("no token")))
    async with managed(store, *accounts) as (manager, _):
        await manager.until_begun(30)
        begun = [state for state, *_ in manager.states().values()]
        assert [ChannelState.READY, ChannelState.FAILED] == begun
    async with managed(store, ("silent", lambda: Silent(name="silent"))) as (manager, _):
        await manager.until_begun(0)
        assert ChannelState.STARTING is manager.states()["silent:main"][0]


async def test_a_channel_that_breaks_is_started_again_with_patience(store: Store) -> None:
    bad = Runs(name="bad", ends=[KeyError("x"), OSError("y"), ValueError("z"), None])
    async with managed(store, ("bad", lambda: bad)) as (manager, pauses):
        await until(lambda: manager.states()["bad:main"][0] is ChannelState.READY)
        assert list(RESTART_S[:3]) == pauses
        assert 4 == bad.runs
        assert NOON == manager.states()["bad:main"][2]


async def test_what_could_not_be_read_is_shown_until_the_channel_says_otherwise(store: Store) -> None:

    class Gappy(Runs):
        async def run(self, sink: Sink) -> None:
            sink.report_missing("two chats")
            self.sink = sink
            await super().run(sink)

    gappy = Gappy(name="sim")
    async with managed(store, ("sim", lambda: gappy)) as (manager, _):
        await until(lambda: manager.states()["sim:main"][2] is not None)
        shown = [manager.states()["sim:main"]]
        for state, detail in ((ChannelState.DEGRADED, "lost"), (ChannelState.READY, ""), (ChannelState.READY, "")):
            gappy.sink.report(state, detail)
            shown.append(manager.states()["sim:main"])
        gappy.sink.report_missing("")
        shown.append(manager.states()["sim:main"])
    missing = (ChannelState.DEGRADED, "two chats", NOON)
    assert [missing, (ChannelState.DEGRADED, "lost", NOON), missing, missing, (ChannelState.READY, "", NOON)] == shown


async def test_a_refused_configuration_is_not_tried_again(store: Store) -> None:
    bad = Runs(name="bad", ends=[ConfigRefused("the token was revoked")])
    async with managed(store, ("bad", lambda: bad)) as (manager, pauses):
        await until(lambda: manager.states()["bad:main"][0] is ChannelState.FAILED)
        assert "the token was revoked" == manager.states()["bad:main"][1]
        assert [] == pauses
        assert bad is await manager.when_loaded(Address("bad", "main", "1"))


@pytest.mark.parametrize("error", [KeyError("a bug"), ConfigRefused("the token was revoked")])
async def test_signs_fail_without_harm(store: Store, error: Exception) -> None:
    bad = Runs(name="bad", sign_error=error)
    async with managed(store, ("bad", lambda: bad)) as (manager, _):
        await until(lambda: manager.states()["bad:main"][0] is ChannelState.READY)
        manager.react(Address("bad", "main", "1"), "1", Reaction.QUEUED)
        for _ in range(10):
            await asyncio.sleep(0)
        assert ChannelState.READY is manager.states()["bad:main"][0]


async def test_closing_closes_every_channel(store: Store) -> None:

    class Stuck(Runs):
        async def aclose(self) -> None:
            raise KeyError("a bug")

    good = Runs(name="good")
    async with managed(store, ("bad", lambda: Stuck(name="bad")), ("good", lambda: good)) as (manager, _):
        await until(lambda: all(how[0] is ChannelState.READY for how in manager.states().values()))
    await manager.aclose()
    assert good.closed


async def test_of_two_signs_on_one_message_the_later_one_stays(store: Store) -> None:
    slow, done = asyncio.Event(), asyncio.Event()

    class Slow(FakeChannel):
        async def react(self, address: Address, message_id: str, reaction: Reaction | None) -> None:
            if reaction is not None:
                await slow.wait()
            await super().react(address, message_id, reaction)
            if reaction is None:
                done.set()

    where = Address("sim", "main", "1")
    async with managed(store, ("sim", Slow)) as (manager, _):
        channel = await manager.when_loaded(where)
        manager.react(where, "1", Reaction.QUEUED)
        manager.react(where, "1", None)
        await asyncio.sleep(0)
        slow.set()
        await done.wait()
    assert isinstance(channel, Slow)
    assert [("1", Reaction.QUEUED), ("1", None)] == channel.signs


async def test_the_agent_is_on_the_page_who_its_tenant_says(store: Store) -> None:
    async with asyncio.TaskGroup() as tasks:
        spec = ChannelAccount("web", "main", lambda: Runs(name="web"), tenant="bell")
        manager = ChannelManager([spec], store, lambda: NOON, tasks, {"bell": Ours()})
        assert "You are Ada." == manager.hints(Address("web", "main", "1"))
