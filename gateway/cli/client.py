"""Carries an operator's call to the running gateway, or does it alone where none runs; prints what strangers wrote."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from channels.markdown.layout import plain_text
from channels.markdown.parse import parse
from channels.messages import DEFAULT_TENANT, Address, Rendered
from gateway.access.api_keys import KeyOperations
from gateway.access.calls import access_calls, invite_calls, key_calls
from gateway.access.codes import load_key
from gateway.access.inviting import InviteOperations
from gateway.access.keys import AccessKeys
from gateway.access.listing import AccessLists
from gateway.access.operations import AccessDeps, AccessOperations
from gateway.access.policy import AccessSnapshot
from gateway.cli.prepare import prepare
from gateway.cli.stored_status import silent_text
from gateway.config.settings import Settings
from gateway.delivery.dead_letters import DeadLetters
from gateway.errors import AlreadyRunning, GatewayError
from gateway.inbound.reception import take_up
from gateway.ops import control_client
from gateway.ops.eraser import Eraser
from gateway.ops.key_rotation import KeyRotation
from gateway.ops.lock import HomeLock
from gateway.ops.personal_data import PersonalData
from gateway.ops.reports import letter_calls
from gateway.ops.status import recorded_calls
from gateway.product import load_product
from gateway.safety.private_files import replace_file
from gateway.safety.redaction import escape_controls
from gateway.store import outbox
from gateway.store.agent_tables import bring_up
from gateway.store.engine import Store, reading
from gateway.store.erasure import erase
from gateway.store.outbox import Action, OutboxPart
from gateway.store.people import Connection, Person
from gateway.store.personal_data import of_person


def ask(config_path: Path | None, name: str, arguments: dict[str, Any]) -> Any:
    """What the running gateway answers, or the store where none runs.

    Raises:
        GatewayError: it was refused, or nothing can be reached; the message says why.
    """
    return asyncio.run(operate(prepare(config_path), name, arguments))


def look(config_path: Path | None, name: str, arguments: dict[str, Any]) -> Any:
    """What the running gateway answers to a question that changes nothing, or its store where it does not answer.

    Nothing is locked or migrated: it works beside a gateway that hangs, too.

    Raises:
        GatewayError: it makes no sense, or there is nothing to look at; the message says why.
    """
    return asyncio.run(_look(prepare(config_path), name, arguments))


async def _look(settings: Settings, name: str, arguments: dict[str, JsonValue]) -> JsonValue:
    try:
        return await control_client.call(settings.control_path, name, arguments)
    except control_client.NobodyAnswers:
        async with reading(settings.database_url) as store:
            return await recorded_calls(store, _now, AccessLists(store, _now))[name](arguments)


def export_person(config_path: Path | None, who: str, destination: Path) -> tuple[dict[str, Any], str]:
    """Write a person's data to a new file; who it is, and how many rows of what are in it.

    Raises:
        GatewayError: nobody is known by that, or the file is there or cannot be written.
    """
    if destination.exists():
        raise GatewayError(f"{destination} is there already; name a file that is not")
    settings = prepare(config_path)
    person: Any = asyncio.run(operate(settings, "users.export", {"who": who}))
    whole = asyncio.run(_data_of(settings, person["user"]))
    try:
        replace_file(destination, json.dumps(whole, ensure_ascii=False, indent=1).encode())
    except OSError as error:
        raise GatewayError(f"{destination} cannot be written: {error.strerror}") from error
    return person, ", ".join(f"{len(rows)} {name}" for name, rows in whole.items() if isinstance(rows, list) and rows)


async def _data_of(settings: Settings, user_id: str) -> dict[str, JsonValue]:
    tables = load_product(settings.agent.product).tables
    own = () if tables is None else tables.metadata.sorted_tables
    async with reading(settings.database_url) as store:
        return await store.read(partial(of_person, user_id=user_id, own_tables=own))


def known_as(person: dict[str, Any]) -> str:
    """A person by name, with the senders that are theirs."""
    return f"{printable(person['name'])} ({', '.join(person['senders'])})"


def printable(name: str) -> str:
    """A display name is a stranger's text: nothing in it may move the cursor (A67)."""
    return escape_controls(name)


async def operate(settings: Settings, name: str, arguments: dict[str, JsonValue]) -> JsonValue:
    """What `name` answers.

    Raises:
        GatewayError: it was refused, or neither the gateway nor the store can be reached; the message says why.
    """
    try:
        return await control_client.call(settings.control_path, name, arguments)
    except control_client.NobodyAnswers:
        async with lone_store(settings) as store:
            key, marking = load_key(settings.home), AccessSnapshot()
            marking.begin(AccessKeys.derive_from(key).forgotten, ())
            product = load_product(settings.agent.product)
            deps = AccessDeps(partial(take_up, agent=product.name), part=partial(product.move, back=True))
            operations = AccessOperations(store, key, _say, _now, deps=deps)
            inviting = InviteOperations(store, AccessKeys.derive_from(key).invites, _now)
            calls = {
                **access_calls(operations),
                **invite_calls(inviting),
                **key_calls(KeyOperations(store, _now)),
                **recorded_calls(store, _now, operations),
                **letter_calls(DeadLetters(store, _now, lambda _: None)),
                **PersonalData(store, marking, _now).calls(),
                "keys.rotate": KeyRotation(store, settings.home, settings.gateway.secret_keys).call,
            }
            answer = await calls[name](arguments)
            if name == "users.forget":
                await _erase_now(settings, store)
            return answer


async def _erase_now(settings: Settings, store: Store) -> None:
    """Carry out what was asked to be forgotten, where no gateway does."""
    product = load_product(settings.agent.product)
    own = [] if product.tables is None else product.tables.metadata.sorted_tables
    if product.tables is not None:
        await store.write(partial(bring_up, agent=product.name, tables=product.tables))
    await Eraser(store, partial(erase, own_tables=own), lambda *_: None, _now).look()


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
            raise AlreadyRunning(silent_text(running)) from None
        store = await Store.open(settings.database_url)
        try:
            yield store
        finally:
            await store.aclose()


async def upgrade_store(settings: Settings) -> None:
    """Open the store once, which brings its schema up to date, and then the agent's tables."""
    product = load_product(settings.agent.product)
    async with lone_store(settings) as store:
        if product.tables is not None:
            await store.write(partial(bring_up, agent=product.name, tables=product.tables))


def _say(connection: Connection, person: Person, where: Address, markdown: str, cause: str) -> None:
    """Leave the words for the next start of the gateway; without its channels they go as plain text."""
    text = plain_text(parse(markdown)).strip()
    part = OutboxPart(cause, 0, 0, Action.SEND, where, Rendered(text), text, locale=person.locale)
    outbox.put(connection, DEFAULT_TENANT, [part], _now())


def _now() -> datetime:
    return datetime.now(UTC)
