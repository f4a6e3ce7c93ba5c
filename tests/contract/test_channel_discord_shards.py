"""A bot with several shards: each has its own servers and session, and the loss of one loses and doubles nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from channels.base import ChannelState, Connections
from channels.errors import ConfigRefused, Retryable
from tests.fakes.discord import Rig, discord, texts

SHARDS = 4
GUILDS = [(number << 22) | 5 for number in range(SHARDS)]
ROOMS = [70_000 + number for number in range(SHARDS)]


@asynccontextmanager
async def sharded(shards: object = SHARDS, **more: object) -> AsyncIterator[Rig]:
    async with discord(shards=shards, **more) as rig:
        rig.sessions.limit.max_concurrency = SHARDS
        for guild, room in zip(GUILDS, ROOMS, strict=True):
            rig.simulator.add_channel(room, guild)
        yield rig


async def _stand(rig: Rig, count: int = SHARDS) -> None:
    everyone = [(number, count) for number in range(count)]
    await rig.simulator.until(lambda: rig.sessions.open_shards == everyone, timeout_s=30)
    await rig.sink.until(lambda: len(rig.sink.cursors) == count)


def _say(rig: Rig, text: str) -> list[str]:
    said = [f"{text} in {place}" for place in (1, *ROOMS)]
    for place, words in zip((1, *ROOMS), said, strict=True):
        rig.simulator.say(place, words, person=None if place == 1 else 7)
    return said


async def _heard(rig: Rig, *said: list[str]) -> None:
    wanted = sorted(text for part in said for text in part)
    await rig.sink.until(lambda: set(wanted) <= set(texts(rig)))
    assert wanted == sorted(text for text in texts(rig) if text in wanted)


async def test_each_shard_hears_its_servers_and_the_first_direct_messages():
    async with sharded() as rig, rig.running():
        await _stand(rig)
        said = [_say(rig, f"message {number}") for number in range(10)]
        used = [rig.simulator.command(room, "stats", person=7) for room in ROOMS]
        await _heard(rig, *said)
        await rig.sink.until(lambda: {f"int:{one.id}" for one in used} <= {one.event_id for one in rig.sink.events})
        for at, room in enumerate((1, *ROOMS)):
            assert [part[at] for part in said] == [text for text in texts(rig) if text.endswith(f" in {room}")]
        assert Connections("shards", SHARDS, SHARDS) == rig.channel.count_connections()
        assert (SHARDS, SHARDS) == (rig.sessions.identifies, rig.simulator.gateway.sockets)
    assert rig.channel.count_connections() is None


@pytest.mark.parametrize("how", ["cut", "closed", "asked"])
async def test_a_connection_that_goes_is_resumed_and_the_others_do_not_notice(how: str):
    async with sharded() as rig, rig.running():
        await _stand(rig)
        said = [_say(rig, "before")]
        for shard in range(SHARDS):
            match how:
                case "cut":
                    rig.simulator.close_sockets(None, shard=shard)
                case "closed":
                    rig.simulator.close_sockets(4000, shard=shard)
                case _:
                    rig.simulator.ask_reconnect(shard=shard)
            said.append(_say(rig, f"while {shard} is away"))
            await rig.simulator.until(lambda shard=shard: rig.sessions.resumes == shard + 1, timeout_s=30)
        await _heard(rig, *said)
        assert SHARDS == rig.sessions.identifies


async def test_a_session_that_is_lost_is_that_shards_alone():
    async with sharded() as rig, rig.running():
        await _stand(rig)
        await _heard(rig, _say(rig, "before"))
        rig.simulator.close_sockets(None, shard=2)
        rig.simulator.forget_sessions(shard=2)
        said = _say(rig, "while 2 is away")
        await rig.sink.until(lambda: set(said) <= set(texts(rig)))
        await rig.sink.until(lambda: '"gap":false' in rig.sink.cursors[2])
        again = {text for text in texts(rig) if texts(rig).count(text) > 1}
        assert again <= {f"before in {ROOMS[2]}", f"while 2 is away in {ROOMS[2]}"}
        assert SHARDS + 1 == rig.sessions.identifies


async def test_a_process_that_dies_is_followed_by_one_that_resumes_every_shard():
    async with sharded() as rig:
        async with rig.running():
            await _stand(rig)
            before = _say(rig, "before")
            await _heard(rig, before)
            rig.sink.open.clear()  # from here on nothing is committed any more
            held = _say(rig, "held")
            await rig.simulator.until(lambda: all(session.seq > 2 for session in rig.sessions.live()))
        missed = _say(rig, "missed")
        await rig.restarted()
        async with rig.running(wait=False):
            await _heard(rig, held, missed)
            assert not set(before) & set(texts(rig))
        assert (SHARDS, SHARDS) == (rig.sessions.identifies, rig.sessions.resumes)


@pytest.mark.parametrize("counts", [(1, SHARDS, 2), (SHARDS, 3, 1)])
async def test_another_number_of_shards_loses_nothing(counts: tuple[int, ...]):
    async with sharded(counts[0]) as rig:
        said: list[list[str]] = []
        for count in counts:
            rig.config = rig.config.model_copy(update={"shards": count})
            await rig.restarted()
            async with rig.running(wait=False):
                await _stand(rig, count)
                for part in said[-1:]:
                    await rig.sink.until(lambda part=part: set(part) <= set(texts(rig)))
                said.append(_say(rig, f"with {count}"))
                await rig.sink.until(lambda: set(said[-1]) <= set(texts(rig)))
            said.append(_say(rig, f"after {count}"))
        assert (sum(counts), 0) == (rig.sessions.identifies, rig.sessions.resumes)


@pytest.mark.parametrize(("at_once", "waits"), [(1, 3), (2, 2), (4, 0)])
async def test_sessions_are_opened_as_discord_paces_them(at_once: int, waits: int):
    async with sharded() as rig:
        rig.sessions.limit.max_concurrency = at_once
        async with rig.running(wait=False):
            await _stand(rig)
        paced = [asked_s for asked_s in rig.pauses.asked_s if 4.0 < asked_s <= 5.0]
        assert (waits, SHARDS) == (len(paced), rig.sessions.identifies)


async def test_a_session_that_was_opened_too_quickly_is_opened_again():
    async with sharded() as rig:
        rig.sessions.limit.every_s, rig.sessions.limit.max_concurrency = 1_000_000.0, 1
        async with rig.running(wait=False):
            await rig.simulator.until(lambda: rig.sessions.too_quick >= 2, timeout_s=30)
            assert [(0, SHARDS)] == [session.shard for session in rig.sessions.live()]
            rig.sessions.limit.every_s = 0.0
            await _stand(rig)
            await _heard(rig, _say(rig, "hello"))


async def test_no_session_is_opened_once_the_days_are_used_up():
    async with sharded() as rig:
        limit = rig.sessions.limit
        limit.total, rig.pauses.takes_s = SHARDS - 1, 0.01  # as many as may begin at once are left alone
        async with rig.running(wait=False):
            await rig.sink.until(lambda: any("no new session for 1440 minutes" in told for _, told in rig.sink.states))
            assert 0 == rig.sessions.identifies
            limit.total = 1000
            await _stand(rig)


async def _ended(rig: Rig) -> BaseException:
    running = asyncio.get_running_loop().create_task(rig.sink.run(rig.channel))  # see ChannelManager._apart
    await asyncio.wait({running}, timeout=30)
    ended = running.exception()
    assert isinstance(ended, ConfigRefused | Retryable)
    return ended


async def test_too_few_shards_are_told_with_what_to_write():
    async with sharded(2) as rig:
        rig.sessions.limit.guilds_a_shard = 1
        ended = await _ended(rig)
        assert 'more shards than 2: set shards of [channels.discord.main] to "auto"' in str(ended)
        assert (ChannelState.FAILED, str(ended)) in rig.sink.states
    async with sharded("auto") as rig:
        rig.sessions.limit.guilds_a_shard = 1
        assert isinstance(await _ended(rig), Retryable)
        rig.sessions.limit.shards = 5
        async with rig.running(wait=False):
            await _stand(rig, 5)


async def test_a_gap_of_servers_that_another_shard_hears_of_is_not_read():
    async with sharded() as rig:
        async with rig.running():
            await _stand(rig)
            said = _say(rig, "known")
            await _heard(rig, said)
        rig.simulator.forget_sessions()
        missed = _say(rig, "missed")
        await rig.restarted()
        async with rig.running(wait=False):
            await _heard(rig, missed)
            await rig.sink.until(lambda: all('"gap":false' in cursor for cursor in rig.sink.cursors.values()))
        assert all(1 == texts(rig).count(text) for text in missed)
