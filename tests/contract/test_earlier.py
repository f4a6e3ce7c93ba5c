"""The message that a reply refers to, found in the inbox on every engine."""

from dataclasses import replace

from channels.messages import Address, ChatKind, InboundEvent, InboundMessage, MessageDeleted, Quoted, QuoteKind, Sender
from gateway.store import earlier, inbox
from gateway.store.engine import Store
from gateway.store.inbox import NewRow, Outcome
from tests.fakes.people import NOON

CHAT = Address("slack", "main", "C1", "7")
BO = Sender("9", "Bo")


def said(event_id: str, text: str, **more: object) -> InboundMessage:
    values: dict[str, object] = {
        "event_id": event_id,
        "address": CHAT,
        "sender": BO,
        "received_at": NOON,
        "message_id": "7",
        "kind": ChatKind.GROUP,
        "text": text,
    }
    return InboundMessage(**(values | more))  # type: ignore[arg-type]  by name


async def found(store: Store) -> Quoted | None:
    reply = said("reply", "log this", message_id="9", reply_to="7")
    return await store.read(lambda connection: earlier.replied_to(connection, reply))


async def admit(store: Store, event: InboundEvent) -> int:
    row = NewRow(event, "u1", outcome=Outcome.CONTEXT)
    id_ = await store.commit(lambda connection: inbox.admit(connection, row, NOON))
    assert id_ is not None
    return id_


async def test_what_is_replied_to_reads_as_it_reads_now(store: Store) -> None:
    await admit(store, said("elsewhere", "no", address=replace(CHAT, chat="C2")))
    assert await found(store) is None
    await admit(store, said("a", "45m"))
    assert Quoted(QuoteKind.REPLY, "45m", "Bo") == await found(store)
    await admit(store, said("b", "50m", edited=True))
    assert Quoted(QuoteKind.REPLY, "50m", "Bo") == await found(store)
    await admit(store, said("c", "60m", forwarded=True, forwarded_from="Cy"))
    assert Quoted(QuoteKind.REPLY, "60m", "Cy") == await found(store)


async def test_what_was_taken_back_or_blanked_is_not_found(store: Store) -> None:
    id_ = await admit(store, said("a", "45m"))
    await store.commit(lambda connection: inbox.redact(connection, id_))
    assert await found(store) is None
    await admit(store, said("b", "50m", edited=True))
    assert await found(store) is not None
    await admit(store, MessageDeleted(event_id="d", address=CHAT, sender=BO, received_at=NOON, message_id="7"))
    assert await found(store) is None
