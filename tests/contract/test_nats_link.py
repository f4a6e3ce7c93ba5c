"""Words between processes over a real NATS: what it may not, or cannot, it says, and whoever asked sends otherwise."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import structlog

from gateway.cluster.nats_link import NatsLink, servers_of
from gateway.ops.doctor import check_nats
from tests.fakes.nats import NatsServer

SUBJECT = "tenk.test"
RIGHTS = """
authorization {
  users = [
    {user: free, password: made-up},
    {user: deaf, password: made-up, permissions: {subscribe: {deny: ["tenk.>"]}}},
    {user: mute, password: made-up, permissions: {publish: {deny: ["tenk.>"]}}},
  ]
}
"""


@pytest.fixture(scope="module")
def nats() -> Iterator[NatsServer]:
    """A server with users of several rights."""
    with NatsServer(RIGHTS) as running:
        yield running


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that a server does."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def linked(url: str, user: str = "free", password: str = "made-up") -> AsyncIterator[tuple[NatsLink, list[str]]]:
    """One process's link, as it runs, and what it hears."""
    heard: list[str] = []
    link = NatsLink(url.replace("://", f"://{user}:{password}@"), SUBJECT, heard.append, retry_s=0.01)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(link.run())
        yield link, heard
        running.cancel()


async def tried(link: NatsLink) -> None:
    """Until it knows how it stands."""
    await until(lambda: "not tried" not in link.trouble)


async def test_words_reach_the_others_and_not_oneself(nats: NatsServer) -> None:
    """What is no word between processes is nothing to us; it says where it is, and no password."""
    async with linked(nats.url) as (ours, of_ours), linked(nats.url) as (theirs, of_theirs):
        await until(lambda: not ours.trouble and not theirs.trouble)
        await until_heard(ours, of_theirs)
        assert [] == of_ours
        assert f"NATS at 127.0.0.1:{nats.port}" == ours.standing


async def until_heard(one: NatsLink, of_other: list[str]) -> None:
    """One says junk, which nobody hears, and a word until the other does: the server may not know them at once."""
    assert await one.publish("hello")
    async with asyncio.timeout(30):
        while not of_other:
            assert await one.publish("wake me\nin 17")
            await asyncio.sleep(0.01)
    assert {"wake me\nin 17"} == set(of_other)


@pytest.mark.parametrize(("user", "right"), [("mute", "publish"), ("deaf", "subscription")])
async def test_a_right_that_is_missing_is_told_in_a_line(nats: NatsServer, user: str, right: str) -> None:
    """With what to do; nothing is published then, so that the words go otherwise."""
    with structlog.testing.capture_logs() as logged:
        async with linked(nats.url, user) as (link, _):
            await until(lambda: right in link.trouble)
            assert not await link.publish("wake me\nin 17")
            assert "not usable: permissions violation" in link.standing
    (said,) = [line for line in logged if line["event"] == "nats_refuses"]
    assert SUBJECT in said["mend"]


async def test_a_wrong_password_is_told_once(nats: NatsServer) -> None:
    """However often it is tried again; the password stands nowhere."""
    with structlog.testing.capture_logs() as logged:
        async with linked(nats.url, password="wrong-one") as (link, _):
            await tried(link)
            assert not await link.publish("wake me\nin 17")
    assert ["nats_away"] == [line["event"] for line in logged]
    assert "authorization" in link.trouble.lower()
    assert "wrong-one" not in str(logged)


async def test_a_server_that_comes_back_is_used_again() -> None:
    """Nobody need tell the gateway; meanwhile it says that nothing goes this way."""
    with NatsServer() as server:
        async with linked(server.url) as (ours, _), linked(server.url) as (theirs, of_theirs):
            await until(lambda: not ours.trouble and not theirs.trouble)
            server.kill()
            await until(lambda: bool(ours.trouble) and bool(theirs.trouble))
            assert not await ours.publish("wake me\nin 17")
            server.start()
            await until(lambda: not ours.trouble and not theirs.trouble)
            await until_heard(ours, of_theirs)


@pytest.mark.parametrize(
    "url", ["http://nats:4222", "nats", "nats://", "nats://a:b", "nats://a:99999", "nats://a, ,", ""]
)
def test_what_names_no_server_is_refused(url: str) -> None:
    """Before anything starts."""
    with pytest.raises(ValueError, match="nats://user:password@host"):
        servers_of(url)


def test_several_servers_are_named_by_commas() -> None:
    """Of one cluster."""
    assert ["nats://a:4222", "tls://u:p@b"] == list(servers_of("nats://a:4222, tls://u:p@b"))


async def test_the_doctor_looks_at_it(nats: NatsServer, tmp_path: Path) -> None:
    """As one that may, as one that may not, and where no server is."""
    urls = [nats.url.replace("://", f"://{user}:made-up@") for user in ("free", "mute")] + ["nats://127.0.0.1:1"]
    done, refused, away = [await check_nats(url, tmp_path) for url in urls]
    assert (f"NATS at 127.0.0.1:{nats.port}", "") == (done.words, done.to_do)
    assert "permissions violation for publish" in refused.words
    assert "who may publish and subscribe to tenk." in refused.to_do
    assert ("not usable" in away.words, bool(away.to_do)) == (True, True)
