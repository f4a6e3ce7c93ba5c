"""What an operator's call does over the store alone, where no gateway runs. Heavy; imported when used."""

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial

from pydantic import JsonValue

from channels.markdown.layout import plain_text
from channels.markdown.parse import parse
from channels.messages import Address, Rendered
from gateway.access.api_keys import KeyOperations
from gateway.access.calls import access_calls, invite_calls, key_calls
from gateway.access.codes import AccessKeys, load_key
from gateway.access.inviting import InviteOperations
from gateway.access.listing import AccessLists
from gateway.access.operations import AccessDeps, AccessOperations
from gateway.access.policy import AccessSnapshot
from gateway.config.settings import Settings
from gateway.delivery.dead_letters import DeadLetters
from gateway.errors import AlreadyRunning
from gateway.inbound.reception import take_up
from gateway.ops.eraser import Eraser
from gateway.ops.key_rotation import KeyRotation
from gateway.ops.lock import HomeLock
from gateway.ops.personal_data import PersonalData
from gateway.ops.reports import letter_calls
from gateway.ops.status import recorded_calls
from gateway.product import load_product
from gateway.store import outbox
from gateway.store.agent_tables import bring_up
from gateway.store.engine import Reader, Store, reading
from gateway.store.erasure import erase
from gateway.store.outbox import Action, OutboxPart
from gateway.store.people import Connection, Person
from gateway.store.personal_data import of_person


async def carry_out(settings: Settings, store: Store, name: str, arguments: dict[str, JsonValue]) -> JsonValue:
    """What the call of this name answers.

    Raises:
        GatewayError: it was refused; the message says why.
    """
    key, marking = load_key(settings.home), AccessSnapshot()
    marking.begin(AccessKeys.derive_from(key).forgotten, ())
    product = load_product(settings.agent.product)
    deps = AccessDeps(partial(take_up, agent=product.name), part=partial(product.move, back=True))
    operations = AccessOperations(store, key, _say, now, deps=deps)
    inviting = InviteOperations(store, AccessKeys.derive_from(key).invites, now)
    calls = {
        **access_calls(operations),
        **invite_calls(inviting),
        **key_calls(KeyOperations(store, now)),
        **recorded_calls(store, now, operations),
        **letter_calls(DeadLetters(store, now, lambda _: None)),
        **PersonalData(store, marking, now).calls(),
        "keys.rotate": KeyRotation(store, settings.home, settings.gateway.secret_keys).call,
    }
    answer = await calls[name](arguments)
    if name == "users.forget":
        await _erase_all(settings, store)
    return answer


async def look_up(store: Reader, name: str, arguments: dict[str, JsonValue]) -> JsonValue:
    """What a question that changes nothing is answered by the store.

    Raises:
        GatewayError: it makes no sense; the message says why.
    """
    return await recorded_calls(store, now, AccessLists(store, now))[name](arguments)


@asynccontextmanager
async def lone_store(settings: Settings) -> AsyncIterator[Store]:
    """The store, while no gateway runs; none can start meanwhile.

    Raises:
        AlreadyRunning: one does run, or another command is at work.
    """
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(HomeLock(settings.home))
        except AlreadyRunning as running:
            raise AlreadyRunning(running.while_silent) from None
        store = await Store.open(settings.database_url)
        try:
            yield store
        finally:
            await store.aclose()


async def _erase_all(settings: Settings, store: Store) -> None:
    """Carry out what was asked to be forgotten, where no gateway does."""
    product = load_product(settings.agent.product)
    own = [] if product.tables is None else product.tables.metadata.sorted_tables
    if product.tables is not None:
        await store.write(partial(bring_up, agent=product.name, tables=product.tables))
    await Eraser(store, partial(erase, own_tables=own), lambda *_: None, now).look()


def _say(connection: Connection, person: Person, where: Address, markdown: str, cause: str) -> None:
    """Leave the words for the next start of the gateway; without its channels they go as plain text."""
    text = plain_text(parse(markdown)).strip()
    part = OutboxPart(cause, 0, 0, Action.SEND, where, Rendered(text), text, locale=person.locale)
    outbox.put(connection, person.tenant, [part], now())


async def data_of(settings: Settings, user_id: str) -> dict[str, JsonValue]:
    """All that is kept of a user."""
    tables = load_product(settings.agent.product).tables
    own = () if tables is None else tables.metadata.sorted_tables
    async with reading(settings.database_url) as store:
        return await store.read(partial(of_person, user_id=user_id, own_tables=own))


async def upgrade_store(settings: Settings) -> None:
    """Open the store once, which brings its schema up to date, and then the agent's tables."""
    product = load_product(settings.agent.product)
    async with lone_store(settings) as store:
        if product.tables is not None:
            await store.write(partial(bring_up, agent=product.name, tables=product.tables))


def now() -> datetime:
    """By the wall clock."""
    return datetime.now(UTC)
