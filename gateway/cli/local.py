"""The operators' service in this process, on the store of a home without a running gateway. It is slow to import."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click
from pydantic import JsonValue

from channels.markdown.layout import plain_text
from channels.markdown.parse import parse
from channels.messages import DEFAULT_TENANT, Address, InboundEvent, Rendered
from gateway.access.agents import AgentChoice
from gateway.access.codes import AccessKeys, load_key
from gateway.capabilities.detached import open_capabilities
from gateway.cli.prepare import prepare
from gateway.cli.stored_status import part_of
from gateway.config.settings import Settings
from gateway.definitions import configure_choice, read_agents
from gateway.errors import AlreadyRunning, GatewayError, SchemaDiffers
from gateway.http.api.machine import act_alone
from gateway.inbound.reception import take_up
from gateway.operators import client
from gateway.operators.models import RotatedKeys
from gateway.operators.process import DetachedProcess
from gateway.operators.service import Operators
from gateway.ops.key_rotation import KeyRotation
from gateway.ops.lock import HomeLock
from gateway.ops.personal_data import Eraser
from gateway.product import load_product
from gateway.safety.private_files import replace_file
from gateway.store import outbox
from gateway.store.addresses import file_of
from gateway.store.agent_tables import bring_up
from gateway.store.backup import copies_of_older
from gateway.store.causes import Notice
from gateway.store.engine import Store, reading
from gateway.store.erasure import erase, of_person, pending
from gateway.store.inbox import InboxRow
from gateway.store.inspection import inspect
from gateway.store.outbox import Action, OutboxPart
from gateway.store.people import Connection, Person
from gateway.store.revisions import HEAD


class StoredProcess(DetachedProcess):
    """A process that holds the home's lock. The gateway sends its messages at the next start."""

    def __init__(self, settings: Settings, store: Store, key: bytes) -> None:
        super().__init__()
        self.people.begin(AccessKeys.derive_from(key).forgotten, ())
        self._settings = settings
        self._store = store
        product = load_product(settings.agent.product)
        self._agents = AgentChoice(product.name, self.people)
        configure_choice(self._agents, settings, product.title, read_agents(settings, DEFAULT_TENANT))

    def say(self, connection: Connection, person: Person, where: Address, text: str, cause: Notice) -> None:
        plain = plain_text(parse(text)).strip()  # its channels are not loaded here
        part = OutboxPart(cause, 0, 0, Action.SEND, where, Rendered(plain), plain, locale=person.locale)
        outbox.put(connection, person.tenant, [part], now())

    def take_up(
        self, connection: Connection, said: InboundEvent | None, person: Person, now: datetime
    ) -> InboxRow | None:
        return take_up(connection, said, person, now, self._agents)

    async def rotate_keys(self) -> RotatedKeys:
        return await KeyRotation(self._store, self._settings.home, self._settings.gateway.secret_keys).rotate()


def answer(
    config_path: Path | None,
    request: str,
    given: Mapping[str, Any],
    tenant: str | None,
    timeout_s: float = client.DEADLINE_S,
) -> Any:
    """Answer a request to `/v1` by the gateway that the settings name, or in this process. Return its JSON.

    Raises:
        GatewayError: the request was refused, or there is no store; the message says why.
    """
    return asyncio.run(_answer(prepare(config_path), request, given, tenant, timeout_s))


async def _answer(
    settings: Settings,
    request: str,
    given: Mapping[str, Any],
    tenant: str | None,
    timeout_s: float = client.DEADLINE_S,
) -> Any:
    try:
        return await client.call(settings.control_path, request, given, tenant=tenant, timeout_s=timeout_s)
    except client.NoGateway:
        pass
    if request.startswith("GET "):
        async with reading(settings.database_url) as whole:
            operators = Operators(part_of(settings, whole, tenant), b"", now, DetachedProcess())
            return await act_alone(operators, request, given)
    await _refuse_older_server(settings.database_url)
    async with lone_store(settings) as whole:
        key = load_key(settings.home)
        process = StoredProcess(settings, whole, key)
        done = await act_alone(Operators(part_of(settings, whole, tenant), key, now, process), request, given)
        await _erase_all(settings, whole)
        return done


async def _refuse_older_server(url: str) -> None:
    """Refuse to migrate a database server's schema: there is no backup, and other processes may use it.

    Raises:
        SchemaDiffers: the schema is older; the message says what to do.
    """
    seen = await inspect(url) if file_of(url) is None else None
    if seen is not None and seen.is_behind:
        raise SchemaDiffers(
            f"the database has schema version {seen.revision}, this version needs {HEAD}: back it up with pg_dump "
            "(docs/several-machines.md), then run `tenk db upgrade` or start the gateway"
        )


@asynccontextmanager
async def lone_store(settings: Settings) -> AsyncIterator[Store]:
    """Open the store under the home's lock, so that no gateway can start meanwhile.

    Raises:
        AlreadyRunning: a gateway or another command holds the lock.
    """
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(HomeLock(settings.home))
        except AlreadyRunning as running:
            raise AlreadyRunning(running.while_silent) from None
        file = file_of(settings.database_url)
        before = [] if file is None else copies_of_older(file)
        store = await Store.open(settings.database_url)
        for copy in [] if file is None else copies_of_older(file)[len(before) :]:
            click.echo(f"Upgraded the database to this version. A copy of the old one is in {copy}.", err=True)
        try:
            yield store
        finally:
            await store.aclose()


async def finish_erasures(settings: Settings) -> None:
    """Carry out deletions that people asked a gateway for before it stopped."""
    async with reading(settings.database_url) as store:
        asked = await store.read(pending)
    if asked:
        async with lone_store(settings) as store:
            await _erase_all(settings, store)


async def _erase_all(settings: Settings, store: Store) -> None:
    if not await store.read(pending):
        return
    product = load_product(settings.agent.product)
    own = [] if product.tables is None else product.tables.metadata.sorted_tables
    if product.tables is not None:
        await store.commit(bring_up, agent=product.name, tables=product.tables)
    await Eraser(store, partial(erase, own_tables=own), lambda *_: None, partial(_delete_files, settings), now).look()


async def _delete_files(settings: Settings, tenant: str, user_id: str) -> None:
    async with open_capabilities(settings, tenant) as capabilities:
        await capabilities.forget(user_id)


async def data_of(settings: Settings, tenant: str, user_id: str) -> dict[str, JsonValue]:
    """Return all stored data about a tenant's user."""
    tables = load_product(settings.of_tenant(tenant).agent.product).tables
    own = () if tables is None else tables.metadata.sorted_tables
    async with reading(settings.database_url) as store:
        return await store.of(tenant).read(partial(of_person, user_id=user_id, own_tables=own))


async def upgrade_store(settings: Settings) -> None:
    """Open the store once, which brings its schema up to date, and then the agent's tables."""
    product = load_product(settings.agent.product)
    async with lone_store(settings) as store:
        if product.tables is not None:
            await store.commit(bring_up, agent=product.name, tables=product.tables)


def now() -> datetime:
    return datetime.now(UTC)


def export_person(
    config_path: Path | None, who: str, destination: Path, tenant: str | None
) -> tuple[dict[str, Any], str]:
    """Write a person's data to a new file; return who it is, and how many rows of which tables are in it.

    Raises:
        GatewayError: the person is unknown, or the file exists or cannot be written.
    """
    if destination.exists():
        raise GatewayError(f"{destination} exists; name a new file")
    settings = prepare(config_path)
    request = f"POST {client.path_of('users', who, 'export')}"
    person: dict[str, Any] = asyncio.run(_answer(settings, request, {}, tenant))
    whole = asyncio.run(data_of(settings, person["tenant"], person["user"]))
    try:
        replace_file(destination, json.dumps(whole, ensure_ascii=False, indent=1).encode())
    except OSError as error:
        raise GatewayError(f"{destination} cannot be written: {error.strerror}") from error
    return person, ", ".join(f"{len(rows)} {name}" for name, rows in whole.items() if isinstance(rows, list) and rows)
