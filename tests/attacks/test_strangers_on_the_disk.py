"""Storage for strangers and unlisted groups: keys only, no words."""

from pathlib import Path

from tests.journeys.house import house

CANARY = "canary-of-a-stranger"
GROUP = -1001234567890


def on_disk(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(home.iterdir()) if path.is_file())


async def test_flood_of_strangers_leaves_a_few_keys_and_no_word(tmp_path: Path):
    async with house(tmp_path, access="pairing") as here:
        here.sim.add_chat(GROUP, "supergroup")
        for number in range(100):
            here.sim.say(1, f"{CANARY} {number}")
            here.sim.say(GROUP, f"{CANARY} in a group", person=2)
        await here.settled()
        codes = here.texts(1)
        rows = await here.rows("SELECT outcome, count(*) AS rows FROM inbox GROUP BY outcome")
        words = await here.rows("SELECT count(*) AS words FROM inbox WHERE payload LIKE '%canary%'")
        kept = await here.rows("SELECT count(*) AS kept FROM tickets WHERE kept LIKE '%canary%'")
    assert 1 == len(codes)
    assert [{"outcome": "refused", "rows": 10}] == rows
    assert ([{"words": 0}], [{"kept": 1}]) == (words, kept)
    assert f"{CANARY} in a group".encode() not in on_disk(here.home)


async def test_who_blocks_and_unblocks_the_bot_for_ever_leaves_a_few_rows_and_is_heard_all_the_same(tmp_path: Path):
    async with house(tmp_path, access="pairing") as here:
        for _ in range(150):
            here.sim.block(1)
            here.sim.unblock(1)
        here.sim.say(1, "hello")
        await here.told(1, "code")
        await here.settled()
        rows = await here.rows("SELECT outcome, count(*) AS rows FROM inbox GROUP BY outcome ORDER BY outcome")
    assert [{"outcome": "context", "rows": 5}, {"outcome": "refused", "rows": 1}] == rows


async def test_groups_that_the_bot_is_put_into_and_out_of_leave_one_burst_each(tmp_path: Path):
    async with house(tmp_path, access="pairing") as here:
        here.sim.add_chat(GROUP, "supergroup")
        for _ in range(100):
            here.sim.block(GROUP)
            here.sim.unblock(GROUP)
        await here.settled()
        rows = await here.rows("SELECT count(*) AS rows FROM inbox")
        parked = await here.rows("SELECT count(*) AS lanes FROM parked_lanes")
    assert [{"rows": 5}] == rows
    assert parked[0]["lanes"] <= 1
