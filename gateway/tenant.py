"""A tenant: the people of one bot, its agent, settings and budget.

The installation's own tenant, whose settings are outside of `[tenants]`, is one, too.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

import structlog

from agent.config import LinkConfig
from agent.definition import Agent
from agent.hooks.chain import HookChain
from agent.models.credentials import OWN, CredentialSource
from agent.models.select import ModelDeps, OwnModel
from agent.permission_rules import PermissionRule
from agent.ports import ChatModel
from agent.tools.base import Tool
from agent.tools.guards import ChainPermissions
from agent.tools.toolbox import tool_pool
from agent.voice.config import VoiceConfig
from agent.voice.transcribers import make_transcriber
from channels.api.adapter import ApiChannel
from channels.base import Menus
from gateway.access.agents import AgentChoice
from gateway.access.buttons import SealedButtons
from gateway.agent_models import (
    PriceLook,
    consolidating_of,
    judge_of,
    light_of,
    links_by_name,
    make_alone,
    model_of,
    price_words,
    take_up_prices,
)
from gateway.answering import make_agent, make_permissions, make_sessions, make_user_items
from gateway.capabilities.base import CapabilityDeps, LightModel
from gateway.capabilities.table import Capabilities
from gateway.capabilities.trust import Trust
from gateway.command_line import of_process
from gateway.command_set import command_table, make_commands
from gateway.commands.agents import agent_commands
from gateway.commands.connect import Connecting, providers_of, servers_to_connect
from gateway.commands.people import PeopleServices
from gateway.commands.session import RETRY
from gateway.commands.voice import voice_command
from gateway.config.settings import Settings
from gateway.credentials.levels import CredentialLevels
from gateway.definitions import configure_choice, make_agents, read_agents
from gateway.http.api.build import ApiParts, api_deps
from gateway.http.api.conversations import Conversations
from gateway.inbound.intake import Intake
from gateway.inbound.reception import ReceptionDeps
from gateway.ops.model_cooldowns import RetryTurns
from gateway.ops.operators import ProcessParts, link_deps, operators_of
from gateway.product import check_hooks, in_force, load_hooks, load_product, load_tools
from gateway.sessions.budgets import Budgets, SystemBudget
from gateway.sessions.deps import AgentInForce
from gateway.sessions.inbox_rules import RowClassifier
from gateway.sessions.prompt_hooks import HeardItems
from gateway.sessions.voice import VoiceMessages
from gateway.shared import Shared
from gateway.store.api_keys import KEYS
from gateway.store.engine import Store
from gateway.supervision import Supervised
from gateway.telemetry import learn_secrets
from gateway.threads import run_in_thread

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class TenantDeps:
    """Dependencies of tenants beside `Shared`."""

    models: ModelDeps
    """Without a tenant's credentials and caps."""
    tools: Sequence[Tool]
    """For every agent, in addition to its own."""
    process: ProcessParts
    trust: Trust
    api_channel: ApiChannel
    show: Callable[[str], None] | None
    """Prints on the operator's terminal; None without one."""
    budget_news: asyncio.Event
    """Set when a call of any tenant was settled."""
    flags: Sequence[PermissionRule] = ()
    """Rules of the command that started the gateway; they hold until it ends."""


class Tenant:
    """Tenant with its current settings. A reload replaces it by a copy."""

    def __init__(self, name: str, settings: Settings, shared: Shared, deps: TenantDeps) -> None:
        """Take the installation's settings; rules and caps apply from `put_in_force` on.

        Raises:
            SettingsError: its agent, a tool, a hook or its model cannot be made.
        """
        self.name = name
        self._shared = shared
        self.store = store = shared.store.of(name)
        named = settings.of_tenant(name).agent
        self.product = product = load_product(named.product, named.token)
        self.settings = own = in_force(settings.of_tenant(name), product)
        for texts in filter(None, (product.texts, product.catalogue)):
            texts.load()
        people, clocks, secrets = shared.people, shared.clocks, shared.secrets

        self.prices = take_up_prices(own)
        self.budgets = Budgets(own.budgets, shared.store, clocks.dates, deps.budget_news)
        self._flags = deps.flags
        self._levels = CredentialLevels(store, secrets.vault, own.connect, clocks.now)
        self._model_deps = replace(deps.models, sources=self._levels.sources)
        self.model, self.asked = self._make_model(own, self.prices)
        self._judge = judge_of(own, self.budgets.charge_by(own.budgets, self.prices.lost))
        self.light = self._make_light(own, self.prices)
        self.consolidating = self._make_consolidating(own, self.prices)
        self._light_in_force, self._consolidates = LightModel(self.light), LightModel(self.consolidating)
        made = (self.model, self._judge, self.light, self.consolidating)
        self.models = tuple(model for model in made if model is not None)

        self.agents = AgentChoice(product.name, people)
        self.operators = operators_of(store, self.agents, shared, deps.process)
        providers = {**providers_of(own.model.links(), own.connect), **servers_to_connect(own.mcp, own.connect)}
        self._models_to_choose = list(own.model.names_to_choose)  # in force, as people may choose
        self.connecting = Connecting(secrets.vault, providers, models=self._models_to_choose)
        services = PeopleServices(operators=self.operators, linking=link_deps(shared), people=people)
        seals = SealedButtons(secrets.keys.buttons)
        for_capabilities = CapabilityDeps(
            store,
            secrets.vault,
            clocks,
            deps.trust.of(name),
            in_force=lambda: self._in_force,
            light=self._light_in_force,
            consolidating=self._consolidates,
            seals=seals,
            ownership=shared.sessions.ownership,
        )
        self.capabilities = Capabilities(own, for_capabilities)
        self._work: list[asyncio.Task[None]] = []  # of its capabilities
        self.table = command_table(product, store, services, self.connecting, self.budgets.own_cap)
        self._renew_commands()

        self.kinds = RowClassifier(self.table, product.kind_of_words, product.language_of_words)
        self.hooks = HookChain((*load_hooks(own.hooks), *check_hooks(product, store)), product.catalogue)
        self.own_tools = product.make_tools(store)
        self._installed_tools = (*load_tools(own.agent.tools), *deps.tools)
        sections = self.capabilities.sections
        permissions = self._make_permissions(own, self.model)
        self.agent = make_agent(own, product, self._pool(), self.model, permissions, self.hooks, clocks.dates, sections)
        self.definitions = read_agents(own, name)
        self._in_force = AgentInForce(self.agent, self._make_others())
        self._transcriber = make_transcriber(own.voice)
        voices = VoiceMessages(own.voice or VoiceConfig(), self._transcriber, store, self.budgets, clocks.now)
        items = make_user_items(own, product.name, store, self._in_force, people, clocks.now, voices)
        added = self.capabilities.turns()
        turns = {**added, RETRY: RetryTurns(deps.models.board).run, **product.turns(store)}
        heard = HeardItems(items, self.hooks, self.capabilities)
        self.sessions = make_sessions(own, product, store, self.kinds, self._in_force, heard, turns, shared)
        buttons = {**self.capabilities.buttons(), **services.decisions()}
        self.commands = make_commands(product, store, self.table, self.sessions, buttons, shared)
        shared.sessions.turn_limit.set_bound(name, own.sessions.max_turns)

        reception = ReceptionDeps(
            self.agents,
            secrets.keys,
            secrets.vault,
            of_process(),
            deps.show,
            channel_of=shared.channels.now_loaded,
            commands=self.table.names,
            timezone=own.gateway.timezone,
        )
        self.intake = Intake(
            store, own.access, people, shared.delivery, shared.bus, self.count_waiting, clocks.now, reception
        )
        self.conversations = Conversations(store, deps.api_channel, own.channels.api, shared.sessions.turn_limit.pauses)
        parts = ApiParts(store, self.conversations, self.operators, people, clocks.now, self.connecting)
        self.api = api_deps(parts, product.name, product.title, product.routes)

    def _make_model(self, own: Settings, prices: PriceLook) -> tuple[ChatModel, list[OwnModel]]:
        """Return the model that answers, and those behind it over wires of ours, which may be connected early."""
        asked: list[OwnModel] = []
        charge = self.budgets.charge_by(own.budgets, prices.lost)
        return model_of(own, self.product, replace(self._model_deps, charge=charge, note=asked.append)), asked

    def _make_light(self, own: Settings, prices: PriceLook) -> ChatModel | None:
        return light_of(own, self.budgets.charge_by(own.budgets, prices.lost))

    def _make_consolidating(self, own: Settings, prices: PriceLook) -> ChatModel | None:
        if own.memory is None or own.memory.consolidation is None:
            return None
        budget = SystemBudget(self.name, own.memory.consolidation.usd_per_day, self.store, self._shared.clocks.dates)
        return consolidating_of(own, budget.charge_by(prices.lost))

    def _make_permissions(self, own: Settings, model: ChatModel) -> ChainPermissions:
        """Return the permissions; without a small model of its own, mode auto asks the one that answers."""
        return make_permissions(own, self.product, self._judge or model, self._flags)

    def _pool(self) -> tuple[Tool, ...]:
        installed = (*self._installed_tools, *self.capabilities.tools())
        pool, left_out = tool_pool(self.own_tools, installed)
        if left_out:
            log.warning("tools_left_out", names=left_out, why="the agent has other tools of these names")
        return pool

    def _make_others(self) -> dict[str, Agent]:
        """Return the agents that files describe, by name."""
        return make_agents(self.agent, self.definitions, self.capabilities.sections_with)

    def begin(self, tasks: Supervised, tenants: Mapping[str, "Tenant"]) -> None:
        """Start the work of its capabilities; `tenants` has its replacement after a reload."""

        def renew() -> None:
            tenants[self.name].renew_tools()  # a reload has replaced this object

        self._work += [tasks.keep_task(f"capabilities of {self.name}", run) for run in self.capabilities.work(renew)]

    def renew_tools(self) -> None:
        """Give the next turn the tools, and people the commands, that its capabilities have now."""
        self._renew_commands()
        self.agent = replace(self.agent, tools=self._pool())
        self._in_force.replace(self.agent, self._make_others())

    def _renew_commands(self) -> None:
        choose = agent_commands(self.agents, self._shared.people, self.operators)
        voice = voice_command(self.settings.voice)
        self.table.replace_added((*choose, voice, *self.capabilities.commands()))

    def with_settings(self, settings: Settings) -> "Tenant":
        """Return a copy of this tenant with new settings; nothing applies before `put_in_force`.

        Raises:
            SettingsError: its model or an agent of its files cannot be made.
        """
        new = copy(self)
        new.settings = own = in_force(settings.of_tenant(self.name), self.product)
        if (own.model, own.budgets) != (self.settings.model, self.settings.budgets):
            new.prices = take_up_prices(own)
            new.model, new.asked = self._make_model(own, new.prices)
            new.light = self._make_light(own, new.prices)
            new.consolidating = self._make_consolidating(own, new.prices)
            made = (new.model, new.light, new.consolidating)
            new.models = (*self.models, *(model for model in made if model is not None))
        permissions = self._make_permissions(own, new.model)
        new.agent = replace(self.agent, model=new.model, limits=own.agent, permissions=permissions)
        new.definitions = read_agents(own, self.name)
        return new

    def put_in_force(self) -> None:
        """Apply these rules and caps to the next message, and this agent to the next turn."""
        own = self.settings
        learn_secrets(own.secret_values())
        self._shared.secrets.scrubber.learn({*own.secret_values(), *self._shared.secrets.vault.key_texts})
        tables = own.tenants.get(self.name)
        self._shared.people.configure(
            self.name, own.access, (tables and tables.language) or own.gateway.language, own.gateway.timezone
        )
        self.intake.reconfigure(own.access)
        self.budgets.reconfigure(own.budgets)
        self._models_to_choose[:] = own.model.names_to_choose
        self._light_in_force.model, self._consolidates.model = self.light, self.consolidating
        self.capabilities.reconfigure(own)
        self._in_force.replace(self.agent, self._make_others())
        configure_choice(self.agents, own, self.product.title, self.definitions)
        self._renew_commands()

    async def take_up_caps(self) -> None:
        """Count to its caps what was used before they were set."""
        people = self._shared.people

        def zone_of(user_id: str) -> str:
            person = people.person(user_id)
            return "UTC" if person is None else person.timezone

        await self.budgets.take_up(self.name, zone_of)

    def find_agent(self, name: str) -> Agent | None:
        """Return its own agent, or one that a file describes; None if there is none of this name."""
        is_own = name in (self.product.name, self.settings.agent.name)
        return self.agent if is_own else self._in_force.others.get(name)

    @property
    def agent_names(self) -> Sequence[str]:
        """Return the names of its agents, its own first."""
        return (self.settings.agent.name, *self._in_force.others)

    @property
    def lone_models(self) -> Sequence[str]:
        """Return the names of the models that `make_alone` makes, the first one first."""
        return [*links_by_name(self.settings)]

    def make_alone(self, name: str) -> ChatModel:
        """Make a configured model without fallbacks and rules; it never uses a key of a person. The caller closes it.

        Raises:
            SettingsError: it is not configured, or cannot be made.
        """

        def shared_sources(link: LinkConfig) -> Sequence[CredentialSource]:
            return [source for source in self._levels.sources(link) if source.name != OWN]

        charge = self.budgets.charge_by(self.settings.budgets, self.prices.lost)
        deps = ModelDeps(charge=charge, sources=shared_sources, servers=self._model_deps.servers)
        return make_alone(self.settings, name, deps)

    def count_waiting(self, key: str) -> int:
        """Return how many messages of a session wait for a turn."""
        return self._shared.sessions.waiting(self.name, key)

    @property
    def menus(self) -> Menus:
        return self.table.menus()

    @property
    def personas(self) -> Mapping[str, str]:
        return self.settings.agent.personas

    @property
    def floods(self) -> Mapping[str, int]:
        return self.intake.floods

    @property
    def model_names(self) -> frozenset[str]:
        """Return the names of its models."""
        return frozenset(link.name for link in self.settings.model.links())

    @property
    def lost_prices(self) -> Mapping[str, str]:
        """Return the models that a new table of prices no longer lists, each with what its tokens count as."""
        return price_words([self.prices])

    async def look_at_model(self) -> None:
        """Load the model's facts, a large table, and connect to its server, before a person waits for it."""
        await run_in_thread(getattr, self.model, "facts")
        for model in self.asked:
            await model.connect()

    async def aclose(self) -> None:
        """Close its capabilities and models, also replaced ones, when nothing runs any more."""
        for task in self._work:
            task.cancel()
        await self.capabilities.aclose()
        if self._transcriber is not None:
            await self._transcriber.aclose()
        await self._levels.aclose()
        for model in self.models:
            await model.aclose()


async def warn_of_unused(settings: Settings, store: Store) -> None:
    """Log each tenant that has neither an account nor a key."""
    keys = await store.read(KEYS.find, lasting=True)
    for name in settings.unused_tenants({key.tenant for key in keys if key.revoked_at is None}):
        mend = f'give an account tenant = "{name}", or make a key: tenk --tenant {name} keys create NAME'
        log.warning("tenant_unused", tenant=name, mend=mend)
