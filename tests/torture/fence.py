"""A second owner takes every shard while the first still runs (F62)."""

import sqlite3

from tests.torture.world import World


async def take_over(world: World) -> None:
    """The gateway answers slowly, loses its shards meanwhile, then is ended; the next one answers.

    Raises:
        AssertionError: the first wrote its answer although the shards were not its own any more.
    """
    said = world.say(1, "s")
    await world.until(lambda: len(world.sim.history(1)) > 0, 10, "a busy sign")
    with sqlite3.connect(world.database, timeout=10) as connection:
        connection.execute("UPDATE shards SET owner = 'another', epoch = epoch + 1")
    connection.close()
    await world.until(lambda: "turn_fenced" in world.gateway.tail() or world.is_settled(), 15, "the end of the turn")
    ended = world.is_settled()
    await world.kill()
    await world.start()
    await world.settle()
    if ended:
        raise Unfenced(f"m{said.number} was answered by a gateway that did not own its session")


class Unfenced(AssertionError):
    """A gateway wrote what was not its own."""
