"""Chats that are read back, and what was at work when a process died, mean the same on every engine."""

from datetime import timedelta
from functools import partial

import sqlalchemy as sa

from agent.transcript import ModelResponded, TurnStarted, UserItem
from channels.base import KnownChat
from channels.messages import Address
from gateway.store import chats, crashes, inbox, journal, pairing, people
from gateway.store.crashes import AtWork, Record, row_work, turn_work
from gateway.store.engine import Store
from gateway.store.inbox import NewRow
from gateway.store.journal import TurnRow
from gateway.store.pairing import PairingRequest, PairingState
from gateway.store.people import Newcomer
from gateway.store.tables.people import users
from tests.fakes.people import NOON, message

KEY = "agent:coach:slack:main:direct:1"


async def let_in(store: Store, sender: str) -> str:
    """Somebody an operator let into the account; their user id."""
    newcomer = Newcomer("default", sender, "slack:main", "Ana", "member", "cli")
    return (await store.write(lambda c: people.enrol(c, newcomer, NOON))).user_id


def asked(number: int, sender: str, chat: str) -> PairingRequest:
    """A request of somebody's to be let in."""
    return PairingRequest(
        f"r{number}", "default", "slack", "main", sender, "Ana", chat, None, PairingState.PENDING, NOON,
        NOON + timedelta(hours=1), None,
    )  # fmt: skip


async def test_chats_are_those_of_people_who_are_let_in_the_latest_first(store: Store) -> None:
    """Who was approved and has said nothing since is found where they asked; who is blocked, or a stranger, is not."""
    ana, bob, approved = [await let_in(store, f"slack:T1:{name}") for name in ("ana", "bob", "new")]
    note = partial(chats.note, tenant="default", direct=True)
    for chat, user, after_s in (("D1", ana, 0), ("D2", bob, 5), ("D1", ana, 9)):
        at = NOON + timedelta(seconds=after_s)
        where = Address("slack", "main", chat)
        await store.write(lambda c, where=where, user=user, at=at: note(c, where=where, user_id=user, now=at))
    thread = Address("slack", "main", "C1", "17.5")
    await store.write(lambda c: chats.note(c, "default", thread, ana, NOON, direct=False))
    for number, (sender, chat) in enumerate((("slack:T1:new", "D3"), ("slack:T1:ana", "D1"), ("slack:T2:new", "D4"))):
        await store.write(partial(pairing.add, request=asked(number, sender, chat)))
    await store.write(lambda c: c.execute(sa.update(users).where(users.c.id == bob).values(role="blocked")) and None)
    found = await store.read(lambda c: chats.of_account(c, "slack", "main"))
    assert [("D1", None, True), ("C1", "17.5", False), ("D3", None, True)] == [
        (one.chat, one.thread, one.direct) for one in found
    ]
    assert KnownChat("D1", None, True, NOON + timedelta(seconds=9)) == found[0]
    assert approved
    assert [] == await store.read(lambda c: chats.of_account(c, "slack", "other"))


async def test_a_death_is_counted_for_what_was_at_work(store: Store) -> None:
    """A fresh turn and those marked, until something is journaled; what waits, and what ended, is not."""
    state = await store.write(lambda c: journal.open_session(c, "default", KEY, "steer", 1, NOON))

    async def turn(name: str, seq: int) -> TurnRow:
        where = Address("slack", "main", "D1")
        row = TurnRow(name, "default", state.id, "u", "chat", where, None, NOON)
        await store.write(lambda c: journal.begin_turn(c, row))
        await store.write(lambda c: journal.append(c, row, seq, [TurnStarted((UserItem("hi"),))], NOON))
        return row

    async def died(owner: str) -> dict[str, Record]:
        await store.write(partial(journal.take_all_shards, owner=owner))
        return dict(await store.read(crashes.records))

    first, second = await turn("t1", 0), await turn("t2", 1)
    row_id = await store.write(lambda c: inbox.admit(c, NewRow(message(), "u", KEY), NOON))
    assert {turn_work("t1"): Record(0, 0), turn_work("t2"): Record(0, 0)} == await died("a")  # nobody had owned it
    one, two, row = turn_work(first.id), turn_work(second.id), row_work(row_id or 0)
    await store.write(lambda c: crashes.mark(c, [one], "default", AtWork.ALONE))
    await store.write(lambda c: crashes.mark(c, [row], "default", AtWork.BESIDE))
    assert {one: Record(1, 1), two: Record(0, 0), row: Record(1, 0)} == await died("b")
    await store.write(lambda c: crashes.mark(c, [one, row], "default", AtWork.ALONE))
    epoch = await store.write(partial(journal.take_all_shards, owner="c"))
    assert {one: Record(2, 2), two: Record(0, 0), row: Record(2, 1)} == await store.read(crashes.records)
    await store.write(lambda c: crashes.mark(c, [one, row], "default", AtWork.ALONE))
    await store.write(partial(journal.let_go, epoch=epoch))
    assert {one: Record(2, 2), two: Record(0, 0), row: Record(2, 1)} == await died("d")  # it ended as told to
    await store.write(lambda c: crashes.mark(c, [one], "default", AtWork.ALONE))
    await store.write(lambda c: journal.append(c, first, 2, [ModelResponded(0, "so far")], NOON))
    await store.write(partial(inbox.claim, ids=[row_id or 0], turn_id="t2"))
    assert {one: Record(1, 0), two: Record(0, 0)} == await died("e")
