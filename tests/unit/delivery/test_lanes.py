"""Lanes over a real store: order, resending, parking, and independence."""

import asyncio
import contextlib
import threading

import sqlalchemy as sa

from channels.errors import ConfigRefused, Permanent, PermanentKind, Retryable, Unknown
from channels.messages import Address
from gateway.delivery.lane_worker import LaneReader
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.store import outbox
from gateway.store.causes import AnswerOf
from gateway.store.outbox import OutboxRow
from gateway.store.tables.traffic import outbox as outbox_table
from tests.fakes.chat import FakeChannel, Hang, NoReceipt
from tests.fakes.spine import Spine, put_unheard

CHAT = Address("sim", "main", "c1")


def words(name: str, parts: int) -> str:
    return "\n\n".join(f"{name}{number} " + "x" * 90 for number in range(parts))


async def tell(
    spine: Spine,
    text: str,
    cause: str = "t1",
    *,
    silently: bool = False,
    address: Address = CHAT,
    claimed: bool = False,
) -> list[OutboxRow]:
    """Commit a reply as a turn does."""
    parts = to_parts(spine.channel, OutboundMessage(address, AnswerOf(cause), text))
    first_claimed = claimed and spine.delivery.reserve(parts[0])
    put = put_unheard if silently else outbox.put
    return await spine.store.commit(put, "default", parts, spine.now, first_claimed=first_claimed)


async def states(spine: Spine) -> list[str]:
    query = sa.select(outbox_table.c.state).order_by(outbox_table.c.id)
    return await spine.store.read(lambda connection: list(connection.execute(query).scalars()))


def names(spine: Spine, chat: str = "c1") -> list[str]:
    return [text.split()[0] for text in spine.channel.shown(chat)]


async def test_a_lost_placeholder_is_followed_by_one_marked_resend_at_most(spine: Spine) -> None:
    cut = Unknown("cut")
    spine.channel.fates.extend([cut, cut, cut])
    await tell(spine, words("a", 2))
    await spine.quiet()
    assert ["unknown", "unknown", "sent"] == await states(spine)
    assert 4 == len(spine.channel.calls)
    assert ["a1"] == names(spine)


async def test_unparking_in_the_tick_of_parking_sends_once(spine: Spine) -> None:
    spine.channel.fates.append(refusal := Hang(Permanent("blocked", PermanentKind.BLOCKED)))
    await tell(spine, words("a", 1), "t1")
    await spine.until(lambda: not spine.channel.fates)
    held = threading.Event()
    busy = spine.store.queue(lambda _: held.wait(30))  # what is queued behind it will be one commit
    refusal.release.set()
    while CHAT.lane not in spine.delivery.parked:
        await asyncio.sleep(0)
    unparked = spine.store.queue(outbox.unpark, CHAT.lane)
    held.set()
    assert [True, True] == [await busy, await unparked]
    spine.delivery.unpark(CHAT.lane)
    await spine.quiet()
    assert ["a0"] == names(spine)


async def test_a_wait_the_platform_named_holds_for_the_chat(spine: Spine) -> None:
    spine.channel.now = lambda: 100.0
    spine.delivery.pacer(spine.channel).slow_down(CHAT.chat, 3600.0)
    await tell(spine, words("a", 1), claimed=True)
    await spine.quiet()
    assert [] == spine.channel.calls


async def test_an_attempt_that_came_with_its_commit_is_not_persisted_again(spine: Spine) -> None:
    await tell(spine, "hello", claimed=True)
    await spine.quiet()
    query = sa.select(outbox_table.c.attempts)
    assert [1] == await spine.store.read(lambda connection: list(connection.execute(query).scalars()))


async def test_an_adapter_that_breaks_is_no_end_of_the_gateway(spine: Spine) -> None:
    spine.channel.fates.extend([KeyError("a bug"), KeyError("a bug")])
    await tell(spine, words("a", 1), "t1")
    await spine.quiet()
    assert ["unknown"] == await states(spine)
    spine.channel.fates.extend([None, KeyError("a bug")])
    await tell(spine, words("b", 2), "t2")
    await tell(spine, words("c", 1), "t3")
    await spine.quiet()
    assert "c0" in names(spine)
    assert 2 == (await states(spine)).count("dead")


async def test_a_token_that_is_refused_costs_no_answer(spine: Spine) -> None:
    spine.channel.fates.append(ConfigRefused("the token is refused"))
    await tell(spine, words("a", 1))
    await spine.quiet()
    assert ["ready"] == await states(spine)


async def test_parts_of_a_removed_account_stop_no_other(spine: Spine) -> None:
    spine.channel.fates.append(Retryable("down", retry_after_s=3600.0))
    await tell(spine, words("a", 1))
    await spine.quiet()
    await spine.kill()
    other = FakeChannel(name="other")
    spine.channels = type(spine.channels)(other)
    await spine.begin()
    await tell(spine, words("b", 1), "t2", address=Address("other", "main", "c1"))
    await spine.quiet()
    assert [f"b0 {'x' * 90}"] == other.shown()
    assert ["ready", "sent"] == await states(spine)


async def test_lanes_get_their_rows_in_any_order_of_asking(spine: Spine) -> None:
    lanes = [Address("sim", "main", f"c{number}") for number in range(3)]
    said = [await tell(spine, "hello", where.chat, silently=True, address=where) for where in lanes]
    reader, found = LaneReader(spine.store), dict[str, list[OutboxRow]]()

    async def read(lane: str) -> None:
        with contextlib.suppress(ValueError):
            found[lane] = await reader.read(lane, 0, 10)

    async def ask(*, gives_up: bool = False) -> list[list[OutboxRow]]:
        found.clear()
        async with asyncio.TaskGroup() as tasks:
            asking = [tasks.create_task(read(where.lane)) for where in lanes]
            await asyncio.sleep(0)
            if gives_up:
                asking[0].cancel()
        return [found[where.lane] for where in lanes if where.lane in found]

    assert said == await ask()
    assert said[1:] == await ask(gives_up=True)
    spoil = sa.update(outbox_table).where(outbox_table.c.id == said[1][0].id).values(action="shout")
    await spine.store.commit(lambda connection: connection.execute(spoil).rowcount)
    assert [said[0], said[2]] == await ask()


async def test_a_channel_that_returns_no_receipt_is_named_as_the_reason(spine: Spine) -> None:
    spine.channel.fates.extend([NoReceipt()] * 3)
    await tell(spine, "hello")
    await spine.quiet()
    why = await spine.store.read(lambda connection: connection.execute(sa.select(outbox_table.c.error)).scalar_one())
    assert (["unknown"], "the channel returned no Receipt but a NoneType: correct its code") == (
        await states(spine),
        why,
    )
