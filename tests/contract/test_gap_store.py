"""Backfilled chats and the attempts at a row, the same on every engine."""

from datetime import timedelta
from functools import partial

import sqlalchemy as sa

from agent.transcript import ModelResponded
from channels.base import KnownChat
from channels.messages import Address
from gateway.store import chats, inbox, journal, people
from gateway.store.engine import Store
from gateway.store.inbox import NewRow
from gateway.store.journal import TurnRow
from gateway.store.people import Newcomer
from gateway.store.tables.people import users
from gateway.store.tickets import TICKETS, Ticket, TicketKind
from tests.fakes.people import NOON, message

KEY = "agent:coach:slack:main:direct:1"


async def let_in(store: Store, sender: str) -> str:
    newcomer = Newcomer("default", sender, "slack:main", "Ana", "member", "cli")
    return (await store.commit(lambda c: people.enrol(c, newcomer, NOON))).user_id


def asked(number: int, sender: str, chat: str) -> Ticket:
    return Ticket(
        id=f"r{number}",
        tenant="default",
        kind=TicketKind.PAIRING,
        channel="slack",
        account="main",
        sender=sender,
        display_name="Ana",
        chat=chat,
        created_at=NOON,
        expires_at=NOON + timedelta(hours=1),
    )


async def test_chats_are_those_of_people_who_are_let_in_the_latest_first(store: Store) -> None:
    ana, bob, approved = [await let_in(store, f"slack:T1:{name}") for name in ("ana", "bob", "new")]
    note = partial(chats.note, tenant="default", direct=True)
    for chat, user, after_s in (("D1", ana, 0), ("D2", bob, 5), ("D1", ana, 9)):
        at = NOON + timedelta(seconds=after_s)
        where = Address("slack", "main", chat)
        await store.commit(lambda c, where=where, user=user, at=at: note(c, where=where, user_id=user, now=at))
    thread = Address("slack", "main", "C1", "17.5")
    await store.commit(lambda c: chats.note(c, "default", thread, ana, NOON, direct=False))
    for number, (sender, chat) in enumerate((("slack:T1:new", "D3"), ("slack:T1:ana", "D1"), ("slack:T2:new", "D4"))):
        await store.commit(TICKETS.add, asked(number, sender, chat))
    await store.commit(lambda c: c.execute(sa.update(users).where(users.c.id == bob).values(role="blocked")) and None)
    found = await store.read(lambda c: chats.of_account(c, "slack", "main"))
    assert [("D1", None, True), ("C1", "17.5", False), ("D3", None, True)] == [
        (one.chat, one.thread, one.direct) for one in found
    ]
    assert KnownChat("D1", None, True, NOON + timedelta(seconds=9)) == found[0]
    assert approved
    assert [] == await store.read(lambda c: chats.of_account(c, "slack", "other"))


async def test_attempts_at_a_row_are_counted_until_a_step_or_a_stop_without_a_crash(store: Store) -> None:
    epoch = await store.commit(journal.take_all_shards, "a")
    state = await store.commit(journal.open_session, "default", KEY, "steer", 1, NOON)
    id_ = await store.commit(inbox.admit, NewRow(message(), "u", KEY), NOON)
    assert id_ is not None
    turn = TurnRow("t1", "default", state.id, "u", "chat", Address("slack", "main", "D1"), None, NOON)

    async def attempts() -> int:
        (found,) = await store.read(journal.open_turns)
        return found.attempts

    assert 1 == await store.commit(inbox.count_attempt, [id_])
    (waiting,) = await store.read(lambda c: inbox.waiting(c, 0, 10))
    assert 1 == waiting.attempts
    await store.commit(inbox.claim, [id_], "t1")
    await store.commit(journal.begin_turn, turn)
    assert 1 == await attempts()
    assert 2 == await store.commit(inbox.count_turn_attempt, "t1")
    assert 2 == await attempts()
    await store.commit(journal.append_step, turn, 1, [ModelResponded(0, "so far")], NOON)
    assert 0 == await attempts()
    assert 1 == await store.commit(inbox.count_turn_attempt, "t1")
    await store.commit(journal.let_go, epoch)
    assert 0 == await attempts()
