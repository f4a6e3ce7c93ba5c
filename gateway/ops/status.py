"""The status of the gateway for health checks, `tenk status` and alerts."""

import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from agent.hooks.chain import HookChain
from agent.models.health import READY
from agent.ports import ChatModel
from channels.base import ChannelState, CountsConnections
from channels.messages import DEFAULT_TENANT
from gateway.access.agents import AgentChoice
from gateway.errors import StoreUnavailable
from gateway.http.server import PartHealth
from gateway.operators.models import ClusterAccount, ClusterBacklog, ClusterMember, ClusterReport, Status
from gateway.ops.instrumentation import REFUSED, ModelWatch
from gateway.ownership import in_name, out_name
from gateway.sessions.budgets import Budgets, words_of
from gateway.shared import Shared
from gateway.store import inbox, outbox, tickets
from gateway.store.engine import Store
from gateway.store.leases import Backlog, ClusterLook, Member, MemberStanding
from gateway.store.reports import failed_letters
from gateway.store.tables.turns import SHARDS
from gateway.supervision import Faults
from gateway.telemetry import OUTBOX_FAILED, OUTBOX_WAITING, TURNS_RUNNING

NOT_ASKED = "not asked since the start"
ANSWERED = "answered"


def is_asked(state: str) -> bool:
    """Return True if a model in this state of `ModelHealth.states` neither fails nor cools down."""
    return state.startswith((NOT_ASKED, ANSWERED))


@dataclass(frozen=True, slots=True)
class ModelHealth:
    """The health of all models."""

    board: Callable[[], Mapping[str, str]] = dict  # model -> state, such as a cooldown
    watch: ModelWatch = field(default_factory=ModelWatch)  # the outcome of each model's last request

    def troubles(self) -> "list[Trouble]":
        """Return the models with a failure that does not end by itself, or with `FEW` failures in a row."""
        found = []
        for model, failing in self.watch.failing.items():
            is_refused = failing.kind in REFUSED
            text = "key" if is_refused else "model"
            if is_refused or failing.times >= FEW:
                found.append(Trouble("model", model, failing.words, is_refused, int(is_refused), text=text))
        return found

    def drifts(self) -> "list[Trouble]":
        """Return the models whose tokens we underestimated `FEW` times in a row."""
        return [
            Trouble("estimates", model, f"its provider counts {ratio:.1f} times the tokens that we estimate")
            for model, (times, ratio) in self.watch.drifting.items()
            if times >= FEW
        ]

    def states(self) -> Mapping[str, str]:
        """Return the state of each model: its cooldown, and how its last request ended."""
        rests = self.board()
        return {name: self._state(name, rests.get(name, READY)) for name in {**rests, **self.watch.failing}}

    def _state(self, model: str, rest: str) -> str:
        if failing := self.watch.failing.get(model):
            return str(failing) if rest == READY else f"{failing}; {rest}"
        if rest != READY:
            return rest
        at = self.watch.answered.get(model)
        return NOT_ASKED if at is None else f"{ANSWERED} at {at:%Y-%m-%d %H:%M:%S} UTC"


OF_TENANT = " @"
"""Separator before the tenant in a trouble's key; the default tenant's keys have none."""


def tenant_of(key: str) -> str:
    """Return the tenant in a trouble's key."""
    return key.rpartition(OF_TENANT)[2] if OF_TENANT in key else DEFAULT_TENANT


@dataclass(frozen=True, slots=True)
class Trouble:
    """A problem that needs an operator."""

    kind: str  # channel | hook | capability | trust | model | estimates | price | budget | letters | versions
    name: str  # the affected part: telegram:main, openai:gpt-5; "" if there is only one
    why: str  # the cause, as far as known
    at_once: bool = False  # True if it does not end by itself
    level: int = 0  # grows as the problem grows; 0: nothing counts it, and it may end by itself
    counts: Mapping[str, int] = field(default_factory=dict)  # letters by state
    tenant: str = DEFAULT_TENANT  # the tenant whose owners are told
    text: str = ""  # the text that tells owners; "": that of the kind

    @property
    def key(self) -> str:
        """Return the unique key; `tenant_of` finds the tenant in it."""
        own = "" if self.tenant == DEFAULT_TENANT else f"{OF_TENANT}{self.tenant}"
        return f"{self.kind} {self.name}".strip() + own

    @property
    def words(self) -> str:
        """Return the description for an operator."""
        counted = ", ".join(f"{count} {what}" for what, count in self.counts.items() if count)
        return f"{counted}; the newest: {self.why}; see `tenk outbox list`" if counted else self.why


FEW = 3
"""Failures of a model in a row before an operator is told; things named in one report."""

MAX_KEY_CHARS = 100
"""Longest name of an untrusted thing in a report: the end of a path."""


class Cluster(Protocol):
    """The cluster of processes, seen from this one."""

    @property
    def does_chores(self) -> bool:
        """Return True if this process runs the chores for the whole cluster."""
        ...

    async def status(self) -> ClusterReport | None:
        """Return the cluster's part of `tenk status`, or None if there is only this process."""
        ...

    async def troubles(self) -> Mapping[str, str]:
        """Return the problems among the processes by kind; "" means none."""
        ...


class ReportsCapabilities(Protocol):
    """The capabilities of a tenant's agent, as the status reads them."""

    def states(self) -> Mapping[str, str]:
        """Return the state of each part that has one."""
        ...

    def troubles(self) -> Mapping[str, str]:
        """Return, for each part, the reason why it does not work now; "" if it works."""
        ...

    def list_untrusted(self) -> Sequence[str] | None:
        """Return what waits until an operator trusts it; None if that is not known yet."""
        ...


class ShowsStatus(Protocol):
    """A tenant, as the status reads it."""

    @property
    def model(self) -> ChatModel: ...

    @property
    def model_names(self) -> frozenset[str]: ...

    @property
    def lost_prices(self) -> Mapping[str, str]: ...

    @property
    def budgets(self) -> Budgets: ...

    @property
    def agents(self) -> AgentChoice: ...

    @property
    def hooks(self) -> HookChain: ...

    @property
    def capabilities(self) -> ReportsCapabilities: ...

    @property
    def floods(self) -> Mapping[str, int]:
        """Return the accounts with a flood of strangers, with their messages in the last minute."""
        ...


class GatewayStatus:
    """The status of a running gateway or of one of its tenants."""

    def __init__(
        self,
        shared: Shared,
        tenants: Mapping[str, ShowsStatus],
        cluster: Cluster | None,
        models: ModelHealth,
        faults: Faults,
        started_at: datetime,
        tenant: str | None = None,
    ) -> None:
        """Keep the parts; `cluster` is None for a single process, `tenant` is None for the whole gateway."""
        self._shared = shared
        self._tenants = tenants
        self._cluster = cluster
        self._store = shared.store if tenant is None else shared.store.of(tenant)
        self._faults = faults
        self._manager = shared.channels
        self._router = shared.sessions
        self._snapshot = shared.people
        self._model = models
        self._started_at = started_at
        self._tenant = tenant

    def of(self, tenant: str | None) -> "GatewayStatus":
        """Return one tenant's status: its accounts, rows and caps, without faults and the health of models.

        The default tenant gets the status of the whole gateway.
        """
        if tenant in (None, DEFAULT_TENANT):
            return self
        return GatewayStatus(self._shared, self._tenants, None, ModelHealth(), Faults(), self._started_at, tenant)

    def _list_all(self) -> Mapping[str, ShowsStatus]:
        """Return every tenant, if this is the whole gateway's status."""
        return self._tenants if self._tenant is None else {}

    def _own_models(self) -> dict[str, frozenset[str]]:
        """Return, for each tenant but the default one, the models that the default tenant does not use."""
        every = self._list_all()
        return {
            name: tenant.model_names - every[DEFAULT_TENANT].model_names
            for name, tenant in every.items()
            if name != DEFAULT_TENANT
        }

    def health(self) -> Mapping[str, PartHealth]:
        """Return the health of the store, of each channel account, and of failing models and hooks, by name."""
        state = ChannelState.READY if self._store.healthy else ChannelState.FAILED
        detail = "" if self._store.healthy else "commits fail: check the disk or the database server"
        channels = {name: PartHealth(*how) for name, how in self._manager.states(self._store.tenant).items()}
        return {"store": PartHealth(state, detail), **channels, **self._broken_parts()}

    def _broken_parts(self) -> Mapping[str, PartHealth]:
        """Return failing models and hooks, and tasks that pause after an unexpected error."""
        fail = [f"{trouble.name} {self._model.watch.failing[trouble.name]}" for trouble in self._model.troubles()]
        models = {"model": PartHealth(ChannelState.DEGRADED, "; ".join(fail))} if fail else {}
        hung = [f"{hook.name}: {hook.why}" for hook in self._hooks() if hook.why]
        hooks = {"hooks": PartHealth(ChannelState.DEGRADED, "; ".join(hung))} if hung else {}
        broken = [f"{part.name}: {part.why}" for part in self._capabilities() if part.why]
        capabilities = {"capabilities": PartHealth(ChannelState.DEGRADED, "; ".join(broken))} if broken else {}
        return {**models, **hooks, **capabilities, **self._resting_parts()}

    def _resting_parts(self) -> Mapping[str, PartHealth]:
        resting = self._faults.resting()
        if not resting:
            return {}
        name, why = list(resting.items())[-1]
        detail = f"{len(resting)} rest after an unexpected error, the last one {name}: {why}; the log has more"
        return {"faults": PartHealth(ChannelState.DEGRADED, detail)}

    async def measure(self) -> None:
        """Set the gauges of running turns and waiting parts; NaN if the store does not answer."""
        TURNS_RUNNING.set(self._router.running)
        try:
            OUTBOX_WAITING.set(await self._store.read(outbox.open_count))
            depths = await self._store.read(outbox.depths)
        except StoreUnavailable:
            OUTBOX_WAITING.set(math.nan)
            depths = None
        for state in outbox.FAILED:
            OUTBOX_FAILED.labels(state).set(math.nan if depths is None else depths.get(state, 0))

    async def troubles(self) -> dict[str, Trouble | None]:
        """Return problems by key. None means checked and healthy; a missing key means not checked."""
        others = self._own_models()
        found = self._channel_troubles(others)
        if self._cluster is not None and not self._cluster.does_chores:
            return found  # the process that runs the chores reports the rest
        if self._cluster is not None:
            among = await self._cluster.troubles()
            found |= {kind: Trouble(kind, "", why) if why else None for kind, why in among.items()}
        whose = {model: tenant for tenant, models in others.items() for model in models}
        for model in self._model.watch.answered:
            tenant = whose.get(model, DEFAULT_TENANT)
            found |= {Trouble(kind, model, "", tenant=tenant).key: None for kind in ("model", "estimates", "price")}
        of_models = (*self._model.troubles(), *self._model.drifts(), *self._price_troubles())
        wrong = [replace(each, tenant=whose.get(each.name, DEFAULT_TENANT)) for each in of_models]
        found |= {trouble.key: trouble for trouble in wrong}
        found |= {trouble.key: trouble if trouble.why else None for trouble in self._hooks()}
        found |= {trouble.key: trouble if trouble.why else None for trouble in self._capabilities()}
        found |= {trouble.key: trouble if trouble.why else None for trouble in self._trust()}
        found |= await self._budgets(others)
        for tenant in (DEFAULT_TENANT, *others):
            found |= await self._letters(tenant, self._store.of(tenant) if others else self._store)
        return found

    def _price_troubles(self) -> list[Trouble]:
        lost = {model: why for tenant in self._list_all().values() for model, why in tenant.lost_prices.items()}
        return [Trouble("price", model, why, at_once=True) for model, why in lost.items()]

    def _hooks(self) -> list[Trouble]:
        return [
            Trouble("hook", name, why, at_once=True, tenant=tenant)
            for tenant, each in self._list_all().items()
            for name, why in each.hooks.states().items()
        ]

    def _capabilities(self) -> list[Trouble]:
        return [
            Trouble("capability", name, why, tenant=tenant)
            for tenant, each in self._list_all().items()
            for name, why in each.capabilities.troubles().items()
        ]

    def _trust(self) -> list[Trouble]:
        """Return one trouble for each tenant that is known; its level is the number of untrusted things."""
        found = []
        for tenant, each in self._list_all().items():
            waiting = each.capabilities.list_untrusted()
            if waiting is None:
                continue
            more = f" and {len(waiting) - FEW} more" if len(waiting) > FEW else ""
            why = ", ".join(key[-MAX_KEY_CHARS:] for key in waiting[:FEW]) + more
            found.append(Trouble("trust", "", why, level=len(waiting), tenant=tenant))
        return found

    def _channel_troubles(self, tenants: Collection[str]) -> dict[str, Trouble | None]:
        whose = {name: tenant for tenant in tenants for name in self._manager.reports(tenant)}
        found: dict[str, Trouble | None] = {}
        for name, (state, detail) in self._manager.reports(self._store.tenant).items():
            at_once, tenant = state is ChannelState.FAILED, whose.get(name, DEFAULT_TENANT)
            down = Trouble("channel", name, detail or state.value, at_once=at_once, tenant=tenant)
            if state is not ChannelState.STARTING:
                found[down.key] = None if state is ChannelState.READY else down
        return found

    async def _budgets(self, others: Collection[str]) -> dict[str, Trouble | None]:
        """Return the caps that many people share: those that have refused a call today, and all others as healthy."""
        whose = {name: tenant for tenant in others for name in self._manager.reports(tenant)}
        accounts = {name: whose.get(name, DEFAULT_TENANT) for name in self._manager.reports(self._store.tenant)}
        shared = [("day", DEFAULT_TENANT), *(("tenant", name) for name in self._tenants), *accounts.items()]
        looked = (Trouble("budget", name, "", tenant=tenant) for name, tenant in shared if self._tenant is None)
        found: dict[str, Trouble | None] = {trouble.key: None for trouble in looked}
        for use in await self._tenants[self._tenant or DEFAULT_TENANT].budgets.used_up(self._tenant):
            cap = use.cap
            setting = f"budgets.{cap.scope}_{'tokens' if cap.most_microusd is None else 'usd'}"
            ends = f"no model is asked until {cap.resets_at:%H:%M} UTC; `tenk config set {setting}` changes the cap"
            tenant, name = cap.tenant or DEFAULT_TENANT, cap.key or cap.scope
            trouble = Trouble("budget", name, f"{words_of(use)}, {ends}", at_once=True, tenant=tenant)
            found[trouble.key] = trouble
        return found

    async def _letters(self, tenant: str, store: Store) -> dict[str, Trouble | None]:
        failed = await store.read(failed_letters)
        counts = {"dead": failed.dead, "unknown": failed.unknown}
        letters = Trouble(
            "letters", "", failed.newest_error, at_once=True, level=failed.newest_id, counts=counts, tenant=tenant
        )
        return {letters.key: letters if any(counts.values()) else None}

    async def status(self, now: datetime) -> Status:
        """Return what `tenk status` shows."""
        own = self._tenants[self._tenant or DEFAULT_TENANT]
        known = self._store.tenant
        pause = self._router.turn_limit.pauses.of(self._tenant or DEFAULT_TENANT)
        return Status(
            paused=None if pause is None else pause.words,
            needs_you={key: each.words for key, each in (await self.troubles()).items() if each} or None,
            process=os.getpid(),
            up_s=int((now - self._started_at) / timedelta(seconds=1)),
            model=own.model.name,
            models=self._model.states(),
            budgets=await own.budgets.standing(self._tenant) or None,
            parts={
                name: part.state.value + (f" ({part.detail})" if part.detail else "")
                for name, part in self.health().items()
            },
            connections=self._connections() or None,
            capabilities={**_list_agents(own.agents), **own.capabilities.states()} or None,
            turns_running=self._router.running_of(known),
            inbox_open=await self._store.read(inbox.open_count),
            outbox=await self._store.read(outbox.depths),
            people=len(self._snapshot.everybody(known)),
            pairing_requests=await self._store.read(tickets.pending_counts),
            floods_of_strangers={
                account: f"{messages} messages in the last minute; see `tenk pairing list`"
                for tenant in self._list_all().values()
                for account, messages in tenant.floods.items()
            },
            resting=dict(self._faults.resting()) or None,
            cluster=None if self._cluster is None else await self._cluster.status(),
        )

    def _connections(self) -> dict[str, str]:
        """Return the open connections of accounts that count them."""
        found: dict[str, str] = {}
        known = self._manager.states(self._store.tenant)
        for channel in self._manager.now_serving():
            name = f"{channel.name}:{channel.account}"
            open_ = channel.count_connections() if isinstance(channel, CountsConnections) and name in known else None
            if open_ is not None:
                found[name] = f"{open_.open} of {open_.wanted} {open_.kind}"
        return found


def _list_agents(agents: AgentChoice) -> dict[str, str]:
    """Return the names of all agents as the state of a part, if there are several."""
    return {} if agents.is_single else {"agents": f"ready: {', '.join(agent.name for agent in agents.offered)}"}


def cluster_report(look: ClusterLook, me: Member) -> ClusterReport:
    """Describe the processes on one database: their shards, leases and backlogs."""
    members: dict[str, ClusterMember] = {}
    for each in look.members:
        state, id_ = "leaves" if each.leaving else "lives" if each.lives else "is gone", each.member.id
        own = [shard for shard, owner in look.shards.items() if owner == id_]
        behind = _behind(sum((look.waiting.get(shard, Backlog()) for shard in own), Backlog()))
        members[f"{each.member.host}/{id_}"] = ClusterMember(
            state=state + (" (this one)" if id_ == me.id else ""),
            version=each.member.version,
            since=each.joined_at.isoformat(timespec="seconds"),
            shards=len(own),
            waiting=behind.waiting,
            behind_s=behind.behind_s,
            leases=tuple(name for name, owner in look.names.items() if owner == id_),
            fenced_writes=each.fenced,
        )
    ownerless = [backlog for shard, backlog in look.waiting.items() if shard not in look.shards]
    behind = _behind(sum(look.waiting.values(), Backlog()))
    return ClusterReport(
        versions_differ=differing_versions(look.members, me) or None,
        members=members,
        accounts=_accounts(look),
        shards_without_owner=SHARDS - len(look.shards),
        without_owner=_behind(sum(ownerless, Backlog())) if ownerless else None,
        waiting=behind.waiting,
        behind_s=behind.behind_s,
        waiting_by_age=look.ages,
    )


def _behind(backlog: Backlog) -> ClusterBacklog:
    return ClusterBacklog(waiting=backlog.rows, behind_s=round(backlog.behind_s, 1))


def _accounts(look: ClusterLook) -> dict[str, ClusterAccount]:
    """Return, for each account, the processes that read and send for it, and its unsent rows."""
    hosts = {each.member.id: f"{each.member.host}/{each.member.id}" for each in look.members}
    owners = {name: hosts.get(owner, owner) for name, owner in look.names.items()}
    named = {name.partition(" ")[2] for name in owners if " " in name}
    accounts: dict[str, ClusterAccount] = {}
    for account in sorted(named | {f"{channel}:{name}" for channel, name in look.unsent}):
        channel, _, name = account.partition(":")
        unsent = look.unsent.get((channel, name), Backlog())
        accounts[account] = ClusterAccount(
            read_by=owners.get(in_name(account), "nobody, or each by webhook"),
            sent_by=owners.get(out_name(account), "nobody"),
            unsent=unsent.rows,
            behind_s=round(unsent.behind_s, 1),
        )
    return accounts


def differing_versions(members: Sequence[MemberStanding], me: Member) -> str:
    """Describe the living processes with another version or schema; "" if there are none."""
    others = {f"{each.member.host}/{each.member.id}": each.member.version for each in members if each.lives}
    differing = [f"{name} runs {version}" for name, version in sorted(others.items()) if version != me.version]
    return "" if not differing else f"{', '.join(differing)}; {me.host}/{me.id} runs {me.version}"
