"""Wires what every gateway has between its channels, its store and its model. A process and a test both call `build`,
each with its own `RuntimeDeps`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from agent.hooks.chain import HookChain
from agent.language import DEFAULT
from agent.loop import Agent
from agent.permissions.chain import Mode, PermissionChain
from agent.permissions.judge import Judge
from agent.permissions.rules import Source
from agent.ports import ChatModel
from agent.tools.base import Tool
from agent.tools.guards import ChainPermissions, name_rules
from channels.clocks import Clock
from channels.messages import DEFAULT_TENANT, Address, InboundEvent, InboundMessage, Quoted
from channels.slack.manifest import AppDescription
from gateway.access.buttons import SealedButtons
from gateway.access.config import AccessConfig
from gateway.cluster.ownership import Ownership
from gateway.cluster.wakeups import IN
from gateway.commands.connect import Connecting, connect_command, model_command
from gateway.commands.conversations import conversation_commands, conversation_decisions
from gateway.commands.decisions import (
    ANSWERS,
    SAY,
    Decision,
    consent_decisions,
    permissions_command,
    question_of_another,
    reply_decisions,
)
from gateway.commands.groups import group_command
from gateway.commands.linking import link_commands
from gateway.commands.people import OperatorDesk, name_command, people_commands
from gateway.commands.session import RETRY, session_commands
from gateway.commands.table import CommandTable, with_own
from gateway.commands.usage import Left, no_cap, usage_command
from gateway.config.settings import Settings
from gateway.delivery.delivery import Delivery
from gateway.delivery.growing_answer import LiveDeps
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.durable_queue import load_filtered
from gateway.inbound.bus import Bus, SharedBus
from gateway.ops.instrumentation import JournalCounter, ToolWatch
from gateway.ops.model_rests import retry
from gateway.product import AgentProduct, load_hooks
from gateway.safety.guard import InputGuard
from gateway.safety.output import Scrubber
from gateway.safety.vault import Vault
from gateway.sessions.command_runner import CommandDeps, CommandRunner
from gateway.sessions.deps import TURNS, PeopleDirectory, SessionDeps, TurnDeps
from gateway.sessions.inbox_rules import RowClassifier
from gateway.sessions.mailbox import read_rows, read_waiting
from gateway.sessions.parking import Parking
from gateway.sessions.pictures import PictureFetcher
from gateway.sessions.presses import SuggestedReplies
from gateway.sessions.prompt_hooks import HeardItems
from gateway.sessions.questions import Questions
from gateway.sessions.router import Router
from gateway.sessions.signs import StatusReactions
from gateway.sessions.turn_limit import TurnLimit
from gateway.sessions.user_items import UserItemBuilder
from gateway.store import approvals, earlier, groups, journal, leases, people
from gateway.store.engine import Store, engine_for
from gateway.store.inbox import InboxRow
from gateway.store.outbox import put_file


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeDeps:
    """What a runtime is given from outside."""

    settings: Settings
    """With what the product says where the operator says nothing: `gateway.product.in_force`."""
    store: Store
    product: AgentProduct
    tools: tuple[Tool, ...]
    """All that the model may call: the product's, and more."""
    model: ChatModel
    channels: ChannelDirectory
    people: PeopleDirectory
    tasks: asyncio.TaskGroup
    """The parent of whatever runs."""
    ownership: Ownership
    """Which sessions and accounts are this process's."""
    clock: Clock
    """By which everything waits, expires and has an age."""
    dates: Clock
    """The wall clock, for people's days."""
    buttons: SealedButtons
    vault: Vault
    """Seals and opens what is secret in the store."""
    reveal: Callable[[str, str], str]
    """Puts the secret of a reference into a text that is sent."""
    decisions: Callable[[Delivery, Bus], Mapping[str, Decision]]
    """What buttons stand for, by the word that they carry, beside suggested replies."""
    clean: Callable[[str], str] | None = None
    """A model's text to what a person may see; None: without the secrets of the settings."""
    reader: UserItemBuilder | None = None
    """What somebody said to what the model reads; None: as the settings guard it."""
    judge: ChatModel | None = None
    """What judges tool calls in mode auto; None: the model that answers."""
    context_of: Callable[[str, Address], int] = lambda _tenant, _where: groups.MOST_SAID
    """How many messages of a group are read before the one that means the bot."""
    access: Callable[[], AccessConfig] | None = None
    """The rules in force; None: those of the settings, which stay."""
    tenant: str = DEFAULT_TENANT
    """Whose people are answered so: of the store, they see its rows alone."""
    end_cooldowns: Callable[[], object] = bool
    """Let models be asked again whose key or credit was refused."""


Reconfigure = Callable[[Settings, ChatModel | None], None]
"""Limits, permissions, secrets of these from the next turn on, and another model, if one is given."""


@dataclass(frozen=True, slots=True)
class RuntimeParts:
    """What a runtime needs of its first tenant to answer for others."""

    sessions: SessionDeps
    urgent: dict[str, Callable[[InboxRow], bool]]  # by tenant, whether a row passes the backlog by
    scrubber: Scrubber  # knows the secrets of all tenants


@dataclass(frozen=True, slots=True)
class Runtime:
    """The wired parts; `recover` reads what an earlier process left, then `router.run` is to be kept running."""

    delivery: Delivery
    bus: Bus
    commands: CommandRunner
    router: Router
    parking: Parking  # its `run` is to be kept running, too
    reconfigure: dict[str, Reconfigure]  # by tenant
    hooks: dict[str, HookChain]  # by tenant
    parts: RuntimeParts

    def answer_for(self, deps: RuntimeDeps, table: CommandTable) -> None:
        """Another tenant's people are answered so, from the next message on."""
        kinds = RowClassifier(table, deps.product.kind_of_words)
        scrubber = self.parts.scrubber
        scrubber.learn(deps.settings.secret_values())
        sessions = _session_deps(deps, self.delivery, kinds, scrubber, self.parts.sessions)
        sessions.turn_limit.set_bound(deps.tenant, deps.settings.sessions.max_turns)
        self.parts.urgent[deps.tenant] = kinds.is_urgent
        self.reconfigure[deps.tenant] = partial(_reconfigure, deps, sessions, scrubber)
        self.hooks[deps.tenant] = sessions.turns.user_items.hooks
        self.router.answer_for(deps.tenant, sessions, _commands(deps, table, sessions, self.bus))

    def let_go(self, tenant: str) -> None:
        """Nobody of this tenant is answered any more; nothing of it runs."""
        self.parts.urgent.pop(tenant, None)
        self.reconfigure.pop(tenant, None)
        self.hooks.pop(tenant, None)
        self.router.let_go(tenant)


def command_table(
    product: AgentProduct,
    store: Store,
    left: Left = no_cap,
    connecting: Connecting | None = None,
    desk: OperatorDesk | None = None,
) -> CommandTable:
    """The product's commands and those that every agent has, unless it has one of that name itself."""
    texts, desk = product.catalogue, desk or OperatorDesk()
    every = (
        *session_commands(texts), *conversation_commands(store, texts, desk.seals), permissions_command(store, texts),
        usage_command(store, texts, left),
        connect_command(store, connecting or Connecting(), texts), model_command(connecting or Connecting(), texts),
        *people_commands(desk), *link_commands(desk.link_deps, desk.unlink),
        group_command(desk.group_deps), name_command(),
    )  # fmt: skip
    commands = with_own(product.commands(store), every)
    return CommandTable(commands, product.name, texts)


def build(deps: RuntimeDeps, table: CommandTable) -> Runtime:
    """The runtime between the given ends, over this table of commands."""
    settings, store, clock = deps.settings, deps.store, deps.clock
    kinds = RowClassifier(table, deps.product.kind_of_words)
    delivery = Delivery(
        store, deps.channels, settings.delivery, clock, deps.reveal, deps.tasks, deps.vault, deps.ownership
    )
    scrubber = Scrubber({*settings.secret_values(), *deps.vault.key_texts})
    sessions = _session_deps(deps, delivery, kinds, scrubber)
    urgent: dict[str, Callable[[InboxRow], bool]] = {deps.tenant: kinds.is_urgent}
    is_urgent = lambda row: urgent.get(row.tenant, kinds.is_urgent)(row)  # noqa: E731  shorter than its def
    bus = _bus(deps, is_urgent)
    commands = _commands(deps, table, sessions, bus)
    router = Router(bus, sessions, commands, deps.tasks, store)
    reconfigure: dict[str, Reconfigure] = {deps.tenant: partial(_reconfigure, deps, sessions, scrubber)}
    hooks = {deps.tenant: sessions.turns.user_items.hooks}
    parts = RuntimeParts(sessions, urgent, scrubber)
    return Runtime(delivery, bus, commands, router, sessions.turns.parking, reconfigure, hooks, parts)


def _commands(deps: RuntimeDeps, table: CommandTable, sessions: SessionDeps, bus: Bus) -> CommandRunner:
    texts, turns = deps.product.catalogue, sessions.turns
    decisions = {
        **reply_decisions(texts), **consent_decisions(texts), **conversation_decisions(turns.store, texts),
        **deps.decisions(turns.delivery, bus),
    }  # fmt: skip
    shared = CommandDeps(
        turns.store, bus, table, turns.delivery, deps.channels, deps.people, decisions,
        sessions.turn_limit, deps.clock, texts, turns.parking, turns.user_items,
        question_of_another(_people_asked(turns.store), texts), deps.buttons, dates=deps.dates,
    )  # fmt: skip
    return CommandRunner(shared, deps.tasks)


def _bus(deps: RuntimeDeps, is_urgent: Callable[[InboxRow], bool]) -> Bus:
    size = deps.settings.sessions.bus_size
    if not deps.ownership.is_shared:
        return Bus(size, partial(_load_waiting, deps), is_urgent)

    async def load(shards: Collection[int], known: Collection[int], limit: int) -> list[InboxRow]:
        query = partial(leases.waiting_in, owned=shards, known=known, limit=limit)
        rows = await read_rows(deps.store, query)
        for user_id in {row.user_id for row in rows if deps.people.principal(row.user_id) is None}:
            # let in a moment ago by another process
            person = await deps.store.read(partial(people.person_of, user_id=user_id), lasting=True)
            if person is not None:
                deps.people.put(person)
        return [row for row in rows if deps.channels.is_configured(row.event.address)]

    async def still_waiting(ids: Collection[int]) -> set[int]:
        return await deps.store.read(partial(leases.still_waiting, ids=ids), lasting=True)

    return SharedBus(size, load, still_waiting, is_urgent, partial(deps.ownership.tell, IN))


def _reconfigure(
    deps: RuntimeDeps, sessions: SessionDeps, scrubber: Scrubber, settings: Settings, model: ChatModel | None
) -> None:
    """A turn under way ends with the agent that it began with, its model included."""
    scrubber.learn({*settings.secret_values(), *deps.vault.key_texts})
    asked = model or sessions.agent.model
    permissions = _permissions(replace(deps, settings=settings, model=asked))
    sessions.agent = replace(sessions.agent, model=asked, limits=settings.agent, permissions=permissions)


def _counting(deps: RuntimeDeps, beside: SessionDeps | None) -> tuple[Parking, TurnLimit, StatusReactions]:
    """What counts turns, and waits, over all tenants."""
    if beside is not None:
        return beside.turns.parking, beside.turn_limit, beside.signs
    settings = deps.settings
    return (
        Parking(deps.store, deps.clock),
        TurnLimit(deps.store, settings.sessions.max_turns),
        StatusReactions(deps.channels, wanted=settings.delivery.signs != "off"),
    )


def _session_deps(
    deps: RuntimeDeps, delivery: Delivery, kinds: RowClassifier, scrubber: Scrubber, beside: SessionDeps | None = None
) -> SessionDeps:
    """Of one tenant's sessions; those `beside` are of another's, with whom they share what counts turns and waits."""
    settings, store, clock = deps.settings, deps.store.of(deps.tenant), deps.clock
    parking, turn_limit, signs = _counting(deps, beside)
    clean = deps.clean or scrubber.last_look
    hooks = HookChain(load_hooks(settings.hooks))
    reader = deps.reader or UserItemBuilder(
        InputGuard(settings.guard),
        deps.product.name,
        partial(_replied_to, store),
        partial(_said_in_group, deps),
        PictureFetcher(settings.pictures, lambda: shared.agent.model.facts.sees_images, partial(_keep_file, deps)),
    )
    shared = SessionDeps(
        config=settings.sessions,
        turns=TurnDeps(
            store,
            delivery,
            deps.dates,
            clean,
            scrubber.scrub,
            HeardItems(reader, hooks),
            clock,
            JournalCounter(tool.name for tool in deps.tools).note,
            SuggestedReplies(deps.buttons, clean, clock, deps.product.catalogue, store, deps.tasks),
            deps.product.catalogue,
            Questions(deps.buttons, deps.product.catalogue, timedelta(seconds=settings.permissions.expires_s)),
            parking,
            ToolWatch(tool.name for tool in deps.tools).note,
        ),
        live=LiveDeps(store, delivery, settings.delivery, asyncio.get_running_loop().time, clean, deps.tasks),
        channels=deps.channels,
        people=deps.people,
        agent=Agent(
            model=deps.model,
            prompt=deps.product.prompt,
            texts=deps.product.catalogue,
            tools=deps.tools,
            limits=settings.agent,
            clock=deps.dates,
            tell=deps.product.tell,
            permissions=_permissions(deps),
            hooks=hooks,
        ),
        turns_of={**TURNS, RETRY: partial(retry, deps.end_cooldowns), **deps.product.turns(store)},
        kind_of=kinds.kind_of,
        is_marked=kinds.is_marked,
        signs=signs,
        turn_limit=turn_limit,
        ownership=deps.ownership,
    )
    return shared


def _permissions(deps: RuntimeDeps) -> ChainPermissions:
    """What the operator and the product say of tool calls."""
    config, limits = deps.settings.permissions, deps.settings.agent
    by_names = name_rules(limits.allow_tools, limits.deny_tools)
    rules = (*config.all_rules(), *by_names, *deps.product.permissions.rules(Source.PROJECT))
    return ChainPermissions(
        chain=PermissionChain(rules=rules, mode=config.mode, confirm=config.confirm, domains=config.domains),
        can_use_tool=deps.product.can_use_tool,
        judge=Judge(deps.judge or deps.model, config.auto) if config.mode is Mode.AUTO else None,
    )


async def _replied_to(store: Store, reply: InboundMessage) -> Quoted | None:
    return await store.read(partial(earlier.replied_to, reply=reply), lasting=True)


async def _keep_file(deps: RuntimeDeps, tenant: str, id_: str, content: bytes, whose: str) -> None:
    await deps.store.of(tenant).write(
        partial(put_file, tenant=tenant, id_=id_, content=content, now=deps.clock(), whose=whose)
    )


def _people_asked(store: Store) -> Mapping[str, Callable[[str], Awaitable[str | None]]]:
    """Whom a question with buttons was asked, by the word that its buttons carry."""

    async def by_approval(id_: str) -> str | None:
        asked = await store.read(partial(approvals.by_id, id_=id_), lasting=True)
        return None if asked is None else asked.user_id

    async def by_turn(id_: str) -> str | None:
        return await store.read(partial(journal.person_of, turn_id=id_), lasting=True)

    return {SAY: by_turn} | dict.fromkeys(ANSWERS, by_approval)


async def _said_in_group(deps: RuntimeDeps, asked: InboundEvent) -> list[InboundMessage]:
    """What people of the group who may still command the bot said before, where its account keeps it."""
    address = asked.address
    access = deps.settings.access if deps.access is None else deps.access()
    if not access.rules_of(address.channel, address.account).group_talk:
        return []
    found = await deps.store.of(deps.tenant).read(partial(groups.said_before, asked=asked), lasting=True)
    shown = [said.message for said in found if deps.people.principal(said.user_id) is not None]
    most = deps.context_of(asked.tenant, address)
    return shown[-most:] if most else []


async def _load_waiting(deps: RuntimeDeps, after_id: int, limit: int) -> list[InboxRow]:
    """What waits, without that of accounts which were taken out of the configuration."""

    async def load(after_id: int, limit: int) -> list[InboxRow]:
        return await read_waiting(deps.store, after_id, limit)

    return await load_filtered(load, lambda row: deps.channels.is_configured(row.event.address), after_id, limit)


ON_SLACK = frozenset({"btw", "link", "mode", "new", "retry", "sessions", "stop"})
"""Of the commands that every agent has the ones worth a name of their own among a workspace's apps."""


def describe_slack_app(product: AgentProduct) -> AppDescription:
    """What people on Slack see of an agent: the command that talks first, its own, and those of every agent's."""
    store = Store(engine_for("sqlite:///never-opened.db"))  # never opened: commands are listed, not run
    own = {command.name for command in product.commands(store)}
    menu = command_table(product, store).menus()[DEFAULT]
    shown = [spec for spec in menu if spec.talks or spec.name in own or spec.name in ON_SLACK]
    return AppDescription(product.title, product.catalogue.text(DEFAULT, product.description), shown)
