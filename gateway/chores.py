"""Table of the gateway's chores."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial

from channels.messages import DEFAULT_TENANT
from gateway.capabilities import trust
from gateway.capabilities.trust import Trust
from gateway.cluster.process import LoneProcess
from gateway.delivery import button_closer
from gateway.ops import alerts, housekeeper, operators, personal_data, scheduler
from gateway.ops.alerts import OwnerAlerts
from gateway.ops.personal_data import Eraser
from gateway.sessions import budgets, parking, pauses
from gateway.sessions.budgets import BudgetWatch
from gateway.shared import Shared
from gateway.store.agent_tables import AgentTables, bring_up
from gateway.store.engine import Connection, Store
from gateway.store.erasure import Erasure, Progress, erase
from gateway.store.schedules import HEARTBEAT, SCHEDULED, DueEvent
from gateway.supervision import Chore, Supervised, repeat
from gateway.tenant import Tenant


class Chores:
    """Chores of one process; in a cluster, one process runs the shared ones."""

    def __init__(self, shared: Shared, tenants: Mapping[str, Tenant], process: LoneProcess, tasks: Supervised) -> None:
        self._shared = shared
        self._tenants = tenants
        self._process = process
        self._tasks = tasks
        self._scheduled: set[str] = set()  # agents whose due events are looked for; "": all people's schedules

    def begin(self, owner_alerts: OwnerAlerts, trusted: Trust) -> None:
        store, shared, clock = self._shared.store, self._shared, self._shared.clocks.now
        watch = BudgetWatch(self._tenants[DEFAULT_TENANT].budgets, store, shared.channels)
        eraser = Eraser(store, self._erase, shared.sessions.forget, self._delete_files, clock)
        for chore in (
            Chore("buttons", button_closer.LOOK_S, shared.delivery.buttons.look, first_s=button_closer.LOOK_S),
            Chore("budgets", budgets.LOOK_S, watch.look),
            Chore("requests", operators.EXPIRE_S, partial(store.commit, operators.expire_requests)),
            Chore("erasures", personal_data.LOOK_S, eraser.look),
            Chore("retention", housekeeper.EVERY_S, self._sweep, first_s=housekeeper.FIRST_S),
            Chore("parked turns", parking.LOOK_EVERY_S, shared.sessions.parking.expire, everywhere=True),
            Chore("alerts", alerts.LOOK_S, owner_alerts.look, first_s=alerts.LOOK_S, everywhere=True),
            Chore("pauses", pauses.LOOK_S, shared.sessions.turn_limit.pauses.load, everywhere=True),
            Chore("trust", trust.LOOK_S, partial(self._look_at_trust, trusted), everywhere=True),
        ):
            self._keep(chore)
        self._tasks.keep("model", self._look_at_models)
        self.begin_schedules()

    def begin_schedules(self) -> None:
        """Look for due schedules, and for due events of each agent; a reload may add an agent."""
        sources = [(tenant.product.name, tenant.product.schedule) for tenant in self._tenants.values()]
        for name, schedule in (("", scheduler.PEOPLES), *sources):
            if schedule is not None and name not in self._scheduled:
                self._scheduled.add(name)
                store, clocks = self._shared.store, self._shared.clocks
                due = partial(scheduler.take_due, store, schedule, clocks.now, clocks.dates, self._may_admit)
                self._keep(Chore("schedule", scheduler.LOOK_S, due))

    def _may_admit(self, due: DueEvent) -> bool:
        """Return True if the account of a due event is configured, and schedules are, if it is one of them."""
        if not self._shared.channels.is_configured(due.address):
            return False
        tenant = self._tenants.get(due.tenant)
        config = None if tenant is None else tenant.settings.schedules
        return due.turn not in (SCHEDULED, HEARTBEAT) or (config is not None and config.enabled)

    def _keep(self, chore: Chore) -> None:
        run = partial(repeat, chore)
        self._tasks.keep(chore.name, run if chore.everywhere else self._process.alone(run, self._tasks))

    async def _sweep(self) -> None:
        retention = self._tenants[DEFAULT_TENANT].settings.retention
        await housekeeper.sweep(self._shared.store, retention, self._shared.clocks.now())

    async def _look_at_trust(self, trusted: Trust) -> None:
        """Read what other processes have changed, if an agent runs things that need trust."""
        if any(tenant.capabilities.needs_trust for tenant in self._tenants.values()):
            await trusted.load()

    async def _look_at_models(self) -> None:
        for tenant in [*self._tenants.values()]:
            await tenant.look_at_model()

    def _erase(self, connection: Connection, wanted: Erasure, now: datetime) -> Progress:
        """Erase one batch of a person's data, in the tables of every agent, too."""
        tables = [table for made in tables_of(self._tenants.values()).values() for table in made.metadata.sorted_tables]
        is_configured = self._shared.channels.is_configured
        return erase(connection, wanted, now, own_tables=tables, is_configured=is_configured)

    async def _delete_files(self, tenant: str, user_id: str) -> None:
        if tenant in self._tenants:
            await self._tenants[tenant].capabilities.forget(user_id)


def tables_of(tenants: Iterable[Tenant]) -> dict[str, AgentTables]:
    """Return the tables of each agent that has some, by the agent's name."""
    products = {tenant.product.name: tenant.product for tenant in tenants}
    return {name: product.tables for name, product in products.items() if product.tables is not None}


async def bring_up_tables(store: Store, tenants: Iterable[Tenant]) -> None:
    """Make or upgrade the tables of each agent."""
    for name, tables in tables_of(tenants).items():
        await store.commit(bring_up, agent=name, tables=tables)
