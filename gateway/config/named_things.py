"""What a configuration names has to be there: agents, tools, models, tenants; else the nearest right name is said."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from pydantic import BaseModel, SecretStr

from agent.config import LinkConfig, ModelConfig
from agent.models.select import wire_names
from channels.messages import DEFAULT_TENANT
from channels.registry import AccountConfig
from gateway.config.environment import BESIDE, MODEL_KEYS
from gateway.config.sources import KeyPath, Sources
from gateway.errors import SettingsError, unknown_tenant
from gateway.extensions import AGENTS, TOOLS, check_offered


def check_accounts(named: Sequence[KeyPath], channels: BaseModel, sources: Sources) -> None:
    """Whether what is said of accounts by name is said of some that there are.

    Of a platform without any nobody can tell: its token may come from the environment another day.

    Raises:
        SettingsError: there is none of a name.
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
        near = get_close_matches(path[-1], sorted(known), 1, cutoff=0.6)
        hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(sorted(known))}"
        raise SettingsError(f"{sources.place_of(path)}: {'.'.join(path)}: there is no such account; {hint}")


def check_tenants(whose: Mapping[KeyPath, str], tenants: Mapping[str, BaseModel], sources: Sources) -> None:
    """Whether every account is one's that there is, and no tenant caps what is the installation's.

    Raises:
        SettingsError: a line for each that is not.
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
"""Caps that only the installation's own table has."""


def check_tokens(accounts: Iterable[tuple[str, AccountConfig]], sources: Sources) -> None:
    """Whether each account is a bot of its own: two that are one would both answer what it hears.

    Raises:
        SettingsError: two accounts have one bot's token, on the same server.
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
    """Whether there is such an agent, and such tools; neither is imported.

    Raises:
        SettingsError: there is none of a name.
    """
    named = [(AGENTS, "product", product), *((TOOLS, "tools", name) for name in tools)]
    for group, key, name in named:
        try:
            check_offered(group, name)
        except SettingsError as unknown:
            path = (*above, "agent", key)
            raise SettingsError(f"{sources.place_of(path)}: {'.'.join(path)}: {unknown}") from None


def check_model(model: ModelConfig, sources: Sources, above: KeyPath) -> None:
    """Whether each model of a chain can be asked: it is one of a wire that there is, and has a key or a server.

    Raises:
        SettingsError: one cannot.
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
        raise SettingsError(f"{place}: {path_words}.name: write offline{brought} or openai:NAME (it is {model.name!r})")
    if model.name == "offline" and path[-1] != "model":
        raise SettingsError(f"{place}: {path_words}.name: the rules stand behind every chain: model.offline_when_down")
    if model.name != "offline" and model.api_key is None and model.base_url is None and not model.has_other_keys:
        key, base = MODEL_KEYS[wire]
        raise SettingsError(
            f"{place}: {path_words}.api_key: {model.name} needs a key; set {key}, or {base} for a server of your own"
        )
