"""Checks that the agents, tools, models, tenants and accounts named in the configuration exist, with suggestions."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches

from pydantic import BaseModel, SecretStr

from agent.bridges.table import UnusableAgent, check_bridge
from agent.config import LinkConfig, ModelConfig
from agent.models.select import wire_names
from agent.plain_errors import as_written
from agent.web.config import WebConfig, split_mcp_tool
from channels.messages import DEFAULT_TENANT
from channels.registry import AccountConfig
from gateway.config.environment import BESIDE, MODEL_KEYS
from gateway.config.sources import KeyPath, Sources
from gateway.errors import SettingsError, unknown_tenant
from gateway.extensions import AGENTS, TOOLS, check_offered


def check_accounts(named: Sequence[KeyPath], channels: BaseModel, sources: Sources) -> None:
    """Check that each account that settings name exists.

    Platforms without accounts are not checked: a token may come from the environment later.

    Raises:
        SettingsError: an account does not exist.
    """
    fields = type(channels).model_fields
    tables = {name: getattr(channels, name) for name in fields}
    known = {f"{name}:{account}" for name, table in tables.items() if isinstance(table, Mapping) for account in table}
    known |= {f"{name}:main" for name, table in tables.items() if not isinstance(table, Mapping)}
    there = {name.partition(":")[0] for name in known}
    for path in named:
        channel = path[-1].partition(":")[0]
        if path[-1] in known or (channel in fields and channel not in there and path[-1] != channel):
            continue
        if channel not in fields:  # or another channel's account of the same name looks nearer
            likely = get_close_matches(channel, fields, 1, cutoff=0.6)
            near = [f"{likely[0]}:{path[-1].partition(':')[2] or 'main'}"] if likely else []
        else:
            near = get_close_matches(path[-1], [name for name in known if name.startswith(f"{channel}:")], 1)
        hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(sorted(known))}"
        raise SettingsError(f"{sources.place_of(path)}: {'.'.join(path)}: there is no such account; {hint}")


def check_tenants(whose: Mapping[KeyPath, str], tenants: Mapping[str, BaseModel], sources: Sources) -> None:
    """Check that the tenant of each account exists, and that no tenant sets a cap of the whole installation.

    Raises:
        SettingsError: a line for each mistake.
    """
    known = (DEFAULT_TENANT, *tenants)
    wrong = [
        f"{sources.place_of((*path, 'tenant'))}: {'.'.join(path)}.tenant: {unknown_tenant(tenant, known)}"
        for path, tenant in whose.items()
        if tenant not in known
    ]
    if DEFAULT_TENANT in tenants:
        place = sources.place_of(("tenants", DEFAULT_TENANT))
        wrong.append(
            f"{place}: tenants.{DEFAULT_TENANT}: this is the installation's own; its tables are the outer ones"
        )
    for name, own in tenants.items():
        budgets = getattr(own, "budgets", None)
        for key in WHOLE_DAY if isinstance(budgets, BaseModel) else ():
            path = ("tenants", name, "budgets", key)
            if getattr(budgets, key) is not None:
                instead = key.replace("day", "tenant")
                wrong.append(f"{sources.place_of(path)}: {'.'.join(path)}: counts over all tenants; write {instead}")
    if wrong:
        raise SettingsError("\n".join(wrong))


WHOLE_DAY = ("day_usd", "day_tokens")
"""Caps that only the installation's own table may set."""


def check_tokens(accounts: Iterable[tuple[str, AccountConfig]], sources: Sources) -> None:
    """Check that no two accounts are the same bot, which would answer each message twice.

    Raises:
        SettingsError: two accounts have the same token on the same server.
    """
    first: dict[tuple[str, str, str], str] = {}
    for channel, account in accounts:
        for key in ("token", "bot_token"):
            if isinstance(token := getattr(account, key, None), SecretStr):
                bot = channel, str(getattr(account, "api_base", "")), token.get_secret_value()
                other = first.setdefault(bot, account.name)
                if other != account.name:
                    path = ("channels", channel, account.name, key)
                    raise SettingsError(
                        f"{sources.place_of(path)}: {'.'.join(path)}: this is the bot of channels.{channel}.{other}, "
                        "which would be answered twice; give it the token of another bot, or take one of the two out"
                    )


def check_agent(product: str, tools: Sequence[str], sources: Sources, above: KeyPath) -> None:
    """Check that the agent and its tools are installed, without importing them.

    Raises:
        SettingsError: a name is unknown.
    """
    named = [(AGENTS, "product", product), *((TOOLS, "tools", name) for name in tools)]
    for group, key, name in named:
        try:
            if group == AGENTS and ":" in name:
                check_bridge(name)
            else:
                check_offered(group, name)
        except (SettingsError, UnusableAgent) as unknown:
            path = (*above, "agent", key)
            raise SettingsError(f"{sources.place_of(path)}: {'.'.join(path)}: {unknown}") from None


def check_searches(web: WebConfig, servers: Collection[str], sources: Sources, above: KeyPath) -> None:
    """Check that the MCP servers by which an agent searches exist.

    Raises:
        SettingsError: there is no such server.
    """
    for key, source in (("search", web.search), ("social", web.social)):
        named = split_mcp_tool(source) if source else None
        if named is not None and named[0] not in servers:
            path = (*above, "web", key)
            raise SettingsError(f"{sources.place_of(path)}: {'.'.join(path)}: there is no table [mcp.{named[0]}]")


def check_model(model: ModelConfig, sources: Sources, above: KeyPath) -> None:
    """Check that each model of a chain has a known wire, and a key or a server.

    Raises:
        SettingsError: a model cannot be used.
    """
    path = (*above, "model")
    _check_link(model, path, sources)
    for name, link in model.fallback.items():
        _check_link(link, (*path, "fallback", name), sources)
    for name in BESIDE:
        if (beside := getattr(model, name)) is not None:
            _check_link(beside, (*path, name), sources)


def _check_link(model: LinkConfig, path: KeyPath, sources: Sources) -> None:
    place, path_words = sources.place_of((*path, "name")), ".".join(path)
    wire = model.name.partition(":")[0]
    if not re.fullmatch(r"offline|openai:\S+|anthropic:[^\s*]\S*", model.name):
        others = wire_names()
        if wire in others and re.fullmatch(r"\w+:\S+", model.name):
            return
        brought = "".join(f", {other}:NAME" for other in ("anthropic", *others))
        raise SettingsError(
            f"{place}: {path_words}.name: write offline{brought} or openai:NAME (it is {as_written(model.name)})"
        )
    if model.name == "offline" and path[-1] != "model":
        raise SettingsError(f"{place}: {path_words}.name: the rules stand behind every chain: model.offline_when_down")
    if model.name != "offline" and model.api_key is None and model.base_url is None and not model.has_other_keys:
        key, base = MODEL_KEYS[wire]
        raise SettingsError(
            f"{place}: {path_words}.api_key: {model.name} needs a key or a server: with the name, set "
            f"{path_words}.api_key ({key}), or {path_words}.base_url ({base}) for a server of your own"
        )
