"""Carries an operator's call to the running gateway, or does it alone where none runs; prints what strangers wrote."""

import asyncio
import json
from pathlib import Path
from typing import Any

import click
from pydantic import JsonValue

from channels.messages import DEFAULT_TENANT
from gateway.cli.prepare import prepare
from gateway.config.named_things import unknown_tenant
from gateway.config.settings import Settings
from gateway.errors import AlreadyRunning, GatewayError, SchemaDiffers
from gateway.ops import control_client
from gateway.ops.lock import HomeLock
from gateway.safety.private_files import replace_file
from gateway.safety.redaction import escape_controls
from gateway.store import outbox, pairing
from gateway.store.engine import Store, reading


def ask(config_path: Path | None, name: str, arguments: dict[str, Any]) -> Any:
    """What the running gateway answers, or the store where none runs.

    Raises:
        GatewayError: it was refused, or nothing can be reached; the message says why.
    """
    return asyncio.run(operate(prepare(config_path), name, _of_tenant(arguments)))


def _of_tenant(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the tenant of `tenk --tenant NAME`, where one is named."""
    context = click.get_current_context(silent=True)
    tenant = None if context is None else context.find_root().params.get("tenant")
    return arguments if tenant is None else {**arguments, "tenant": tenant}


def _part_of(settings: Settings, store: Store, arguments: dict[str, Any]) -> Store:
    """What of the store is looked at; the tenant is taken out of the arguments.

    Raises:
        GatewayError: there is no such tenant.
    """
    tenant = arguments.pop("tenant", None)
    if tenant is not None and tenant not in (known := (DEFAULT_TENANT, *settings.tenants)):
        raise GatewayError(unknown_tenant(tenant, known))
    return store.of(tenant)


def look(config_path: Path | None, name: str, arguments: dict[str, Any]) -> Any:
    """What the running gateway answers to a question that changes nothing, or its store where it does not answer.

    Nothing is locked or migrated: it works beside a gateway that hangs, too.

    Raises:
        GatewayError: it makes no sense, or there is nothing to look at; the message says why.
    """
    return asyncio.run(_look(prepare(config_path), name, _of_tenant(arguments)))


async def _look(settings: Settings, name: str, arguments: dict[str, JsonValue]) -> JsonValue:
    try:
        return await control_client.call(settings.control_path, name, arguments)
    except control_client.NobodyAnswers:
        async with reading(settings.database_url) as whole:
            store = _part_of(settings, whole, arguments)
            if name.startswith("sessions."):
                from gateway.ops.conversations import conversation_calls  # noqa: PLC0415  the list of them is waited for

                return await conversation_calls(store)[name](arguments)
            from gateway.cli.alone import look_up  # noqa: PLC0415  as below

            return await look_up(store, name, arguments)


def export_person(config_path: Path | None, who: str, destination: Path) -> tuple[dict[str, Any], str]:
    """Write a person's data to a new file; who it is, and how many rows of what are in it.

    Raises:
        GatewayError: nobody is known by that, or the file is there or cannot be written.
    """
    if destination.exists():
        raise GatewayError(f"{destination} is there already; name a file that is not")
    settings = prepare(config_path)
    person: Any = asyncio.run(operate(settings, "users.export", {"who": who}))
    from gateway.cli.alone import data_of  # noqa: PLC0415  as below

    whole = asyncio.run(data_of(settings, person["user"]))
    try:
        replace_file(destination, json.dumps(whole, ensure_ascii=False, indent=1).encode())
    except OSError as error:
        raise GatewayError(f"{destination} cannot be written: {error.strerror}") from error
    return person, ", ".join(f"{len(rows)} {name}" for name, rows in whole.items() if isinstance(rows, list) and rows)


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
        from gateway.cli.alone import carry_out, lone_store  # noqa: PLC0415  it loads all of access and stores: half a second

        async with lone_store(settings) as whole:
            return await carry_out(settings, _part_of(settings, whole, arguments), name, arguments)


def closer_status(config_path: Path | None) -> tuple[Path, bool, dict[str, JsonValue]]:
    """By the whole configuration: the home, whether a gateway runs on it, and its answer or what its store holds."""
    settings = prepare(config_path)
    running, answer = asyncio.run(gateway_status(settings))
    return settings.home, running, answer


async def gateway_status(settings: Settings) -> tuple[bool, dict[str, JsonValue]]:
    """Whether a gateway runs on this home, and its answer to `status`; else what its store holds, if there is one."""
    try:
        answer = await control_client.call(settings.control_path, "status", {})
    except control_client.NobodyAnswers:
        return False, await _stored_status(settings)
    return True, answer if isinstance(answer, dict) else {"status": answer}


async def _stored_status(settings: Settings) -> dict[str, JsonValue]:
    """What the store says while no gateway runs; nothing where there is none, as looking must not make a database."""
    if settings.database_url.startswith("sqlite") and not (settings.home / "tenk.db").exists():
        return {}
    silent: dict[str, JsonValue] = {}
    try:
        with HomeLock(settings.home):
            pass
    except AlreadyRunning as running:
        silent = {"needs_you": {"gateway": running.while_silent}}
    try:
        async with reading(settings.database_url) as store:
            parts = await store.read(outbox.depths)
            waiting = await store.read(pairing.pending_counts)
    except SchemaDiffers as differs:
        return silent | {"store": str(differs)}
    depths: dict[str, JsonValue] = {str(state): count for state, count in parts.items()}
    return silent | {"outbox": depths, "pairing_requests": dict[str, JsonValue](waiting)}
