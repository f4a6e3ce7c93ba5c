"""Reloading: reads the changed configuration and applies it, or keeps the old one and tells owners why."""

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import partial

import structlog
from pydantic import BaseModel

from agent.catalogue import escape
from channels.messages import DEFAULT_TENANT
from gateway.accounts import ConfiguredAccounts
from gateway.chores import Chores, bring_up_tables
from gateway.config.editing import ConfigFiles
from gateway.config.listing import shown_settings
from gateway.config.settings import Settings
from gateway.config.sources import KeyPath, Sources, key_of
from gateway.delivery.owner_notices import OwnerNotices
from gateway.errors import GatewayError
from gateway.operators.models import Reloaded
from gateway.shared import Shared
from gateway.store.causes import Notice
from gateway.supervision import Supervised
from gateway.tenant import Tenant, TenantDeps
from gateway.texts import HARNESS
from gateway.threads import run_in_thread

log = structlog.get_logger()

LIVE: tuple[KeyPath, ...] = (
    ("access",),
    ("agent",),
    ("budgets",),
    ("channels",),
    ("mcp",),
    ("model",),
    ("permissions",),
    ("retention",),
    ("tenants",),
    ("web", "allow_domains"),
    ("web", "allow_private"),
    ("web", "deny_domains"),
    ("web", "timeout_s"),
    ("workspace", "deny"),
    ("workspace", "linters"),
)
"""Settings that a reload applies; others wait for the next start."""

NEXT_START: tuple[KeyPath, ...] = (
    ("agent", "product"),
    ("agent", "token"),
    ("agent", "tools"),
    ("channels", "api"),
    ("channels", "console"),
    ("channels", "web"),
    ("permissions", "auto", "model"),
)
"""Settings below those that wait nevertheless."""

Apply = Callable[[Settings, frozenset[str]], Awaitable[list[str]]]
"""Function that applies settings and returns the agents whose files changed; the set names the changed tables. Every
reload retries hung hooks.
"""


def changed_keys(old: object, new: object, above: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield every key whose value differs, in order; a table that comes or goes counts as one key."""
    before, after = _table(old), _table(new)
    if before is None or after is None:
        if old != new:
            yield above
        return
    for name in {**before, **after}:
        yield from changed_keys(before.get(name), after.get(name), (*above, name))


def _table(value: object) -> Mapping[str, object] | None:
    if isinstance(value, BaseModel):
        return {name: getattr(value, name) for name in type(value).model_fields}
    return value if isinstance(value, Mapping) else None


def waits_for_start(key: KeyPath) -> bool:
    """Return True if a change of this key waits for the next start."""
    if key[:1] == ("tenants",) and len(key) > 2:  # a tenant's own settings wait like the installation's
        return key[2:] != ("language",) and waits_for_start(key[2:])
    return not any(key[: len(live)] == live for live in LIVE) or any(
        key[: len(waiting)] == waiting for waiting in NEXT_START
    )


def _defaults(settings: Settings, sources: Sources, keys: Collection[KeyPath]) -> dict[str, str]:
    """Return the values of those keys that no source sets, as an operator reads them."""
    values = {shown.key: shown.value for shown in shown_settings(settings)}
    return {".".join(key): values.get(key) or "not set" for key in keys if not sources.sets(key)}


class TenantChange:
    """Change of the tenants of a running gateway."""

    def __init__(
        self,
        tenants: dict[str, Tenant],
        shared: Shared,
        deps: TenantDeps,
        accounts: ConfiguredAccounts,
        chores: Chores,
        tasks: Supervised,
    ) -> None:
        """Take the gateway's tenants, and the parent task group of removed ones that are still busy."""
        self._tenants = tenants
        self._shared = shared
        self._deps = deps
        self._accounts = accounts
        self._chores = chores
        self._tasks = tasks
        self._leaving: list[Tenant] = []  # removed, not closed yet

    async def apply(self, settings: Settings, tables: Collection[str]) -> list[str]:
        """Replace each tenant according to the settings; `tables` are those that changed. Return the agents whose files
        changed.

        Raises:
            GatewayError: one cannot be made; nothing was changed.
        """
        names = (DEFAULT_TENANT, *settings.tenants)
        new = [name for name in names if name not in self._tenants]
        made = {name: self._make(name, settings) for name in names}
        await bring_up_tables(self._shared.store, made.values())
        changed = [agent for name in made.keys() & self._tenants.keys() for agent in self._changed_agents(made[name])]
        self._tenants.update(made)
        for tenant in made.values():
            tenant.put_in_force()
            tenant.hooks.retry_hung()
            await tenant.take_up_caps()
        for name in new:
            made[name].begin(self._tasks, self._tenants)
        if "channels" in tables:
            await self._shared.channels.reconfigure(
                self._accounts.list_accounts(made[DEFAULT_TENANT].settings.channels)
            )
            await self._shared.delivery.recover()
        for name in self._tenants.keys() - made.keys():
            self._tasks.keep(f"end of {name}", partial(self._let_go, self._tenants.pop(name)))
        self._chores.begin_schedules()
        if changed:
            self._shared.channels.renew_menus()  # /agent comes with the first of them
        return sorted(changed)

    def _changed_agents(self, new: Tenant) -> list[str]:
        """Return the names of the agents that came, went or changed, as the operator's keys are written."""
        before = {agent.name: agent for agent in self._tenants[new.name].definitions}
        now = {agent.name: agent for agent in new.definitions}
        above = "" if new.name == DEFAULT_TENANT else f"tenants.{new.name}."
        return [f"{above}agents.{name}" for name in {**before, **now} if before.get(name) != now.get(name)]

    def _make(self, name: str, settings: Settings) -> Tenant:
        if name in self._tenants:
            return self._tenants[name].with_settings(settings)
        return Tenant(name, settings, self._shared, self._deps)

    async def _let_go(self, tenant: Tenant) -> None:
        self._leaving.append(tenant)
        await self._shared.sessions.let_go(tenant)
        await tenant.aclose()
        self._leaving.remove(tenant)
        log.info("tenant_let_go", tenant=tenant.name)

    async def aclose(self) -> None:
        """Close every tenant, when nothing runs any more."""
        for tenant in (*self._tenants.values(), *self._leaving):
            await tenant.aclose()


class Reloader:
    """Configuration of a running gateway, and its reloads."""

    def __init__(
        self,
        settings: Settings,
        read: Callable[[], Settings],
        apply: Apply,
        words: OwnerNotices,
        files: ConfigFiles | None = None,
    ) -> None:
        """Take the function that reads the settings and raises GatewayError as a start would, and the files that it
        reads; None: they are not known.
        """
        self._settings = self._begun = settings
        self._read = read
        self._apply = apply
        self._words = words
        self._files = files
        self._one_at_a_time = asyncio.Lock()
        self._breakage = ""  # error of the configuration as it was read last; "": none
        self.wanted = asyncio.Event()
        """Event that requests a reload."""

    async def run(self, reload: Callable[[], Awaitable[Reloaded]]) -> None:
        """Reload on request until cancelled, by this action of an operator."""
        while True:
            await self.wanted.wait()
            self.wanted.clear()
            with suppress(GatewayError):  # reported already
                await reload()

    async def reload(self) -> Reloaded:
        """Read and apply the configuration. Return the applied keys and those that wait for the next start.

        Raises:
            GatewayError: it cannot be used; the old one stays, and owners were told.
        """
        async with self._one_at_a_time:
            try:
                return await self._reload()
            except GatewayError as refused:
                log.error("configuration_refused", problem=str(refused))
                await self._tell(refused)
                raise

    async def change(self, key: str, text: str) -> Reloaded:
        """Change a setting in its file, as `tenk config set`, and apply it; an empty text removes it.

        Raises:
            GatewayError: the setting cannot be changed while the gateway runs, or the configuration would be invalid;
                the files are as before.
        """
        path = key_of(key)
        if self._files is None:
            raise GatewayError("this gateway was started without a configuration file")
        if not path:
            raise GatewayError("write the key as table names and a key, joined by dots: access.direct")
        async with self._one_at_a_time:
            made = await run_in_thread(partial(self._files.draft, path, text))
            if waits_for_start(path):
                raise GatewayError(f"{key} waits for the next start: `tenk config set` changes it")
            await run_in_thread(made.write)
            try:
                return await self._reload()
            except GatewayError:
                await run_in_thread(made.undo)
                raise

    async def _reload(self) -> Reloaded:
        settings = await run_in_thread(self._read)
        sources = None if self._files is None else await run_in_thread(self._files.sources)
        now = [key for key in changed_keys(self._settings, settings) if not waits_for_start(key)]
        agents = await self._apply(settings, frozenset(key[0] for key in now))
        self._settings, self._breakage = settings, ""
        later = [key for key in changed_keys(self._begun, settings) if waits_for_start(key)]
        defaults = {} if sources is None else _defaults(settings, sources, (*now, *later))
        answer = Reloaded(
            in_force=(*map(".".join, now), *agents), next_start=tuple(map(".".join, later)), defaults=defaults
        )
        log.info("configuration_reloaded", **answer.model_dump())
        return answer

    async def _tell(self, refused: GatewayError) -> None:
        """Tell owners about a problem once, and again if it returns after a good reload."""
        problem = str(refused)
        self._breakage = self._breakage or secrets.token_hex(4)
        cause = Notice("reload", f"{self._breakage}:{hashlib.blake2s(problem.encode(), digest_size=6).hexdigest()}")
        await self._words.say(
            cause, lambda locale: HARNESS.text(locale, "reload.refused", problem=escape(problem[:1000]))
        )
