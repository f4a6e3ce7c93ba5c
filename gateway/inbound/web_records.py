"""Conversations, messages, files and browsers of web pages and terminals, read from the store."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from agent.transcript import Steered, TurnEnded, TurnStarted, UserItem
from agent.wellformed import clean
from channels.base import Channel, NotPersisted
from channels.messages import DEFAULT_TENANT, Address, ChatKind, InboundMessage, OutboundMedia, OutboundPart, Sender
from channels.web.past_messages import KeptMessage, PastConversation, SeenDevice
from gateway.access.agents import AgentChoice
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.errors import StoreUnavailable
from gateway.inbound.session_key import direct_key
from gateway.store import people, web_devices
from gateway.store.conversations import KeptTurn, kept_turns, list_reachable, read_reachable, sender_of
from gateway.store.engine import Connection, Store
from gateway.store.heads import ConversationHead, list_heads
from gateway.store.outbox import file_of, handed_id, idem_key, put_file
from gateway.store.people import AuditRow
from gateway.store.web_devices import ShownPart, said_in, sent_file, sent_to
from gateway.threads import run_in_thread

MOST_CONVERSATIONS = 50
MOST_BROWSER_CHARS = 200  # of a browser's name for itself
MOST_TURNS = 60
MOST_RECENT = 200  # messages of a person in a chat, and as many parts of ours

T = TypeVar("T")


class StoredRecords:
    """Implementation of the `Records` of `channels.web`."""

    def __init__(
        self, store: Store, agents: AgentChoice, clock: Callable[[], datetime], tenant: str = DEFAULT_TENANT
    ) -> None:
        """Take the tenant's agents, whose names are part of session keys."""
        self._clock = clock
        self._store = store
        self._agents = agents
        self._tenant = tenant

    async def conversations(self, chat: str) -> Sequence[PastConversation]:
        key = self._key(chat)
        listed = [(head, head.key == key) for head in await self._read(partial(self._list, key=key))]
        return [
            PastConversation(head.id, head.title, head.used_at, here and head.living, "" if here else head.platform)
            for head, here in listed
        ]

    async def recent(self, chat: str) -> Sequence[KeptMessage]:
        address = Address("web", "main", chat)
        said = await self._read(partial(said_in, tenant=self._tenant, address=address, most=MOST_RECENT))
        sent = await self._read(partial(sent_to, tenant=self._tenant, address=address, most=MOST_RECENT))
        kept = [KeptMessage(message.received_at, message) for message in said]
        now = self._clock()
        kept += [KeptMessage(shown.sent_at, _as_part(shown, now)) for shown in sent]
        return sorted(kept, key=lambda message: message.at)

    async def messages(self, channel: Channel, chat: str, conversation_id: str) -> Sequence[KeptMessage]:
        found = await self._read(partial(self._turns, key=self._key(chat), session_id=conversation_id))
        address = Address("web", "main", chat)
        return await run_in_thread(  # long answers take time to render
            lambda: [kept for turn in found for kept in messages_of(turn, channel, address)]
        )

    async def keep_file(self, handle: str, content: bytes) -> None:
        kept = partial(put_file, tenant=self._tenant, id_=handed_id(handle), content=content, now=self._clock())
        try:
            await self._store.commit(kept)
        except StoreUnavailable:
            raise NotPersisted("the store takes no file just now") from None

    async def find_file(self, handle: str) -> bytes | None:
        return await self._read(partial(file_of, id_=handed_id(handle)))

    async def find_sent_file(self, chat: str, message_id: str, number: int) -> OutboundMedia | None:
        def find(connection: Connection) -> OutboundMedia | None:
            ref = sent_file(connection, self._tenant, Address("web", "main", chat), message_id, number)
            content = None if ref is None else file_of(connection, ref.blob)
            if ref is None or content is None:
                return None
            return OutboundMedia(ref.kind, ref.name, ref.mime, content, ref.description)

        return await self._read(find)

    async def note_device(self, chat: str, browser: str) -> None:
        row = AuditRow(self._clock(), f"web:{chat}", "device_added", f"web:{chat}", browser[:MOST_BROWSER_CHARS])
        await self._keep(partial(people.record, tenant=self._tenant, row=row))

    async def see_device(self, chat: str, device: str, browser: str) -> None:
        called = clean(browser)[:MOST_BROWSER_CHARS]
        await self._keep(
            partial(
                web_devices.note_seen, tenant=self._tenant, chat=chat, device=device, browser=called, now=self._clock()
            )
        )

    async def devices(self, chat: str) -> Sequence[SeenDevice]:
        found = await self._read(partial(web_devices.list_devices, tenant=self._tenant, chat=chat))
        return [SeenDevice(each.device, each.browser, each.seen_at) for each in found]

    async def sign_out(self, chat: str, devices: Sequence[str]) -> Sequence[str]:
        out = partial(web_devices.sign_out, tenant=self._tenant, chat=chat, devices=devices, now=self._clock())
        return await self._keep(out)

    async def signed_out(self) -> Sequence[tuple[str, str]]:
        return await self._read(partial(web_devices.signed_out, tenant=self._tenant))

    async def _keep(self, job: Callable[[Connection], T]) -> T:
        try:
            return await self._store.commit(job)
        except StoreUnavailable:
            raise NotPersisted("the store takes nothing just now") from None

    def _list(self, connection: Connection, key: str) -> list[ConversationHead]:
        """Return the conversations that can be resumed in this chat, as `/sessions` lists them."""
        person = people.find_sender(connection, self._tenant, sender_of(key) or "")
        if person is None:
            return list_heads(connection, self._tenant, MOST_CONVERSATIONS, key=key)
        return list_reachable(connection, self._tenant, key, person.user_id, MOST_CONVERSATIONS)

    def _turns(self, connection: Connection, key: str, session_id: str) -> list[KeptTurn]:
        found = kept_turns(connection, self._tenant, key, session_id, MOST_TURNS)
        if found:
            return found
        person = people.find_sender(connection, self._tenant, sender_of(key) or "")
        if person is None:
            return []
        return read_reachable(connection, self._tenant, key, person.user_id, session_id, MOST_TURNS)

    def _key(self, chat: str) -> str:
        agent = self._agents.of_sender(self._tenant, f"web:{chat}", "web:main")
        return direct_key(Address("web", "main", chat), chat, agent)

    async def _read(self, query: Callable[[Connection], T]) -> T:
        try:
            return await self._store.read(query, lasting=True)
        except StoreUnavailable:
            raise NotPersisted("the store cannot be asked just now") from None


async def unread(store: Store, tenant: str, clock: Callable[[], datetime], address: Address) -> list[OutboundPart]:
    """Return the parts sent in a chat after the person's last message, in order.

    Raises:
        NotPersisted: the store is unavailable.
    """

    def read(connection: Connection) -> list[ShownPart]:
        newest = said_in(connection, tenant, address, 1)
        sent = sent_to(connection, tenant, address, MOST_RECENT)
        return [shown for shown in sent if not newest or shown.sent_at > newest[0].received_at]

    try:
        return [_as_part(shown, clock()) for shown in await store.read(read, lasting=True)]
    except StoreUnavailable:
        raise NotPersisted("the store cannot be asked just now") from None


def messages_of(turn: KeptTurn, channel: Channel, address: Address) -> Iterator[KeptMessage]:
    """Return a turn's messages and then its answer; if a message was deleted, its text from the journal."""
    said = turn.said
    if said is None:
        said = [_as_message(item, f"{turn.id}-{number}", turn, address) for number, item in enumerate(_items(turn), 1)]
    for message in said:
        yield KeptMessage(message.received_at, message)
    ended = next((event for event in turn.events if isinstance(event, TurnEnded)), None)
    if ended is None:
        return  # its answer is under way
    for part in to_parts(channel, OutboundMessage(address, turn.answer, ended.text)):
        kept = OutboundPart(address=address, rendered=part.rendered, idem_key=idem_key(part))
        yield KeptMessage(turn.ended_at or turn.started_at, kept)


def _as_part(shown: ShownPart, now: datetime) -> OutboundPart:
    """Return a part without buttons that are over."""
    part, until = shown.part, shown.part.buttons_until
    media = tuple(OutboundMedia(ref.kind, ref.name, ref.mime, b"", ref.description) for ref in part.media)
    return OutboundPart(
        address=part.address,
        rendered=part.rendered,
        idem_key=shown.message_id.removeprefix("b-"),
        reply_to=part.reply_to,
        buttons=() if until is None or until <= now else part.buttons,
        media=media,
    )


def _items(turn: KeptTurn) -> Iterator[UserItem]:
    for event in turn.events:
        if isinstance(event, TurnStarted | Steered):
            yield from (item for item in event.items if item.own and item.text.strip())


def _as_message(item: UserItem, id_: str, turn: KeptTurn, address: Address) -> InboundMessage:
    at = turn.started_at if item.at is None else datetime.fromisoformat(item.at)
    return InboundMessage(
        event_id=f"msg:{id_}",
        address=address,
        sender=Sender(address.chat, ""),
        received_at=at,
        message_id=id_,
        kind=ChatKind.DIRECT,
        text=item.text,
    )
