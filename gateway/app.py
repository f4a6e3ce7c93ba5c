"""The composition root: knows every concrete class, wires them, starts them in order and lets them go in order."""

import asyncio
import gc
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

import structlog

from agent.models.known_servers import KnownServers
from agent.models.select import ModelDeps
from agent.tools.base import Tool
from channels.api.adapter import ApiChannel
from channels.base import NamesCommands
from channels.clocks import steady_now, wall_now
from channels.messages import DEFAULT_TENANT
from gateway.access import codes
from gateway.access.buttons import SealedButtons
from gateway.access.codes import AccessKeys
from gateway.access.policy import AccessSnapshot
from gateway.command_line import of_process
from gateway.config.settings import Settings, whose_account
from gateway.console.console import make_console
from gateway.delivery.owner_words import OwnerWords
from gateway.descriptors import fit_to_files, raise_file_limit
from gateway.errors import GatewayError, StoreUnavailable
from gateway.failpoints import failpoint
from gateway.http.api.server import ApiServer
from gateway.http.mounts import Mounts
from gateway.http.server import HttpServer
from gateway.inbound.connections import ChannelAccount
from gateway.inbound.intake import Intake
from gateway.inbound.manager import ChannelManager
from gateway.inbound.reception import Doorway
from gateway.inbound.web_records import StoredRecords
from gateway.makers import accounts_of, make_web
from gateway.model_prices import price_words
from gateway.ops import housekeeper, operators, personal_data, scheduler
from gateway.ops.alerts import LOOK_S, OwnerAlerts
from gateway.ops.chores import Chore, repeat
from gateway.ops.control import ControlServer
from gateway.ops.control_client import Handler
from gateway.ops.instrumentation import MeasuredModel, ModelWatch
from gateway.ops.key_rotation import KeyRotation
from gateway.ops.lock import HomeLock
from gateway.ops.model_rests import ModelRests
from gateway.ops.operators import (
    InviteLinks,
    calls_by_tenant,
    load_people,
    show_founding_link,
)
from gateway.ops.personal_data import Eraser
from gateway.ops.status import GatewayStatus, ModelStanding
from gateway.ops.watchdog import LoopWatchdog
from gateway.presence import Presence, PresenceDeps, open_presence, wait_until_idle
from gateway.product import in_force
from gateway.reloading import LiveParts, Reloader
from gateway.sessions import budgets, parking
from gateway.sessions.budgets import BudgetWatch
from gateway.sessions.router import Router
from gateway.spans import record_spans
from gateway.store.agent_tables import AgentTables, bring_up
from gateway.store.engine import Connection, Store
from gateway.store.erasure import Erasure, Progress, erase
from gateway.supervision import Faults, Supervised
from gateway.tenants import Desks, Entrance, Tenant, TenantDeps, Tenants
from gateway.wiring import Runtime, RuntimeDeps, build, describe_slack_app

log = structlog.get_logger()

SERVER_S = 120.0
"""So long a start waits for a database server that is away; then it ends, for whoever restarts it to see."""

FIRST_ASKED_S = 3.0
"""So long an account that is slow to reach its platform keeps what waits here from being answered."""

COMMAND_S = 5.0
"""A command that works on the home while no gateway runs is over by then: a start waits for it."""


async def serve(
    settings: Settings,
    extra_tools: Sequence[Tool] = (),
    show: Callable[[str], None] | None = None,
    servers: KnownServers | None = None,
    read_again: Callable[[], Settings] | None = None,
) -> None:
    """Run the gateway until SIGTERM or SIGINT, then drain and return. `show` prints for whoever reads the terminal.

    `servers` are what is known of model servers already; `read_again` gives the settings as they are now.

    Raises:
        GatewayError: it cannot start; the message says what to do.
    """
    if settings.gateway.traces:
        record_spans()
    limit = raise_file_limit()
    settings = fit_to_files(settings, limit)
    fitting = None if read_again is None else lambda: fit_to_files(read_again(), limit)
    with HomeLock(settings.home, wait_s=COMMAND_S):
        store = await Store.open(settings.database_url, wait_s=SERVER_S)
        try:
            await Gateway(settings, store, extra_tools, show, servers, fitting).run()
        finally:
            await store.aclose()


class _Stopped(Exception):
    """Everything that had to be said was said; ends the task group."""


class Gateway:
    """One running gateway over an open store."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        extra_tools: Sequence[Tool] = (),
        show: Callable[[str], None] | None = None,
        servers: KnownServers | None = None,
        read_again: Callable[[], Settings] | None = None,
    ) -> None:
        """Nothing runs before `run`. `extra_tools` stand beside the agent's own; the others as in `serve`."""
        self._show = show
        self._read_again = read_again or (lambda: settings)
        self._store = store
        self._snapshot = AccessSnapshot()
        self._rotation = KeyRotation(store, settings.home, settings.gateway.secret_keys)
        self._rests = ModelRests(store, steady_now)
        self._servers = servers or KnownServers()
        self._watch = ModelWatch(steady_now)
        models = ModelDeps(
            board=self._rests.board, servers=self._servers, measure=partial(MeasuredModel, watch=self._watch)
        )
        parts = TenantDeps(store, self._snapshot, self._rotation.vault, models, steady_now, extra_tools)
        self._own = Tenant(DEFAULT_TENANT, settings, parts)
        self._tenants = Tenants(settings, parts, self._own)
        self._stop = asyncio.Event()
        self._faults = Faults()
        self._api_channel = ApiChannel(clock=steady_now)
        self._api: ApiServer | None = None
        self._scheduled: set[str] = set()  # the agents whose schedules are looked at
        self.http: HttpServer | None = None
        """Where it is reached; None before it serves."""
        self._manager: ChannelManager | None = None

    # ------------------------------------------------------------ life

    async def run(self) -> None:
        """Serve until told to stop, then drain."""
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signum, self._stop.set)
        for name, tables in self._tables().items():
            await self._store.write(partial(bring_up, agent=name, tables=tables))
        await self._tenants.warn_of_unused(self._own.settings)
        await self._rests.load()
        key = codes.load_key(self._own.settings.home)
        presence = await open_presence(self._own.settings, self._store, key, self._rotation.vault.mark)
        try:
            async with Supervised(self._faults) as tasks:
                await self._serve(tasks, key, presence)
                raise _Stopped
        except* _Stopped:
            log.info("gateway_stopped")
        except* GatewayError as errors:
            raise _first(errors) from None
        finally:
            if self._manager is not None:
                await self._manager.aclose()
            await self._tenants.aclose()

    def _tables(self, *coming: Tenant) -> dict[str, AgentTables]:
        """Those of each agent, and of each that is about to come."""
        products = {tenant.product.name: tenant.product for tenant in (*self._tenants, *coming)}
        return {name: product.tables for name, product in products.items() if product.tables is not None}

    async def _join(self, tasks: Supervised, key: bytes, presence: Presence) -> ChannelManager:
        manager = ChannelManager(
            self._accounts(key), self._store, steady_now, tasks, self._own.table.menus(), ownership=presence.ownership
        )
        if await presence.join(manager, tasks, steady_now()):
            await self._own.budgets.begin()
        return manager

    async def _serve(self, tasks: Supervised, key: bytes, presence: Presence) -> None:
        settings, store, product = self._own.settings, self._store, self._own.product
        keys = AccessKeys.derive_from(key)
        manager = self._manager = await self._join(tasks, key, presence)
        await load_people(self._snapshot, store, keys.forgotten)
        rotation = await self._rotation.begin()
        doorway = Doorway(
            product.name, keys, rotation.vault, of_process(), self._show,
            channel_of=manager.now_loaded, commands=self._own.table.names,
        )  # fmt: skip

        shared = partial(
            RuntimeDeps, store=store, channels=manager, people=self._snapshot, tasks=tasks,
            ownership=presence.ownership, clock=steady_now, dates=wall_now, context_of=self._snapshot.context_of,
            buttons=SealedButtons(keys.buttons), vault=rotation.vault, reveal=partial(codes.reveal, key),
            end_cooldowns=self._rests.board.end_cooldowns,
        )  # fmt: skip

        entrance = Entrance(key, keys, manager, self._snapshot, doorway, shared, steady_now)
        manager.personas = self._personas()
        runtime = build(entrance.deps_of(self._own), self._own.table)
        delivery, bus, router = runtime.delivery, runtime.bus, runtime.router
        intake = Intake(store, settings.access, self._snapshot, delivery, bus, router.waiting, steady_now, doorway)
        entrance.equip(runtime, self._own)
        self._serve_tenants(tasks, entrance, runtime, intake)
        await delivery.recover()
        reading = tasks.keep_task("channels", lambda: manager.run(intake))
        await presence.take_up(PresenceDeps(runtime, self._snapshot, keys.forgotten, self._own.budgets.news), tasks)
        standing = self._standing(manager, router, intake, presence)
        standing.hooks = runtime.hooks
        desks = Desks(self._tenants, entrance, runtime, store, rotation, standing)
        self.http = http = self._make_http(key, standing, manager, desks)
        calls = calls_by_tenant(partial(desks.control_calls, InviteLinks(manager, http)))
        tasks.keep("http", http.run)
        schedules = partial(self._keep_schedules, tasks, runtime, manager, presence)
        live = LiveParts(intake, runtime, self._own.budgets, standing, schedules)
        reloader = self._keep_reloader(tasks, key, manager, live)
        self._keep_control(tasks, {**calls, **self._rests.calls(), "reload": reloader.reload}, manager)
        if settings.channels.web.enabled:
            page = self._tenants.get(settings.channels.web.tenant)
            tasks.keep("founding link", partial(show_founding_link, http, page.store, page.settings.access, doorway))
        schedules()
        owner_alerts = OwnerAlerts(store, standing.troubles, manager, delivery, steady_now)
        self._keep_chores(tasks, runtime, manager, presence, owner_alerts)
        routing = tasks.keep_task("routing", partial(self._route, manager, router))
        log.info("gateway_started", home=str(settings.home), model=self._own.model.name, store=store.dialect)
        await self._stop.wait()
        await self._drain(reading, routing, runtime, presence)

    def _serve_tenants(self, tasks: Supervised, entrance: Entrance, runtime: Runtime, intake: Intake) -> None:
        runtime.router.answers = self._tenants.has
        leaving = partial(entrance.let_go, runtime, intake, self._tenants)
        self._tenants.serve(
            partial(entrance.take_in, runtime, intake), lambda tenant: tasks.create_task(leaving(tenant))
        )

    async def _route(self, manager: ChannelManager, router: Router) -> None:
        """Route, once every account has asked its platform for what is new: that is waited for outside."""
        await manager.until_begun(FIRST_ASKED_S)
        gc.collect()
        gc.freeze()  # what starting made lives as long as the process: the collector need not look at it again
        gc.enable()
        await router.run()

    def _keep_control(self, tasks: Supervised, calls: Mapping[str, Handler], manager: ChannelManager) -> None:
        server = ControlServer(self._own.settings.control_path, calls, Mounts(manager, private=True))
        tasks.keep("control", server.run)

    def _keep_reloader(self, tasks: Supervised, key: bytes, manager: ChannelManager, parts: LiveParts) -> Reloader:
        reloader = Reloader(
            self._own.settings,
            lambda: in_force(self._read_again(), self._own.product),
            partial(self._apply, key, manager, parts),
            OwnerWords(self._store, manager, parts.runtime.delivery, steady_now),
            parts.retry_hooks,
        )
        tasks.keep("reload", reloader.run)
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reloader.wanted.set)
        return reloader

    async def _apply(
        self, key: bytes, manager: ChannelManager, parts: LiveParts, settings: Settings, tables: frozenset[str]
    ) -> None:
        """Put changed settings in force; a model that cannot be made refuses before anything is changed."""
        tried = self._tenants.try_settings(settings)
        for name, made in self._tables(*tried.tenants.values()).items():
            await self._store.write(partial(bring_up, agent=name, tables=made))
        gone = self._tenants.dismiss(settings)
        self._tenants.adopt(settings, tried)
        for tenant in self._tenants:
            parts.reconfigure(tenant.name, tenant.settings, tried.models.get(tenant))
        parts.standing.know_model(self._own.model.name)
        manager.personas = self._personas()
        if "channels" in tables:
            await manager.reconfigure(self._accounts(key))
            await parts.runtime.delivery.recover()
        self._tenants.part_with(gone)
        parts.begin_schedules()
        if self._api is not None:
            self._api.forget_tenants()

    def _personas(self) -> dict[str, str]:
        """Of each account as its tenant says."""
        settings = self._own.settings
        whose = {f"{channel}:{own.name}": whose_account(own) for channel, own in settings.channels.accounts()}
        named = {name: self._tenants.get(tenant).settings.agent.personas.get(name) for name, tenant in whose.items()}
        return {**self._own.settings.agent.personas, **{name: words or "" for name, words in named.items()}}

    def _standing(self, manager: ChannelManager, router: Router, intake: Intake, presence: Presence) -> GatewayStatus:
        def price_losses() -> Mapping[str, str]:
            return price_words(tenant.prices for tenant in self._tenants)

        name, board = self._own.model.name, self._rests.board.states
        model = ModelStanding(name, board, self._watch, self._own.budgets.standing, price_losses)
        standing = GatewayStatus(
            self._store, manager, router, self._snapshot, model, steady_now(), self._faults, lambda: intake.floods
        )
        standing.cluster, standing.models_of = presence, self._tenants.models
        return standing

    def _make_http(self, key: bytes, standing: GatewayStatus, manager: ChannelManager, desks: Desks) -> HttpServer:
        settings, api_of = self._own.settings, partial(desks.api, self._api_channel)
        self._api = api = ApiServer(api_of(DEFAULT_TENANT), api_of) if settings.channels.api.enabled else None
        title = self._own.product.title
        console = make_console(self._store, key, desks.console_calls, lambda: self._own.settings, title)
        playground, routes = not any(settings.channels.accounts()), console.routes()
        http = HttpServer(settings.http, standing, Mounts(manager), api, playground=playground, routes=routes)
        self._tenants.know_links(InviteLinks(manager, http).ways, lambda by: console.link(http.public_url, by))
        return http

    def _keep_chores(
        self, tasks: Supervised, runtime: Runtime, manager: ChannelManager, presence: Presence, alerts: OwnerAlerts
    ) -> None:
        def does(connection: Connection, wanted: Erasure, now: datetime) -> Progress:
            tables = [table for made in self._tables().values() for table in made.metadata.sorted_tables]
            return erase(connection, wanted, now, own_tables=tables, is_configured=manager.is_configured)

        store, caps = self._store, self._own.budgets
        for chore in (
            Chore("budgets", budgets.LOOK_S, BudgetWatch(caps, store, manager, runtime.delivery).look),
            Chore("requests", operators.EXPIRE_S, partial(store.commit, operators.expire_requests)),
            Chore("erasures", personal_data.LOOK_S, Eraser(store, does, runtime.router.forget, steady_now).look),
            Chore("retention", housekeeper.EVERY_S, self._sweep, first_s=housekeeper.FIRST_S),
            Chore("parked turns", parking.LOOK_EVERY_S, runtime.parking.expire, everywhere=True),
            Chore("alerts", LOOK_S, alerts.look, first_s=LOOK_S, everywhere=True),
        ):
            self._keep_chore(chore, tasks, presence)
        tasks.keep("model", self._look_at_model)
        tasks.keep("model servers", self._servers.run)
        tasks.keep("model rests", self._rests.run)
        tasks.keep("watchdog", LoopWatchdog().run)

    def _keep_chore(self, chore: Chore, tasks: Supervised, presence: Presence) -> None:
        run = partial(repeat, chore)
        tasks.keep(chore.name, run if chore.everywhere else presence.alone(run, tasks))

    async def _sweep(self) -> None:
        await housekeeper.sweep(self._store, self._own.settings.retention, steady_now())

    def _keep_schedules(self, tasks: Supervised, runtime: Runtime, manager: ChannelManager, presence: Presence) -> None:
        """Look at those of each agent, once; a reload may bring one."""
        for product in [tenant.product for tenant in self._tenants]:
            if product.schedule is not None and product.name not in self._scheduled:
                self._scheduled.add(product.name)
                due = partial(
                    scheduler.take_due, self._store, product.schedule, runtime.bus, steady_now, wall_now,
                    manager.is_configured,
                )  # fmt: skip
                self._keep_chore(Chore("schedule", scheduler.LOOK_S, due), tasks, presence)

    async def _look_at_model(self) -> None:
        """Look at its facts, which reads a large table, and connect to its server, before somebody waits for it."""
        await asyncio.to_thread(getattr, self._own.model, "facts")
        for model in self._own.asked:
            await model.connect()

    async def _drain(
        self, reading: asyncio.Task[None], routing: asyncio.Task[None], runtime: Runtime, presence: Presence
    ) -> None:
        """Read nothing more, let what runs come to its end, leave the rest to the next start."""
        failpoint("shutdown_begun")
        router, delivery = runtime.router, runtime.delivery
        log.info("gateway_stopping", running=router.running, drain_s=self._own.settings.sessions.drain_s)
        reading.cancel()
        routing.cancel()
        router.close()
        with suppress(StoreUnavailable):  # then this end counts as a death, which harms nobody
            await presence.begin_leaving()
        await wait_until_idle(
            lambda deadline: router.busy or delivery.works_before(deadline),
            steady_now,
            timedelta(seconds=self._own.settings.sessions.drain_s),
        )
        with suppress(StoreUnavailable):  # then others wait for it to run out
            await presence.leave()

    # ------------------------------------------------------------ wiring

    def _accounts(self, key: bytes) -> list[ChannelAccount]:
        whose = self._tenants.get(self._own.settings.channels.web.tenant)
        records = StoredRecords(whose.store, whose.product.name, steady_now, whose.name)
        texts = whose.product.catalogue
        web = partial(make_web, lambda: self._own.settings, texts, self._snapshot, key, records)

        def name_commands(channel: NamesCommands, tenant: str) -> None:
            whose = self._tenants.get(tenant)
            channel.name_commands(describe_slack_app(whose.product).commands, whose.table.specs())

        return accounts_of(self._own.settings.channels, web, lambda: self._api_channel, name_commands)


def _first(errors: BaseExceptionGroup[GatewayError]) -> GatewayError:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found if isinstance(found, GatewayError) else GatewayError(str(found))
