"""The gateway process: makes its parts, starts and stops them in order."""

import asyncio
import gc
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import structlog

from agent.config import ModelConfig
from agent.models.known_servers import KnownServers
from agent.models.select import ModelDeps
from agent.permission_rules import PermissionRule
from agent.tools.base import Tool
from channels.api.adapter import ApiChannel
from channels.clocks import Clocks, steady_now
from channels.messages import DEFAULT_TENANT
from channels.web.visitor import Identities
from gateway.access import codes
from gateway.access.codes import AccessKeys
from gateway.access.policy import AccessSnapshot
from gateway.access.ranks import BY_CLI
from gateway.accounts import ConfiguredAccounts, visitors_key
from gateway.capabilities.trust import Trust
from gateway.chores import Chores, bring_up_tables
from gateway.cluster.process import LoneProcess, open_process, wait_until_idle
from gateway.config.editing import ConfigFiles
from gateway.config.settings import Settings
from gateway.console.console import make_console
from gateway.console.settings_page import ConsoleSettings
from gateway.delivery.delivery import Delivery
from gateway.delivery.owner_notices import OwnerNotices
from gateway.delivery.sender import SendTimeContent
from gateway.descriptors import fit_to_files, raise_file_limit
from gateway.errors import GatewayError, SettingsError, StoreUnavailable
from gateway.failpoints import failpoint
from gateway.first_steps import show_first_steps
from gateway.http.api.machine import MachineApi
from gateway.http.api.server import ApiServer
from gateway.http.mounts import Mounts
from gateway.http.server import HttpServer
from gateway.inbound.manager import ChannelManager
from gateway.operator_services import NoLinks, OperatorServices, PublicLinks
from gateway.operators.models import Reloaded, Stopping
from gateway.ops import service_manager
from gateway.ops.alerts import OwnerAlerts
from gateway.ops.control import ControlServer
from gateway.ops.instrumentation import MeasuredModel, ModelWatch
from gateway.ops.key_rotation import KeyRotation
from gateway.ops.lock import HomeLock
from gateway.ops.model_cooldowns import ModelCooldowns
from gateway.ops.model_trials import ModelTrials
from gateway.ops.operators import ProcessParts, load_people
from gateway.ops.status import GatewayStatus, ModelHealth
from gateway.ops.watchdog import LoopWatchdog
from gateway.product import in_force, load_product
from gateway.reloading import Reloader, TenantChange, waits_for_start
from gateway.replay.replays import Replays
from gateway.sessions.router import Router
from gateway.sessions.speech import Speech
from gateway.sessions.turn_limit import TurnLimit
from gateway.sessions.waiting_rows import WaitingRows, make_bus
from gateway.shared import Secrets, Shared
from gateway.spans import record_spans
from gateway.store.engine import Store
from gateway.supervision import Faults, Supervised, run_until
from gateway.tenant import Tenant, TenantDeps, warn_of_unused

if TYPE_CHECKING:
    from gateway.mcp.endpoint import McpEndpoint

log = structlog.get_logger()

SERVER_S = 120.0
"""Seconds that a start waits for an unreachable database server before it fails."""

FIRST_ASKED_S = 3.0
"""Seconds that an account slow to reach its platform may delay the first answers."""

ANSWER_S = 0.2
"""Seconds between the answer to `tenk stop` and the stop."""

COMMAND_S = 5.0
"""Seconds that a start waits for a command that works on the home."""


async def serve(
    settings: Settings,
    extra_tools: Sequence[Tool] = (),
    show: Callable[[str], None] | None = None,
    servers: KnownServers | None = None,
    files: ConfigFiles | None = None,
    flags: Sequence[PermissionRule] = (),
) -> None:
    """Run the gateway until SIGTERM or SIGINT, then drain and return. `show` prints on the operator's terminal.

    `servers` are what is known of model servers already; `files` are read again by reloads; `flags` are permission
    rules that hold until it ends.

    Raises:
        GatewayError: it cannot start; the message says what to do.
    """
    if settings.gateway.traces:
        record_spans()
    limit = raise_file_limit()
    settings = fit_to_files(settings, limit)
    fitting = None if files is None else replace(files, read=lambda: fit_to_files(files.read(), limit))
    with HomeLock(settings.home, wait_s=COMMAND_S):
        store = await Store.open(settings.database_url, wait_s=SERVER_S)
        try:
            gateway = Gateway(settings, store, extra_tools, show, servers, fitting, flags)
            for signum in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(signum, gateway.stop)
            await gateway.run()
        finally:
            await store.aclose()


class _Stopped(Exception):
    """Signal that ends the task group after the drain."""


@dataclass(frozen=True, slots=True)
class _Running:
    """The parts that a stop drains; the start may not have ended."""

    shared: Shared
    process: LoneProcess
    intake: list[asyncio.Task[None]] = field(default_factory=list)  # receiving and routing, once they run


class Gateway:
    """Running gateway over an open store."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        extra_tools: Sequence[Tool] = (),
        show: Callable[[str], None] | None = None,
        servers: KnownServers | None = None,
        files: ConfigFiles | None = None,
        flags: Sequence[PermissionRule] = (),
        clocks: Clocks | None = None,
    ) -> None:
        """Create the gateway; `run` starts it. `extra_tools` come after the agent's own, the rest is as in `serve`.

        `clocks` are the machine's by default.
        """
        self._product = load_product(settings.agent.product)
        self._settings = in_force(settings, self._product)
        self._read_again: Callable[[], Settings] = (lambda: settings) if files is None else files.read
        self._files = files
        self._store = store
        self._extra_tools = extra_tools
        self._show = show
        self._flags = flags
        self._clocks = clocks or Clocks()
        self._servers = servers or KnownServers()
        self._people = AccessSnapshot()
        self._rotation = KeyRotation(store, settings.home, settings.gateway.secret_keys)
        self._rests = ModelCooldowns(store, steady_now)
        self._watch = ModelWatch(steady_now)
        self._faults = Faults()
        self._stop = asyncio.Event()
        self._running: _Running | None = None  # None: nothing to drain
        self._reloader: Reloader | None = None  # None: it is starting
        self._budget_news = asyncio.Event()
        self.tenants: dict[str, Tenant] = {}
        """Every tenant by its name, the installation's own first; a reload replaces the entries."""
        self.http: HttpServer | None = None
        """The HTTP server; None before it serves."""

    async def run(self) -> None:
        """Serve until told to stop, then drain."""
        async with AsyncExitStack() as closing:  # after all tasks
            try:
                async with Supervised(self._faults) as tasks:
                    await run_until(partial(self._start, tasks, closing), self._until_stopped, tasks)
                    await self._stop.wait()
                    if self._running is not None:
                        await self._drain(self._running)
                    raise _Stopped
            except* _Stopped:
                log.info("gateway_stopped")
            except* GatewayError as errors:
                raise _first(errors) from None

    def stop(self) -> None:
        """Begin to drain."""
        self._stop.set()

    async def _until_stopped(self) -> None:
        await self._stop.wait()

    async def _start(self, tasks: Supervised, closing: AsyncExitStack) -> None:
        settings, store, tenants = self._settings, self._store, self.tenants
        key = codes.load_key(settings.home)
        secrets = Secrets(key, AccessKeys.derive_from(key), self._rotation.vault)
        process = await open_process(settings, store, secrets)

        # shared by all tenants
        clocks, api_channel, ownership = self._clocks, ApiChannel(clock=steady_now), process.ownership
        accounts = ConfiguredAccounts(tenants, self._people, key, api_channel)
        channels = ChannelManager(
            accounts.list_accounts(settings.channels), store, steady_now, tasks, tenants, ownership=ownership
        )
        content = SendTimeContent(secrets.reveal)
        if settings.voice is not None and settings.voice.speech_url is not None:
            speech = Speech(settings.voice, store, self._people, tenants, steady_now)
            closing.push_async_callback(speech.aclose)
            content = replace(content, speak=speech.speak)
        delivery = Delivery(store, channels, settings.delivery, steady_now, content, tasks, secrets.vault, ownership)
        rows = WaitingRows(store, channels, self._people, tenants)
        bus = make_bus(settings.sessions.bus_size, rows, ownership)
        turn_limit = TurnLimit(store, settings.sessions.max_turns)
        router = Router(bus, store, channels, ownership, tenants, turn_limit, clocks, tasks)
        shared = Shared(store, channels, delivery, bus, router, self._people, clocks, secrets)
        self._running = running = _Running(shared, process)

        # for operators and programs
        models = ModelHealth(self._rests.board.states, self._watch)
        cluster = process if ownership.is_shared else None
        status = GatewayStatus(shared, tenants, cluster, models, self._faults, steady_now())
        trials = ModelTrials(self._rests.board, self._watch, self._list_models)
        trust = Trust(store)
        unlinked = ProcessParts(status, self._rotation, trials, NoLinks(), trust.load, Replays(shared, tenants).run)
        own = replace(unlinked, reload=self._reload, change_setting=self._change_setting)
        pages = OperatorServices(shared, tenants, own)
        browsers = Identities(visitors_key(key), is_known=lambda _chat: False)
        config = ConsoleSettings(self._settings_in_force, self._files, waits_for_start)
        console = make_console(store, key, pages.of, browsers, config, self._product.title)
        programs = ApiServer(store, tenants, settings.http.cors_origins)
        api = programs if settings.channels.api.enabled else None
        playground = not any(settings.channels.accounts())
        mcp = None if api is None or not settings.channels.api.mcp else _make_mcp(api, tenants, shared)
        routes = (*console.routes(), *([] if mcp is None else mcp.routes()))
        http = HttpServer(settings.http, status, Mounts(channels), api, playground=playground, routes=routes)
        closing.callback(http.close)
        await http.bind()  # before anything is said: a port in use is the first thing to know
        parts = replace(unlinked, links=PublicLinks(channels, http, console))

        model_deps = ModelDeps(
            board=self._rests.board, servers=self._servers, measure=partial(MeasuredModel, watch=self._watch)
        )
        deps = TenantDeps(
            model_deps, self._extra_tools, parts, trust, api_channel, self._show, self._budget_news, self._flags
        )
        chores = Chores(shared, tenants, process, tasks)
        change = TenantChange(tenants, shared, deps, accounts, chores, tasks)
        words = OwnerNotices(store, channels, steady_now)
        self._reloader = reloader = Reloader(settings, self._read_settings, change.apply, words, self._files)

        # tenants; unsent messages of an earlier process go first
        closing.push_async_callback(change.aclose)
        closing.push_async_callback(channels.aclose)
        await trust.load()
        for name in (DEFAULT_TENANT, *settings.tenants):
            tenants[name] = Tenant(name, settings, shared, deps)
        for tenant in tenants.values():
            tenant.put_in_force()
        await bring_up_tables(store, tenants.values())
        await warn_of_unused(settings, store)
        await self._rests.load()
        await turn_limit.pauses.load()
        if await process.join(shared, tasks):
            await tenants[DEFAULT_TENANT].budgets.begin()
        await load_people(self._people, store, secrets.keys.forgotten)
        for tenant in tenants.values():
            await tenant.take_up_caps()
        await self._rotation.reseal()
        await delivery.recover()

        # receiving, serving, answering
        running.intake.append(tasks.keep_task("channels", channels.run))
        await process.resume(shared, self._budget_news, tasks)
        self.http = http
        tasks.keep("http", http.run)
        whole = replace(parts, reload=reloader.reload, change_setting=reloader.change, stop=self._begin_stop)
        services = OperatorServices(shared, tenants, whole)
        machine = MachineApi(programs, services)
        local = () if mcp is None else mcp.local_routes()
        control = ControlServer(settings.control_path, machine.serve, Mounts(channels, private=True), routes=local)
        tasks.keep("control", control.run)
        tasks.keep("reload", partial(reloader.run, partial(services.of(None).reload, BY_CLI)))
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reloader.wanted.set)
        page = tenants[settings.channels.web.tenant]
        steps = partial(show_first_steps, http, page.store, page.settings, page.operators, self._show)
        tasks.keep("first steps", steps)
        chores.begin(OwnerAlerts(store, status.troubles, channels, steady_now), trust)
        for tenant in tenants.values():
            tenant.begin(tasks, tenants)
        tasks.keep("model servers", self._servers.run)
        tasks.keep("model rests", self._rests.run)
        tasks.keep("watchdog", LoopWatchdog().run)
        running.intake.append(tasks.keep_task("routing", partial(_route, channels, router)))
        tasks.keep("service manager", service_manager.report)
        agent, is_bridged = settings.agent.name, settings.agent.is_bridged
        answers = {"agent": agent} if is_bridged else {"model": self._own.model.name}
        log.info("gateway_started", home=str(settings.home), **answers, store=store.dialect)

    @property
    def _own(self) -> Tenant:
        return self.tenants[DEFAULT_TENANT]

    def _read_settings(self) -> Settings:
        return in_force(self._read_again(), self._product)

    async def _reload(self) -> Reloaded:
        assert self._reloader is not None, "operators see pages only after the start"
        return await self._reloader.reload()

    async def _change_setting(self, key: str, text: str) -> Reloaded:
        assert self._reloader is not None, "operators see pages only after the start"
        return await self._reloader.change(key, text)

    def _list_models(self) -> list[ModelConfig]:
        return [tenant.settings.model for tenant in self.tenants.values()]

    def _begin_stop(self) -> Stopping:
        asyncio.get_running_loop().call_later(ANSWER_S, self._stop.set)
        drain_s, is_managed = self._own.settings.sessions.drain_s, service_manager.is_managed()
        return Stopping(process=os.getpid(), drain_s=drain_s, managed=is_managed)

    def _settings_in_force(self) -> Settings:
        return self._own.settings

    async def _drain(self, running: _Running) -> None:
        """Stop receiving, let running work end, leave the rest to the next start."""
        failpoint("shutdown_begun")
        router, delivery, process = running.shared.sessions, running.shared.delivery, running.process
        drain_s = self._own.settings.sessions.drain_s
        log.info("gateway_stopping", running=router.running, drain_s=drain_s)
        for task in running.intake:
            task.cancel()
        router.close()
        with suppress(StoreUnavailable):  # then this end counts as a crash, which does no harm
            await process.begin_leaving()
        await wait_until_idle(
            lambda deadline: router.busy or delivery.works_before(deadline), steady_now, timedelta(seconds=drain_s)
        )
        with suppress(StoreUnavailable):  # then others wait until the leases expire
            await process.leave()


def _make_mcp(api: ApiServer, tenants: Mapping[str, Tenant], shared: Shared) -> "McpEndpoint":
    """Return the MCP server.

    Raises:
        SettingsError: its library is not installed.
    """
    try:
        from gateway.mcp.endpoint import McpEndpoint  # noqa: PLC0415  the SDK takes most of a second
    except ModuleNotFoundError as missing:
        raise SettingsError(
            f"channels.api.mcp needs the package {missing.name}: pip install 'tenk-gateway[mcp]'"
        ) from None
    return McpEndpoint(api, tenants, shared)


async def _route(channels: ChannelManager, router: Router) -> None:
    """Route once every account has asked its platform for new messages; the caller waits for that."""
    await channels.until_begun(FIRST_ASKED_S)
    gc.collect()
    gc.freeze()  # objects from the start live as long as the process
    gc.enable()
    await router.run()


def _first(errors: BaseExceptionGroup[GatewayError]) -> GatewayError:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found if isinstance(found, GatewayError) else GatewayError(str(found))
