"""Stories without a death at a named point: a second owner, a platform that delivers twice."""

import sqlite3
from contextlib import closing

from channels.simulators.shared.faults import Fault
from tests.torture.platforms import TelegramPlatform
from tests.torture.world import NotSettled, World


async def take_over(world: World) -> None:
    """Take the shards from a gateway that answers slowly, then end it; the next one answers (F62).

    Raises:
        Unfenced: the first wrote its answer although the session was no longer its own.
    """
    said = world.say(1, "s")
    await world.until(lambda: world.platform.calls(1) > 0, 10, "a busy sign")
    with closing(sqlite3.connect(world.database, timeout=10)) as connection, connection:
        connection.execute("UPDATE shards SET owner = 'another', epoch = epoch + 1")
    await world.until(lambda: "turn_fenced" in world.gateway.tail() or world.is_settled(), 15, "the end of the turn")
    ended = world.is_settled()
    await world.kill()
    await world.start()
    await world.settle()
    if ended:
        raise Unfenced(f"m{said.number} was answered by a gateway that did not own its session")


class Unfenced(AssertionError):
    """A write of a gateway that no longer owned the shard."""


async def deliver_twice(world: World) -> None:
    """Let Telegram deliver every update twice, within a batch and again after the gateway has come back."""
    assert isinstance(world.platform, TelegramPlatform)
    world.platform.sim.faults.script(Fault(kind="duplicate", method="getUpdates", times=None))
    first = world.say(1)  # ends the poll that was under way before the script
    await world.until(lambda: world.shows(first), 15, "the first answer")
    world.say(1)
    world.say(2, "pi")
    await world.settle(10)


async def die_of_one(world: World, *, starts: int) -> int:
    """Send one message that kills the gateway at each attempt, while others write; restart it until that ends.

    Raises:
        AssertionError: it still died after so many starts.
    """
    world.say(1, "x")
    for number in range(starts):
        for chat in range(2, 42 if number == 0 else 8):
            world.say(chat, ("", "s", "p")[(chat + number) % 3])
        try:
            await world.settle(60)
        except NotSettled:
            if world.gateway.running:
                raise
        else:
            return number
        world.note_death()
        await world.start(arrives=False)
    raise AssertionError(f"it died {starts} times: {world.gateway.tail()}")


async def die_in_a_gap(world: World) -> None:
    """Kill the gateway while it backfills a gap; a person writes before it is back."""
    world.say(1)
    await world.settle()
    await world.kill()
    world.platform.forget()
    world.say(1)
    await world.start("inbox_pre:2:exit", arrives=False)  # the first is the new session itself
    if await world.gateway.ended(15.0) is None:
        raise AssertionError(f"nothing was fetched: {world.gateway.tail()}")
    world.note_death()
    world.say(1)
    await world.start()
    await world.settle(10)
