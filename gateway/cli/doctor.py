"""`tenk doctor`: checks of files, database, tokens, models and clock; each problem comes with a remedy."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from channels.base import ChannelState
from channels.chat.probing import Asker, Finding, NoAnswer, load_probe
from channels.messages import DEFAULT_TENANT
from gateway.agent_models import price_sentences
from gateway.capabilities.detached import open_capabilities
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.cli.tables import json_option, json_text
from gateway.command_set import check_commands
from gateway.config.settings import DEFAULT_FILE, SECRETS_NAME, Settings, read_sources
from gateway.definitions import read_agents
from gateway.errors import GatewayError, SettingsError
from gateway.http.config import MCP_PATH
from gateway.operators import client
from gateway.ops.doctor import check_models, check_public_url
from gateway.ops.home_check import (
    check_clock,
    check_database,
    check_database_clock,
    check_disk,
    check_files,
    check_port,
    check_secrets,
    check_socket,
)
from gateway.ops.model_servers import links_of
from gateway.ops.status import NOT_ASKED, is_asked
from gateway.ops.voice_check import check_voice
from gateway.product import check_names
from gateway.safety.private_files import LaxFile
from gateway.safety.redaction import escape_controls


@click.command("doctor")
@click.option("--fix", "mends", is_flag=True, help="Fix what is safe to fix; report the rest.")
@click.option("--local", is_flag=True, help="Check this machine only; contact no platform or model.")
@json_option
@config_option
def command(mends: bool, local: bool, as_json: bool, config_path: Path | None) -> None:
    """Check files, disk, database, tokens, models and the clock. Exit status 1: something needs fixing."""
    asyncio.run(_run_checks(config_path, mends=mends, local=local, as_json=as_json))


async def _run_checks(config_path: Path | None, *, mends: bool, local: bool, as_json: bool) -> None:
    report, remaining = [], 0
    async for finding in _findings(config_path, mends=mends, local=local):
        done, problem = await carry_out(finding) if mends and finding.mend is not None else ("", "")
        remaining += bool(finding.to_do) and not done
        report.append(
            {
                "part": finding.part,
                "ok": not finding.to_do or bool(done),
                "found": finding.words,
                "to_do": "" if done else finding.to_do,
                "mended": done,
                "not_mended_because": problem,
                "can_be_mended": finding.mend is not None,
            }
        )
        if not as_json:
            _print(finding, done, problem)
    if as_json:
        click.echo(json_text(report))
    elif remaining and not mends and any(entry["can_be_mended"] for entry in report):
        click.echo("`tenk doctor --fix` can fix some of this.")
    if remaining:
        sys.exit(1)


def _print(finding: Finding, done: str, problem: str) -> None:
    mark = "fixed" if done else "TO DO" if finding.to_do else "ok"
    click.echo(f"{mark:6}  {finding.part}: {escape_controls(finding.words)}")
    for line in (done or finding.to_do, problem and f"not fixed: {problem}"):
        if line:
            click.echo(f"        {escape_controls(line)}")


async def carry_out(finding: Finding) -> tuple[str, str]:
    """Fix the finding. Return what was done, or why it failed."""
    assert finding.mend is not None, "the caller asks"
    try:
        return await finding.mend(), ""
    except PermissionError as error:
        return "", f"this user may not ({error.strerror}: {error.filename}); run it as the file's owner, or with sudo"
    except (OSError, GatewayError, NoAnswer) as error:
        return "", str(error)


async def _findings(config_path: Path | None, *, mends: bool, local: bool) -> AsyncIterator[Finding]:
    """Yield all findings. Files come first: a secrets file that others can read is not loaded."""
    secrets = (config_path or DEFAULT_FILE).with_name(SECRETS_NAME)
    open_to_others = [finding for finding in check_files([secrets], None) if finding.to_do]
    for finding in open_to_others:
        yield finding
    if open_to_others and not mends:
        return  # they are not read as they are
    try:
        settings = prepare(config_path)
        check_names(settings, read_sources(config_path, os.environ))
        check_commands(settings)
    except (SettingsError, LaxFile) as error:
        yield Finding("configuration", str(error), "correct it, then run the doctor again")
        return
    status = await _read_status(settings.control_path)
    for finding in (*_local_findings(settings, config_path or DEFAULT_FILE), *_account_states(settings, status)):
        yield finding
    yield await check_database(settings.database_url, settings.home)
    secret_keys = settings.gateway.secret_keys
    for look in (
        check_database_clock(settings.database_url),
        check_secrets(settings.database_url, settings.home, secret_keys),
    ):
        if (found := await look) is not None:
            yield found
    for tenant in (DEFAULT_TENANT, *settings.tenants):
        for finding in await _of_capabilities(settings, tenant, local=local):
            yield finding
    if not local:
        async for finding in _remote_findings(settings, config_path, status):
            yield finding


async def _of_capabilities(settings: Settings, tenant: str, *, local: bool) -> list[Finding]:
    """Return the findings about a tenant's capabilities; `local`: without those that ask servers."""
    whose = "" if tenant == DEFAULT_TENANT else f" @{tenant}"
    try:
        async with open_capabilities(settings, tenant) as capabilities:
            found = [*await capabilities.check_trust(), *([] if local else await capabilities.check())]
    except SettingsError as error:
        found = [Finding("configuration", str(error), "correct it, then run the doctor again")]
    except GatewayError:
        return []  # `check_database` and `check_secrets` say why
    return [replace(finding, part=f"{finding.part}{whose}") for finding in found]


def _local_findings(settings: Settings, config: Path) -> Iterable[Finding]:
    place = config.absolute()
    yield Finding("configuration", f"{place} is valid" if config.exists() else f"valid; there is no {place}")
    yield from _prices(settings)
    yield from check_files([config.with_name(SECRETS_NAME)], settings.home)
    yield check_disk(settings.home)
    if (found := check_socket(settings.control_path)) is not None:
        yield found
    if (found := check_port(settings.http, settings.control_path)) is not None:
        yield found
    yield from _agents(settings)
    yield from _mcp_server(settings)


def _agents(settings: Settings) -> Iterable[Finding]:
    """Yield a finding about the agents that files describe, if there are any."""
    for tenant in (DEFAULT_TENANT, *settings.tenants):
        if names := [agent.name for agent in read_agents(settings.of_tenant(tenant), tenant)]:
            part = "agents" if tenant == DEFAULT_TENANT else f"agents of {tenant}"
            yield Finding(part, f"beside the product: {', '.join(names)}")


def _mcp_server(settings: Settings) -> Iterable[Finding]:
    """Yield a finding about the MCP server, if it is switched on."""
    api, part = settings.channels.api, "mcp server"
    if not api.mcp:
        return
    if not api.enabled:
        yield Finding(part, "channels.api is not enabled, so that channels.api.mcp has no effect", "enable it")
    elif find_spec("mcp") is None:
        yield Finding(part, "its package is not installed", "pip install 'tenk-gateway[mcp]'")
    else:
        yield Finding(part, f"serves {MCP_PATH} and `tenk mcp serve` to programs with an API key")


def _prices(settings: Settings) -> Iterable[Finding]:
    """Yield a finding for each model that a cap in USD cannot count, or cannot count exactly any more."""
    try:
        found = price_sentences(settings)
    except SettingsError as error:
        found = str(error).splitlines()
    for sentence in found:
        yield Finding("prices", sentence, "set the prices in the configuration, or limit tokens instead")


async def _read_status(control: Path) -> Mapping[str, Any]:
    """Return the status of the running gateway; empty if none answers."""
    try:
        status: Mapping[str, Any] = await client.call(control, "GET /v1/status")
    except GatewayError:
        return {}
    return status


def _account_states(settings: Settings, status: Mapping[str, Any]) -> Iterable[Finding]:
    """Yield the state and the open connections that the running gateway reports of each account."""
    parts, connections = status.get("parts") or {}, status.get("connections") or {}
    for channel, account in settings.channels.accounts():
        if (name := f"{channel}:{account.name}") in parts:
            open_ = f"; {connections[name]} open" if name in connections else ""
            is_well = parts[name].startswith((ChannelState.READY, ChannelState.STARTING))
            to_do = "" if is_well else "if that does not say what to do, `tenk logs` shows more"
            yield Finding(name, f"the running gateway reports: {parts[name]}{open_}", to_do)


async def _tell_gateway(finding: Finding, model: str, control: Path, status: Mapping[str, Any]) -> Finding:
    """Let the running gateway try a model that answers here, if it does not ask it now."""
    if is_asked((status.get("models") or {}).get(model, NOT_ASKED)):
        return finding
    try:
        tried = await client.call(control, "POST /v1/models/try", {"model": model})
    except GatewayError:
        return finding
    return replace(finding, words=f"{finding.words}; the gateway uses it again now") if tried["works"] else finding


async def _remote_findings(
    settings: Settings, config_path: Path | None, status: Mapping[str, Any]
) -> AsyncIterator[Finding]:
    """Yield the findings about each platform account, the models and the clock."""
    sources = read_sources(config_path, os.environ)
    async with Asker() as asker:
        for channel, account in settings.channels.accounts():
            probe = load_probe(channel)
            if probe is None:
                yield Finding(
                    f"{channel}:{account.name}",
                    "the doctor has no check for this channel; a running gateway reports its state",
                )
                continue
            for finding in await probe(account, asker):
                where = f" (set in {sources.place_of(finding.key)})" if finding.key else ""
                yield Finding(finding.part, finding.words, finding.to_do + where, finding.key, finding.mend)
        if settings.http.public_url is not None:
            yield await check_public_url(settings.http.public_url, asker)
        for finding, link in zip(await check_models(settings.model), links_of(settings.model).values(), strict=True):
            yield finding if finding.to_do else await _tell_gateway(finding, link.name, settings.control_path, status)
        if settings.voice is not None:
            async for finding in check_voice(settings.voice):
                yield finding
        yield check_clock(asker.skews_s)
