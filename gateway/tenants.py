"""A tenant of a running gateway: its settings, its agent, its models and caps, over a store that sees its rows alone.

Whatever answers its people is made of this. What tenants share (channels, the bus, deliveries) is wired elsewhere.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import structlog
from pydantic import JsonValue

from agent.models.select import ModelDeps, OwnModel
from agent.ports import ChatModel
from agent.tools.base import Tool
from channels.api.adapter import ApiChannel
from channels.clocks import wall_now
from channels.messages import DEFAULT_TENANT
from gateway.access.api_keys import KeyOperations
from gateway.access.codes import AccessKeys
from gateway.access.inviting import InviteOperations
from gateway.access.operations import AccessOperations
from gateway.access.policy import AccessSnapshot
from gateway.commands.connect import Connecting, providers_of
from gateway.commands.decisions import access_decisions
from gateway.commands.groups import GroupDeps
from gateway.commands.people import OperatorDesk
from gateway.config.named_things import unknown_tenant
from gateway.config.settings import Settings
from gateway.credentials.levels import CredentialLevels
from gateway.delivery.dead_letters import DeadLetters
from gateway.delivery.delivery import Delivery
from gateway.errors import GatewayError
from gateway.http.api.build import ApiParts, api_deps
from gateway.http.api.server import ApiDeps
from gateway.inbound.bus import Bus
from gateway.inbound.intake import Intake
from gateway.inbound.manager import ChannelManager
from gateway.inbound.reception import Doorway
from gateway.makers import judge_of, model_of
from gateway.model_prices import look_at_prices, take_up_prices
from gateway.ops.control_client import Handler
from gateway.ops.key_rotation import KeyRotation
from gateway.ops.operators import (
    InviteLinks,
    OperatorDeps,
    access_operations,
    calls_as,
    link_deps,
    operator_calls,
)
from gateway.ops.personal_data import PersonalData
from gateway.ops.status import GatewayStatus
from gateway.product import in_force, load_product, load_tools
from gateway.safety.vault import Vault
from gateway.sessions.budgets import Budgets
from gateway.store.api_keys import KEYS
from gateway.store.engine import Store
from gateway.wiring import Runtime, RuntimeDeps, command_table

log = structlog.get_logger()

LOOK_S = 1.0

ConsoleLink = Callable[[str], tuple[str, str]]
"""For an actor: the address that opens the console once, and its secret's ref."""


@dataclass(frozen=True, slots=True)
class TenantDeps:
    """What all tenants of a gateway are made with."""

    store: Store  # all of it
    snapshot: AccessSnapshot
    vault: Vault
    models: ModelDeps
    """Without whose keys and caps they go by, which are a tenant's."""
    clock: Callable[[], datetime]
    extra_tools: Sequence[Tool] = ()


class Tenant:
    """One tenant as it is in force; `try_settings` and then `take` put other settings in force."""

    def __init__(self, name: str, settings: Settings, deps: TenantDeps, budgets: Budgets | None = None) -> None:
        """`settings` are the installation's; `budgets` those of its own tenant, whose watch sees all caps.

        Raises:
            SettingsError: its agent, a tool of its or its model cannot be made.
        """
        self.name = name
        self._deps = deps
        self.store = store = deps.store.of(name)
        self.product = product = load_product(settings.of_tenant(name).agent.product)
        self.settings = own = in_force(settings.of_tenant(name), product)
        for texts in filter(None, (product.texts, product.catalogue)):
            texts.load()
        self.prices, news = take_up_prices(own), budgets.news if budgets else None
        self.budgets = Budgets(own.budgets, deps.store, wall_now, news, self.prices.lost)
        self.levels = CredentialLevels(store, deps.vault, own.connect, deps.clock)
        self.desk = OperatorDesk(groups=self._groups(own))
        chosen = [link.name for link in (own.model, *own.model.fallback.values(), own.model.light) if link is not None]
        self.connecting = Connecting(deps.vault, providers_of(own.model.links(), own.connect), models=chosen)
        self.table = command_table(product, store, self.budgets.own_cap, self.connecting, self.desk)
        self._models = replace(deps.models, sources=self.levels.sources, charge=self.budgets.charge)
        self.asked: list[OwnModel] = []  # those behind `model` over wires of ours
        self.model = model_of(own, product, replace(self._models, note=self.asked.append))
        self._made = [self.model]  # with those that a reload replaced: a turn ends with the one that it began with
        self.judge = judge_of(own, self.budgets.charge)
        self.tools = (*product.tools(store), *load_tools(own.agent.tools), *deps.extra_tools)

    def try_settings(self, settings: Settings) -> ChatModel | None:
        """The model that these settings of the installation make; None where it stays. Nothing else is changed.

        Raises:
            SettingsError: it cannot be made.
        """
        old, new = self.settings, in_force(settings.of_tenant(self.name), self.product)
        if (old.model, old.budgets) == (new.model, new.budgets):
            return None
        self.budgets.reconfigure(new.budgets, look_at_prices(new).lost)  # asked when a model is made
        try:
            return model_of(new, self.product, self._models)
        except BaseException:
            self.budgets.reconfigure(old.budgets, self.prices.lost)
            raise

    def adopt(self, settings: Settings, model: ChatModel | None) -> None:
        """Put them in force, with the model that they made."""
        self.settings = own = in_force(settings.of_tenant(self.name), self.product)
        self.desk.groups = self._groups(own)
        if model is not None:
            self.prices = take_up_prices(own)
            self.model = model
            self._made.append(model)
        self.budgets.reconfigure(own.budgets, self.prices.lost)

    @property
    def language(self) -> str | None:
        """Spoken to its people of whom nobody knows which is theirs."""
        own = self.settings.tenants.get(self.name)
        return None if own is None else own.language

    async def aclose(self) -> None:
        """Close its models; nothing of it runs any more."""
        await self.levels.aclose()
        for model in (*self._made, self.judge):
            if model is not None:
                await model.aclose()

    def _groups(self, own: Settings) -> GroupDeps:
        return GroupDeps(self.store, own.access, self._deps.clock, self._deps.snapshot.put_group)


class Tenants:
    """Every tenant beside the installation's own."""

    def __init__(self, settings: Settings, deps: TenantDeps, own: Tenant) -> None:
        """As `Tenant`."""
        self._deps = deps
        self._own = own
        self._held = {name: self._make(name, settings) for name in settings.tenants}
        self._gone: list[Tenant] = []  # taken out of the configuration, and perhaps at work still
        self._take_in: Callable[[Tenant], None] = lambda _tenant: None
        self._let_go: Callable[[Tenant], object] = lambda _tenant: None
        self._links: tuple[Callable[..., Awaitable[list[JsonValue]]], ConsoleLink] | None = None

    def __iter__(self) -> Iterator[Tenant]:
        """The installation's own first."""
        return iter((self._own, *self._held.values()))

    def models(self) -> Mapping[str, frozenset[str]]:
        """Every tenant beside the installation's own, with the models that only it asks."""
        ours = {link.name for link in self._own.settings.model.links()}
        links = {name: tenant.settings.model.links() for name, tenant in self._held.items()}
        return {name: frozenset({link.name for link in of_it} - ours) for name, of_it in links.items()}

    def get(self, name: str) -> Tenant:
        """The tenant of this name; the installation's own where there is none."""
        return self._held.get(name, self._own)

    def has(self, name: str) -> bool:
        """Whether there is one of this name."""
        return name == self._own.name or name in self._held

    def find(self, name: str) -> Tenant:
        """The tenant of this name.

        Raises:
            GatewayError: there is none; the message has the nearest name.
        """
        if self.has(name):
            return self.get(name)
        raise GatewayError(unknown_tenant(name, [tenant.name for tenant in self]))

    async def warn_of_unused(self, settings: Settings) -> None:
        """Say whom nobody can reach."""
        keys = await self._deps.store.read(KEYS.find, lasting=True)
        for name in settings.unused_tenants({key.tenant for key in keys if key.revoked_at is None}):
            mend = f'give an account tenant = "{name}", or make a key: tenk --tenant {name} keys create NAME'
            log.warning("tenant_unused", tenant=name, mend=mend)

    def serve(self, take_in: Callable[[Tenant], None], let_go: Callable[[Tenant], object]) -> None:
        """From now on each is served; those that a reload brings, too. One that a reload takes away is let go."""
        self._take_in, self._let_go = take_in, let_go
        for tenant in self._held.values():
            take_in(tenant)

    def know_links(self, ways: Callable[..., Awaitable[list[JsonValue]]], console_link: ConsoleLink) -> None:
        """Where invitations lead and the console opens, once it is served."""
        self._links = ways, console_link
        for tenant in self:
            self._tell_links(tenant)

    def try_settings(self, settings: Settings) -> "TriedSettings":
        """All that these settings make anew.

        Raises:
            SettingsError: something of it cannot be made; nothing was changed.
        """
        before = {tenant: tenant.settings.budgets for tenant in self}
        try:
            made = {name: self._make(name, settings) for name in settings.tenants if name not in self._held}
            staying = [tenant for tenant in self if tenant is self._own or tenant.name in settings.tenants]
            return TriedSettings({tenant: tenant.try_settings(settings) for tenant in staying}, made)
        except BaseException:
            for tenant, budgets in before.items():
                tenant.budgets.reconfigure(budgets, tenant.prices.lost)
            raise

    def adopt(self, settings: Settings, tried: "TriedSettings") -> None:
        """Put them in force. A tenant that is in them no more is to be dismissed first."""
        for tenant, model in tried.models.items():
            tenant.adopt(settings, model)
        self._held |= tried.tenants
        for tenant in tried.tenants.values():
            self._take_in(tenant)
            self._tell_links(tenant)

    def dismiss(self, settings: Settings) -> Sequence[Tenant]:
        """Those that are not in these settings: nobody finds them any more; see `part_with`."""
        gone = [self._held.pop(name) for name in list(self._held) if name not in settings.tenants]
        self._gone += gone
        return gone

    def part_with(self, gone: Sequence[Tenant]) -> None:
        """Let go of those that were dismissed, each as soon as nothing of it runs."""
        for tenant in gone:
            self._let_go(tenant)

    async def close(self, tenant: Tenant) -> None:
        """One that was dismissed, now that nothing of it runs."""
        await tenant.aclose()
        self._gone.remove(tenant)

    async def aclose(self) -> None:
        """Close them all; nothing runs any more."""
        for tenant in (*self, *self._gone):
            await tenant.aclose()

    def _tell_links(self, tenant: Tenant) -> None:
        if self._links is not None:
            ways, tenant.desk.console_link = self._links
            tenant.desk.ways = partial(ways, tenant=tenant.name)

    def _make(self, name: str, settings: Settings) -> Tenant:
        return Tenant(name, settings, self._deps, self._own.budgets)


@dataclass(frozen=True, slots=True)
class TriedSettings:
    """What changed settings make: another model of a tenant (None: it stays), and tenants that are new."""

    models: Mapping[Tenant, ChatModel | None]
    tenants: Mapping[str, Tenant]


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where tenants' messages come in and their operators act, in a gateway that runs."""

    key: bytes
    keys: AccessKeys
    manager: ChannelManager
    snapshot: AccessSnapshot
    doorway: Doorway
    """Of the installation's own tenant."""
    shared: Callable[..., RuntimeDeps]
    """Made with what is a tenant's own."""
    clock: Callable[[], datetime]

    def deps_of(self, tenant: Tenant) -> RuntimeDeps:
        """What its runtime is made with."""
        return self.shared(
            settings=tenant.settings, product=tenant.product, tools=tenant.tools, model=tenant.model,
            judge=tenant.judge, access=lambda: tenant.settings.access, tenant=tenant.name,
            decisions=lambda *ends: {**access_decisions(self.access(tenant, *ends)), **tenant.desk.decisions()},
        )  # fmt: skip

    def access(self, tenant: Tenant, delivery: Delivery, bus: Bus, store: Store | None = None) -> AccessOperations:
        """What its operators do about its people; with the whole `store` about everybody."""
        agent, part = tenant.product.name, store or tenant.store
        return access_operations(part, self.key, self.manager, delivery, bus, self.snapshot, agent)

    def equip(self, runtime: Runtime, tenant: Tenant) -> None:
        """Its operators' commands reach its people alone."""
        desk = tenant.desk
        desk.linking = link_deps(
            tenant.store, self.key, self.manager, runtime.delivery, runtime.parking, self.snapshot,
            runtime.router.forget_all,
        )  # fmt: skip
        desk.access = self.access(tenant, runtime.delivery, runtime.bus)
        desk.invites = InviteOperations(tenant.store, self.keys.invites, self.clock)

    def take_in(self, runtime: Runtime, intake: Intake, tenant: Tenant) -> None:
        """Answer this tenant's people as it is configured; `intake` is the installation's own tenant's."""
        self.equip(runtime, tenant)
        runtime.answer_for(self.deps_of(tenant), tenant.table)
        doorway = replace(self.doorway, agent=tenant.product.name, commands=tenant.table.names)
        intake.of_tenants[tenant.name] = own = Intake(
            tenant.store, tenant.settings.access, self.snapshot, runtime.delivery, runtime.bus,
            partial(runtime.router.waiting, tenant=tenant.name), self.clock, doorway,
        )  # fmt: skip
        own.language = tenant.language
        self.manager.menus_of[tenant.name] = tenant.table.menus()

    async def let_go(self, runtime: Runtime, intake: Intake, tenants: Tenants, tenant: Tenant) -> None:
        """Answer its people no more, once what runs of it has come to its end; then it is closed."""
        while runtime.router.works_for(tenant.name):
            await asyncio.sleep(LOOK_S)
        if not tenants.has(tenant.name):  # else a later reload brought it back, with all that
            runtime.let_go(tenant.name)
            intake.of_tenants.pop(tenant.name, None)
            self.manager.menus_of.pop(tenant.name, None)
        await tenants.close(tenant)
        log.info("tenant_let_go", tenant=tenant.name)


@dataclass(frozen=True, slots=True)
class Desks:
    """What operators, and programs, of one tenant work with; where none is named, those of the whole gateway."""

    tenants: Tenants
    entrance: Entrance
    runtime: Runtime
    store: Store
    """All of it."""
    rotation: KeyRotation
    standing: GatewayStatus

    def operations(self, name: str | None) -> AccessOperations:
        """What is done about people."""
        own = self.tenants.find(name or DEFAULT_TENANT)
        return self.entrance.access(own, self.runtime.delivery, self.runtime.bus, self.store.of(name))

    def letters(self, name: str | None) -> DeadLetters:
        """What is done about what could not be delivered."""
        return DeadLetters(self.store.of(name), self.entrance.clock, self.runtime.delivery.reread)

    def console_calls(self, by: str, name: str | None) -> dict[str, Handler]:
        """What the console reads and does for an actor: of a tenant's alone, or of all."""
        return calls_as(by, self.store.of(name), self.operations(name), self.letters(name), self._standing_of(name))

    def _standing_of(self, name: str | None) -> GatewayStatus:
        """What the installation's own see is the whole's."""
        if name is None or name == DEFAULT_TENANT:
            return self.standing
        return self.standing.of(self.store.of(name), self.tenants.get(name).settings.model.name)

    def control_calls(self, links: InviteLinks, name: str | None) -> dict[str, Handler]:
        """What the machine's operator does.

        Raises:
            GatewayError: there is no such tenant.
        """
        store, ends = self.store.of(name), self.entrance
        return operator_calls(
            OperatorDeps(
                store, self.operations(name), ends.keys, links, KeyOperations(store, ends.clock, ends.snapshot.put),
                self.rotation, self.letters(name), self._standing_of(name),
                self.tenants.find(name or DEFAULT_TENANT).desk,
                PersonalData(store, ends.snapshot, ends.clock, self.runtime.parking.release),
            )
        )  # fmt: skip

    def api(self, channel: ApiChannel, name: str) -> ApiDeps:
        """What programs of a tenant ask.

        Raises:
            GatewayError: there is no such tenant.
        """
        own, settings = self.tenants.find(name), self.tenants.get(name).settings
        parts = ApiParts(
            own.store, channel, settings.channels.api, self.operations(name), self.entrance.snapshot,
            lambda: own.settings.access, frozenset(settings.http.cors_origins), self.entrance.clock,
            self.letters(name), own.connecting,
        )  # fmt: skip
        return api_deps(parts, own.product.name, own.product.title, own.product.routes)
