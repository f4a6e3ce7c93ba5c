"""Notices between processes: sent in groups, heard by their addressee, not by their sender."""

import asyncio

import pytest

from gateway.cluster.wakeups import MOST_CHARS, Wakeups
from gateway.errors import StoreUnavailable
from gateway.ownership import IN, OUT


class Ears:
    def __init__(self, me: str) -> None:
        self.wakeups = Wakeups(me)
        self.heard: list[tuple[str, str]] = []
        for topic in (IN, OUT, "users"):
            self.wakeups.on(topic, lambda name, topic=topic: self.heard.append((topic, name)))  # type: ignore[misc]  a default


async def sent(wakeups: Wakeups, *, fails: bool = False) -> list[str]:
    words: list[str] = []

    async def send(told: str) -> None:
        words.append(told)
        if fails:
            raise StoreUnavailable("gone")

    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(wakeups.run(send))
        for _ in range(5):
            await asyncio.sleep(0)
        running.cancel()
    return words


async def test_what_came_together_is_told_at_once_and_once() -> None:
    us, them = Ears("a:1"), Ears("b:1")
    for topic, name in ((IN, 17), (OUT, "telegram:main"), (IN, 17)):
        us.wakeups.tell(topic, name)
    (words,) = await sent(us.wakeups)
    for ears in (us, them):
        ears.wakeups.hear(words)
    assert ([], [(IN, "17"), (OUT, "telegram:main")]) == (us.heard, them.heard)


async def test_a_notice_is_never_longer_than_one_may_be() -> None:
    us, them = Ears("a:1"), Ears("b:1")
    names = [f"telegram:{'ñ' * 60}{number}" for number in range(200)]
    for name in names:
        us.wakeups.tell(OUT, name)
    notices = await sent(us.wakeups)
    assert all(len(words.encode()) <= MOST_CHARS for words in notices)
    for words in notices:
        them.wakeups.hear(words)
    assert names == [name for _, name in them.heard]


@pytest.mark.parametrize("words", ["", "\n", "wake", "wake \n", "nothing 1", "wake b\nnothing 1\n\n", "\x00", "in"])
def test_an_unknown_notice_wakes_no_process(words: str) -> None:
    us = Ears("a:1")
    us.wakeups.hear(words)
    assert [] == [name for _, name in us.heard if name]


def test_a_trigger_tells_without_a_sender() -> None:
    us = Ears("a:1")
    us.wakeups.hear("users 0193")
    assert [("users", "0193")] == us.heard
