"""Each row from the bus goes to its session's mailbox or to the commands, an edit to what it is about.

It starts no turn and runs no command itself. Sessions are made when they are first needed and let go when idle.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

import structlog

from agent.transcript import EndReason
from channels.clocks import Clocks
from channels.messages import InboundMessage, MessageDeleted
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.errors import GatewayError
from gateway.failpoints import failpoint
from gateway.inbound.bus import Bus
from gateway.ownership import Ownership
from gateway.sessions.command_runner import CommandRunner
from gateway.sessions.deps import SessionDeps
from gateway.sessions.inbox_rules import CHAT, is_missed, starts_by_itself, to_typed
from gateway.sessions.parking import Parking
from gateway.sessions.session import Session
from gateway.sessions.turn_limit import TurnLimit
from gateway.store import earlier, inbox, journal
from gateway.store.engine import Store
from gateway.store.handover import SessionStopped, TurnsReleased
from gateway.store.inbox import InboxRow, Outcome
from gateway.store.journal import OpenTurn
from gateway.supervision import Supervised
from gateway.telemetry import FAULTS, series

log = structlog.get_logger()

SWEEP_EVERY_S = 15.0
LEAVING_LOOK_S = 1.0

TRIES = 2
"""Times a row is routed: what was in its way may be gone the second time."""


class AnsweringTenant(Protocol):
    """A tenant whose people are answered."""

    @property
    def sessions(self) -> SessionDeps: ...

    @property
    def commands(self) -> CommandRunner: ...


class Router:
    """From the bus to sessions, or to the commands."""

    def __init__(
        self,
        bus: Bus,
        store: Store,
        channels: ChannelDirectory,
        ownership: Ownership,
        tenants: Mapping[str, AnsweringTenant],
        turn_limit: TurnLimit,
        clocks: Clocks,
        tasks: Supervised,
    ) -> None:
        """`tenants` changes with a reload: a row of a tenant that is not among them waits until it is.

        `store` is the whole one, `tasks` the parent of every session's work.
        """
        self._bus = bus
        self._store = store
        self._channels = channels
        self._tenants = tenants
        self._leaving: list[AnsweringTenant] = []  # removed by a reload, still at work
        self.tasks = tasks
        self._clocks = clocks
        self._sessions: dict[tuple[str, str], Session] = {}
        self._used_at: dict[tuple[str, str], datetime] = {}
        self._sweeps = False
        self.ownership = ownership
        self.turn_limit = turn_limit
        self.parking = Parking(store, clocks.now, self.take_up)
        store.listen(InboxRow, bus.publish)
        store.listen(TurnsReleased, lambda news: self.parking.release(news.turn_ids))
        store.listen(SessionStopped, self._stop)

    def _stop(self, news: SessionStopped) -> None:
        if (held := self._sessions.get((news.tenant, news.key))) is not None:
            held.cancel(EndReason.STOPPED, news.before_id, None)

    async def let_go(self, tenant: AnsweringTenant) -> None:
        """Wait until nothing of a removed tenant runs, then forget its sessions."""
        self._leaving.append(tenant)
        while tenant.commands.queues or any(held.busy or held.running for _, held in self._sessions_of(tenant)):
            await asyncio.sleep(LEAVING_LOOK_S)
        self._leaving.remove(tenant)
        for where, _ in list(self._sessions_of(tenant)):
            del self._sessions[where], self._used_at[where]

    def _sessions_of(self, tenant: AnsweringTenant) -> Iterator[tuple[tuple[str, str], Session]]:
        return ((where, held) for where, held in self._sessions.items() if held.is_of(tenant.sessions))

    def _runners(self) -> list[CommandRunner]:
        return [tenant.commands for tenant in (*self._tenants.values(), *self._leaving)]

    async def run(self) -> None:
        """Route until cancelled."""
        if not self._sweeps:
            self._sweeps = True
            self.tasks.create_task(self._sweep()).set_name("sweep")
        while True:
            row = await self._bus.consume()
            for _ in range(TRIES):
                try:
                    await self.route(row)
                    break
                except GatewayError:
                    raise
                except Exception:  # noqa: BLE001  one row: recorded here, and those behind it are routed
                    log.exception("row_not_routed", inbox_id=row.id, session=row.session_key)
                    series(FAULTS, "row").inc()
            else:
                self.tasks.create_task(self._give_up(row)).set_name(f"give up {row.id}")

    async def recover(self) -> None:
        """Take up the turns that were running when the process ended; before anything is routed."""
        failpoint("recovery_begun")
        await self.adopt(None)

    async def adopt(self, shards: Mapping[int, int] | None) -> None:
        """Take up what was left open in these shards, this process's by their epochs; None: it has them all."""
        await self.turn_limit.look_back()
        found = await self._store.read(journal.open_turns, lasting=True)
        open_turns = [each for each in found if self._is_ours(each.session_key, shards)]
        await self.parking.recover(waiting for waiting in open_turns if waiting.parked)
        for open_turn in open_turns:
            if not open_turn.parked:
                self.take_up(open_turn)

    def _is_ours(self, key: str, shards: Mapping[int, int] | None) -> bool:
        """Also now, behind a read."""
        fence = self.ownership.fence_of(key)
        return shards is None or shards.get(fence.shard) == fence.epoch

    def drop(self, shards: Collection[int]) -> None:
        """Know nothing more of these shards: another process has them. What runs of them is refused at its next write.

        A command that is under way there is refused as well.
        """
        for where, held in list(self._sessions.items()):
            if held.fence.shard in shards:
                held.abandon()
                del self._sessions[where], self._used_at[where]
        for runner in self._runners():
            for queue in [queue for queue in runner.queues if journal.shard_of(queue[1]) in shards]:
                runner.queues.pop(queue).head.take(lambda _queued: True)
        self.parking.forget(shards)

    def idle_shards(self, owned: Collection[int]) -> list[int]:
        """Those of these shards in which nothing runs or waits in memory."""
        busy = {held.fence.shard for held in self._sessions.values() if held.busy or held.running}
        busy |= {journal.shard_of(queue[1]) for runner in self._runners() for queue in runner.queues}
        return [shard for shard in owned if shard not in busy]

    def take_up(self, open_turn: OpenTurn) -> None:
        """Go on with a turn that a process, or its person's silence, left open."""
        if not (self._channels.is_configured(open_turn.turn.address) and open_turn.turn.tenant in self._tenants):
            return  # its account, or its tenant, was taken out of the configuration: it waits until that is back
        session = self.session(open_turn.turn.tenant, open_turn.session_key)
        log.info("turn_taken_up", turn_id=open_turn.turn.id, session=open_turn.session_key)
        session.resume(open_turn)

    def session(self, tenant: str, key: str) -> Session:
        """Return the session of a key."""
        return self._session(tenant, key, self._clocks.now())

    def _session(self, tenant: str, key: str, now: datetime) -> Session:
        where = (tenant, key)
        self._used_at[where] = now
        held = self._sessions.get(where)
        if held is not None and self.ownership.is_shared and held.fence != self.ownership.fence_of(key):
            held.abandon()  # it is of a time before this one
            held = None
        if held is None:
            held = self._sessions[where] = Session(self._tenants[tenant].sessions, tenant, key, self.tasks)
        return held

    def forget(self, tenant: str, keys: Collection[str]) -> None:
        """Let these sessions remember nothing that the store does not."""
        for where, held in self._sessions.items():
            if where[0] == tenant and where[1] in keys:
                held.conversation.forget()

    def forget_all(self) -> None:
        """Forget every session's history: another process may have changed it."""
        for held in self._sessions.values():
            held.conversation.forget()

    def waiting(self, tenant: str, key: str) -> int:
        """Return how many messages of a session wait."""
        held = self._sessions.get((tenant, key))
        return 0 if held is None else len(held.mailbox)

    @property
    def busy(self) -> bool:
        """Return True if any turn or command runs."""
        return self.running > 0 or any(commands.busy for commands in self._runners())

    def close(self) -> None:
        """Begin no further turn; what runs goes on."""
        for session in self._sessions.values():
            session.close()

    @property
    def running(self) -> int:
        """Turns in flight."""
        return self.running_of(None)

    def running_of(self, tenant: str | None) -> int:
        """Those of one tenant; None: all."""
        return sum(held.running for where, held in self._sessions.items() if tenant in (None, where[0]))

    async def _give_up(self, row: InboxRow) -> None:
        """End a row that cannot be routed, and tell its sender."""
        if isinstance(row.event, MessageDeleted):
            await self._settle(row.tenant, row.id, Outcome.FAILED, "it could not be routed; the log has more")
        else:
            await self.session(row.tenant, row.session_key).give_up([row])

    async def route(self, row: InboxRow) -> None:
        """Give one row to where it belongs."""
        failpoint("routed")
        if row.tenant not in self._tenants:
            log.warning("row_of_no_tenant", inbox_id=row.id, tenant=row.tenant)
            return
        event = row.event
        tenant, now = self._tenants[row.tenant], self._clocks.now()
        deps, commands = tenant.sessions, tenant.commands
        session = self._session(row.tenant, row.session_key, now)
        if isinstance(event, MessageDeleted):
            await self._take_back(row)
        elif is_missed(now - row.admitted_at, deps.config) and not starts_by_itself(event):
            commands.offer(session, row)
        elif isinstance(event, InboundMessage) and event.edited:
            await self._apply_edit(session, row)
        elif deps.kinds.kind_of(row) is not None:
            session.offer(row)
        else:
            commands.offer(session, row)

    async def _apply_edit(self, session: Session, row: InboxRow) -> None:
        """Apply an edit: replace a waiting message, steer a running turn, otherwise keep it as context."""
        original = await self._original(row)
        if original is None:
            session.offer(row)
        elif original.outcome is None and original.turn_id is None:
            await self._replace(session, row, original.id)
        elif original.done_at is None or row.admitted_at < original.done_at or await self._is_changed(row):
            session.offer(row)  # too late to join, not to be answered
        else:
            await self._settle(row.tenant, row.id, Outcome.CONTEXT, "edited after it was answered")

    async def _is_changed(self, row: InboxRow) -> bool:
        return await self._store.of(row.tenant).read(partial(earlier.is_changed, row=row), lasting=True)

    async def _replace(self, session: Session, edit: InboxRow, original_id: int) -> None:
        """Let what waits read as its sender wants it now; what it is, a message or a command, is decided anew."""
        as_typed = replace(edit, id=original_id, event=to_typed(edit.event))
        tenant = self._tenants[edit.tenant]
        deps, commands = tenant.sessions, tenant.commands
        kind, was_command = deps.kinds.kind_of(as_typed), commands.take_out(session, original_id)
        moves = was_command or (kind is None and session.mailbox.take_out(original_id))
        if moves or kind not in {None, CHAT}:
            edit = replace(edit, event=as_typed.event)
        if not moves:
            session.change(original_id, edit)  # before its commit: a claim queued after this has the new text
        now = self._clocks.now()
        if not await deps.store.commit(earlier.replace, original_id=original_id, edit=edit, now=now):
            session.offer(edit)
        elif moves and kind is None:
            commands.offer(session, as_typed, again=True)
        elif moves:
            session.put_back(as_typed)

    async def _take_back(self, row: InboxRow) -> None:
        """Drop a deleted message; cancel the turn that answers it."""
        tenant = self._tenants[row.tenant]
        commands, has_changed = tenant.commands, tenant.sessions.in_force.agent.toolbox.may_have_changed
        now = self._clocks.now()
        job = partial(earlier.take_back, row=row, now=now, has_changed=has_changed)
        taken = await self._store.of(row.tenant).commit(job)
        for key, id_ in taken.waiting:
            session = self.session(row.tenant, key)
            commands.take_out(session, id_)
            session.drop_cleared([id_])
        for key, first_id in taken.stopped:
            self.session(row.tenant, key).cancel(EndReason.STOPPED, first_id + 1, row.user_id)
        self.parking.release(taken.unparked)

    async def _original(self, row: InboxRow) -> earlier.Original | None:
        return await self._store.of(row.tenant).read(partial(earlier.original_of, row=row), lasting=True)

    async def _settle(self, tenant: str, id_: int, outcome: Outcome, detail: str) -> None:
        now = self._clocks.now()
        await self._store.of(tenant).commit(inbox.settle, id_=id_, outcome=outcome, now=now, detail=detail)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_EVERY_S)
            self.drop_idle()

    def drop_idle(self) -> None:
        """Free the sessions that have been idle for long: the store has what they know."""
        now = self._clocks.now()
        at_work = {queue[:2] for commands in self._runners() for queue in commands.queues}
        for where, held in [*self._sessions.items()]:
            is_old = now - self._used_at[where] > timedelta(seconds=held.idle_s)
            if is_old and where not in at_work and not held.busy:
                del self._sessions[where], self._used_at[where]
