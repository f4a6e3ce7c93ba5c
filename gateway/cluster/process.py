"""This process's role: alone on its store, or one of several on one PostgreSQL.

It resumes work in gained shards and drops work in lost ones.
"""

import asyncio
import hmac
import os
import socket
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path

import structlog

from channels.base import OWN_VIEWS
from gateway.cluster.membership import ClusterMembership
from gateway.cluster.wakeups import Wakeups
from gateway.config.settings import Settings
from gateway.errors import StoreUnavailable
from gateway.inbound.bus import SharedBus
from gateway.operators.models import ClusterReport
from gateway.ops.operators import load_people
from gateway.ops.status import cluster_report, differing_versions
from gateway.ops.unannounced import Unannounced
from gateway.ownership import CHORES, IN, OUT, POLL_S, Ownership, out_name
from gateway.shared import Secrets, Shared
from gateway.store import journal, leases, people
from gateway.store.engine import Store, link_to
from gateway.store.leases import Member
from gateway.store.postgres import PostgresLink
from gateway.store.revisions import HEAD
from gateway.supervision import Chore, Run, Supervised, repeat, run_until

log = structlog.get_logger()

DRAIN_LOOK_S = 0.05

NODE = "node"
"""File in the home with its name in the cluster, by which a restarted process gets its leases back."""

PEOPLE = ("users", "identities", "grants")
RULES = ("groups", "moved_chats", "forgotten_senders")
"""Tables whose changes the store announces (`gateway.store.schema.TOLD`): by person, or as a whole."""


class LoneProcess:
    """Process alone on its store, which owns everything."""

    def __init__(self, store: Store, ownership: Ownership, epoch: int) -> None:
        self._store = store
        self._epoch = epoch
        self.ownership = ownership

    async def join(self, shared: Shared, tasks: Supervised) -> bool:
        """Join the cluster; return True if there is no other process."""
        return True

    async def resume(self, shared: Shared, news: asyncio.Event, tasks: Supervised) -> None:
        """Resume unfinished work. `news` is set if the use of caps may have changed."""
        await shared.sessions.recover()

        async def reload() -> None:
            await load_people(shared.people, shared.store, shared.secrets.keys.forgotten)
            shared.sessions.forget_all()

        look = Unannounced(shared.store, shared.bus, shared.delivery, shared.sessions.parking, reload).look
        tasks.keep("looks", partial(repeat, Chore("looks", POLL_S, look)))

    def alone(self, run: Run, tasks: Supervised) -> Run:
        """Return the chore so that only one process runs it at a time."""
        return run

    @property
    def does_chores(self) -> bool:
        """Return True if this process runs the shared chores."""
        return self.ownership.lease(CHORES) is not None

    async def status(self) -> ClusterReport | None:
        """Return the cluster, as `tenk status` shows it; None if the process is alone."""
        return None

    async def troubles(self) -> Mapping[str, str]:
        """Return problems between processes, by kind; "" if there is none."""
        return {}

    async def begin_leaving(self) -> None:
        """Reset attempt counts: work left open from now on did not crash the process."""
        await self._store.try_commit(journal.let_go, epoch=self._epoch)

    async def leave(self) -> None:
        """Release everything."""


async def open_process(settings: Settings, store: Store, secrets: Secrets) -> LoneProcess:
    """Return this process: alone on SQLite, one of several on PostgreSQL, where all have the same keys."""
    host = socket.gethostname()
    if store.dialect == "sqlite":
        epoch = await store.commit(journal.take_all_shards, owner=f"{host}:{os.getpid()}")
        return LoneProcess(store, Ownership(epoch), epoch)
    mark = hmac.digest(secrets.key, b"tenk cluster v1", "sha256").hex()[:16]
    key_mark = f"{mark} {secrets.vault.mark}"
    me = Member(member_id(settings.home), host[:128], f"{version('tenk-gateway')}, schema {HEAD}", key_mark)
    return ClusterProcess(settings, store, me, Wakeups(me.id))


def member_id(home: Path) -> str:
    """Return this process's id: node name of the home, pid and a random part, because pids in containers are all 1."""
    path = home / NODE
    if not path.exists():
        path.write_text(uuid.uuid4().hex[:16])
    return f"{path.read_text().strip()[:32]}:{os.getpid()}.{uuid.uuid4().hex[:8]}"


class ClusterProcess(LoneProcess):
    """One of several processes."""

    def __init__(self, settings: Settings, store: Store, me: Member, wakeups: Wakeups) -> None:
        self._wakeups = wakeups
        self._look = asyncio.Event()  # there may be news in the store
        self._changed: set[str] = set()  # ids of changed people
        self._reload = False  # reload all people and rules
        self._connected = False
        self._link: PostgresLink = link_to(settings.database_url, self._wakeups.hear, self._on_connected)
        self._me = me
        self._adopting = asyncio.Lock()
        self._working: tuple[Shared, Supervised] | None = None  # None: not resumed yet
        self._membership = ClusterMembership(me, self._link, self._wakeups, self)
        super().__init__(store, self._membership.ownership, 0)

    async def join(self, shared: Shared, tasks: Supervised) -> bool:
        others = await self._membership.begin(shared.channels.list_accounts, shared.clocks.now())
        tasks.keep("leases", self._membership.run)
        tasks.keep("wake-ups", partial(self._wakeups.run, self._send))
        return not others

    async def _send(self, words: str) -> None:
        """Notify the other processes through PostgreSQL."""
        await self._link.notify(words, POLL_S)

    async def resume(self, shared: Shared, news: asyncio.Event, tasks: Supervised) -> None:
        """Resume work in the owned shards; later ones follow in `gain_shards`."""
        bus = _shared_bus(shared)
        for topic in PEOPLE:
            self._wakeups.on(topic, self._note_person)
        for topic in RULES:
            self._wakeups.on(topic, lambda _name: self._note_all())
        self._wakeups.on(OUT, self._note_out)
        self._wakeups.on(IN, bus.wake)
        self._working = shared, tasks
        await self._adopt(shared, dict(self._membership.ownership.shards))
        tasks.keep("looks", partial(self._keep_looking, shared, news))

    def gain_shards(self, shards: Mapping[int, int]) -> None:
        if self._working is not None:  # otherwise `resume` starts with them
            shared, tasks = self._working
            tasks.keep("shards", partial(self._adopt, shared, shards))

    def lose_shards(self, shards: Collection[int]) -> None:
        if self._working is not None:
            shared, _ = self._working
            _shared_bus(shared).drop(shards)
            shared.sessions.drop(shards)

    def note_leases(self) -> None:
        self._look.set()

    def list_idle(self) -> Collection[int]:
        if self._working is None:
            return ()
        shared, _ = self._working
        idle = shared.sessions.idle_shards(self._membership.ownership.shards)
        return [shard for shard in idle if not _shared_bus(shared).holds(shard)]

    def part_with(self, shards: Collection[int]) -> None:
        if self._working is not None:
            shared, _ = self._working
            _shared_bus(shared).part_with(shards)

    def is_sending(self, account: str) -> bool:
        return self._working is not None and self._working[0].delivery.is_sending(account)

    async def _adopt(self, shared: Shared, shards: Mapping[int, int]) -> None:
        async with self._adopting:
            with suppress(StoreUnavailable):  # the next look retries; the bus looks up unknown people
                await self._learn(shared)
            await shared.delivery.recover()  # rows of the last owner are sent first
            await shared.sessions.adopt(shards)
            owned = self._membership.ownership.shards
            _shared_bus(shared).adopt([shard for shard, epoch in shards.items() if owned.get(shard) == epoch])

    async def _keep_looking(self, shared: Shared, news: asyncio.Event) -> None:
        """Read other processes' changes from the store, when woken and every `POLL_S`."""
        while True:
            try:
                await self._look_once(shared)
            except StoreUnavailable as error:
                log.info("look_failed", error=str(error))
            try:
                async with asyncio.timeout(POLL_S):
                    await self._look.wait()
            except TimeoutError:
                news.set()
            self._look.clear()

    async def _look_once(self, shared: Shared) -> None:
        await self._learn(shared)
        await shared.delivery.recover()
        await shared.delivery.views.look()
        await shared.sessions.parking.look()

    async def _learn(self, shared: Shared) -> None:
        """Reload the people that other processes changed, or everything."""
        reload, self._reload = self._reload, False
        changed, self._changed = self._changed, set()
        try:
            if reload:
                await load_people(shared.people, self._store, shared.secrets.keys.forgotten)
                shared.sessions.forget_all()
            for user_id in changed:
                query = partial(people.person_of, user_id=user_id)
                person, before = await self._store.read(query), shared.people.person(user_id)
                shared.people.drop(user_id) if person is None else shared.people.put(person)
                if {*(before.aliases if before else ())} != {*(person.aliases if person else ())}:
                    shared.sessions.forget_all()  # sessions have another owner
        except StoreUnavailable:
            self._reload, self._changed = self._reload or reload, self._changed | changed
            raise

    def alone(self, run: Run, tasks: Supervised) -> Run:
        async def keep() -> None:
            while True:
                lease = await self.ownership.until_held(CHORES)
                await run_until(run, partial(self.ownership.until_lost, lease), tasks)

        return keep

    async def status(self) -> ClusterReport:
        return cluster_report(await self._store.read(leases.look_at_all), self._me)

    async def troubles(self) -> Mapping[str, str]:
        return {"versions": differing_versions(await self._store.read(leases.standing), self._me)}

    async def begin_leaving(self) -> None:
        await self._membership.begin_leaving()

    async def leave(self) -> None:
        await self._membership.leave()
        await self._link.aclose()

    def _on_connected(self) -> None:
        """Reload everything after a reconnect: notifications were lost meanwhile."""
        if self._connected:
            self._note_all()
        self._connected = True

    def _note_out(self, name: str) -> None:
        """Look for messages to show, or to send if this process sends for the account of this name."""
        if name in OWN_VIEWS or out_name(name) in self._membership.ownership.names:
            self._look.set()

    def _note_person(self, user_id: str) -> None:
        self._changed.add(user_id)
        self._look.set()

    def _note_all(self) -> None:
        self._reload = True
        self._look.set()


def _shared_bus(shared: Shared) -> SharedBus:
    assert isinstance(shared.bus, SharedBus), "a shared ownership has a shared bus"
    return shared.bus


async def wait_until_idle(
    works_before: Callable[[datetime], bool],
    clock: Callable[[], datetime],
    limit: timedelta,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Wait until nothing can move any more within the limit, which counts from now."""
    deadline = clock() + limit
    while clock() < deadline and works_before(deadline):
        await pause(DRAIN_LOOK_S)
