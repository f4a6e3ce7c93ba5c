"""Each row from the bus goes to its session's mailbox or to the commands, an edit to what it is about.

It starts no turn and runs no command itself. Sessions are made when they are first needed and let go when idle.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import structlog

from agent.transcript import EndReason
from channels.messages import InboundMessage, MessageDeleted
from gateway.errors import GatewayError
from gateway.failpoints import failpoint
from gateway.inbound.bus import Bus
from gateway.sessions.command_runner import CommandRunner
from gateway.sessions.deps import SessionDeps
from gateway.sessions.inbox_rules import CHAT, is_missed, to_typed
from gateway.sessions.session import Session
from gateway.store import earlier, inbox, journal
from gateway.store.engine import Store
from gateway.store.inbox import InboxRow, Outcome
from gateway.store.journal import OpenTurn
from gateway.telemetry import FAULTS, series

log = structlog.get_logger()

SWEEP_EVERY_S = 15.0

TRIES = 2
"""Times a row is routed: what was in its way may be gone the second time."""


class Router:
    """From the bus to sessions, or to the commands."""

    def __init__(
        self, bus: Bus, deps: SessionDeps, commands: CommandRunner, tasks: asyncio.TaskGroup, store: Store
    ) -> None:
        """`tasks` is the parent of every session's work; `store` is everybody's."""
        self._bus = bus
        self._deps = deps
        self._commands = commands
        self._of_tenants: dict[str, tuple[SessionDeps, CommandRunner]] = {}
        self._tasks = tasks
        self._store = store
        self._sessions: dict[tuple[str, str], Session] = {}
        self._used_at: dict[tuple[str, str], datetime] = {}
        self._sweeps = False
        self.answers: Callable[[str], bool] = lambda _tenant: True
        """Whether a tenant is one of the configuration: what waits of another waits until it is."""
        deps.turns.parking.bind(self.take_up)

    def answer_for(self, tenant: str, deps: SessionDeps, commands: CommandRunner) -> None:
        """Answer this tenant's people so, from the next session on."""
        self._of_tenants[tenant] = (deps, commands)

    def works_for(self, tenant: str) -> bool:
        """Whether anything of a tenant runs."""
        busy = any(held.busy or held.running for where, held in self._sessions.items() if where[0] == tenant)
        return busy or any(queue[0] == tenant for queue in self._part(tenant)[1].queues)

    def let_go(self, tenant: str) -> None:
        """Answer its people no more, and remember nothing of them."""
        self._of_tenants.pop(tenant, None)
        for where in [where for where in self._sessions if where[0] == tenant]:
            del self._sessions[where], self._used_at[where]

    def _part(self, tenant: str) -> tuple[SessionDeps, CommandRunner]:
        return self._of_tenants.get(tenant, (self._deps, self._commands))

    def _runners(self) -> list[CommandRunner]:
        return [self._commands, *(commands for _, commands in self._of_tenants.values())]

    async def run(self) -> None:
        """Route until cancelled."""
        if not self._sweeps:
            self._sweeps = True
            self._tasks.create_task(self._sweep())
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
                self._tasks.create_task(self._give_up(row))

    async def recover(self) -> None:
        """Take up the turns that were running when the process ended; before anything is routed."""
        failpoint("recovery_begun")
        await self.adopt(None)

    async def adopt(self, shards: Mapping[int, int] | None) -> None:
        """Take up what was left open in these shards, this process's by their epochs; None: it has them all."""
        await self._deps.turn_limit.look_back()
        found = await self._store.read(journal.open_turns, lasting=True)
        open_turns = [each for each in found if self._is_ours(each.session_key, shards)]
        await self._deps.turns.parking.recover(waiting for waiting in open_turns if waiting.parked)
        for open_turn in open_turns:
            if not open_turn.parked:
                self.take_up(open_turn)

    def _is_ours(self, key: str, shards: Mapping[int, int] | None) -> bool:
        """Also now, behind a read."""
        fence = self._deps.ownership.fence_of(key)
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
        self._deps.turns.parking.forget(shards)

    def idle_shards(self, owned: Collection[int]) -> list[int]:
        """Those of these shards in which nothing runs or waits in memory."""
        busy = {held.fence.shard for held in self._sessions.values() if held.busy or held.running}
        busy |= {journal.shard_of(queue[1]) for runner in self._runners() for queue in runner.queues}
        return [shard for shard in owned if shard not in busy]

    def take_up(self, open_turn: OpenTurn) -> None:
        """Go on with a turn that a process, or its person's silence, left open."""
        if not (self._deps.channels.is_configured(open_turn.turn.address) and self.answers(open_turn.turn.tenant)):
            return  # its account, or its tenant, was taken out of the configuration: it waits until that is back
        session = self.session(open_turn.turn.tenant, open_turn.session_key)
        log.info("turn_taken_up", turn_id=open_turn.turn.id, session=open_turn.session_key)
        self._tasks.create_task(session.resume(open_turn))

    def session(self, tenant: str, key: str) -> Session:
        """The session of a key."""
        return self._session(tenant, key, self._deps.turns.clock())

    def _session(self, tenant: str, key: str, now: datetime) -> Session:
        where = (tenant, key)
        self._used_at[where] = now
        held = self._sessions.get(where)
        if held is not None and self._deps.ownership.is_shared and held.fence != self._deps.ownership.fence_of(key):
            held.abandon()  # it is of a time before this one
            held = None
        if held is None:
            held = self._sessions[where] = Session(self._part(tenant)[0], tenant, key, self._tasks)
        return held

    def forget(self, tenant: str, keys: Collection[str]) -> None:
        """Let these sessions remember nothing that the store does not."""
        for where, held in self._sessions.items():
            if where[0] == tenant and where[1] in keys:
                held.conversation.forget()

    def forget_all(self) -> None:
        """As `forget`, of every session: somebody was forgotten by another process."""
        for held in self._sessions.values():
            held.conversation.forget()

    def waiting(self, key: str, tenant: str = "default") -> int:
        """How many messages of a session wait."""
        held = self._sessions.get((tenant, key))
        return 0 if held is None else len(held.mailbox)

    @property
    def busy(self) -> bool:
        """Whether any turn or command runs."""
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
        """End a row that cannot be routed; whoever said something is told."""
        if isinstance(row.event, MessageDeleted):
            await self._settle(row.tenant, row.id, Outcome.FAILED, "it could not be routed; the log has more")
        else:
            await self.session(row.tenant, row.session_key).give_up([row])

    async def route(self, row: InboxRow) -> None:
        """Give one row to where it belongs."""
        failpoint("routed")
        if not self.answers(row.tenant):
            log.warning("row_of_no_tenant", inbox_id=row.id, tenant=row.tenant)
            return
        event = row.event
        deps, commands = self._part(row.tenant)
        now = deps.turns.clock()
        session = self._session(row.tenant, row.session_key, now)
        if isinstance(event, MessageDeleted):
            await self._take_back(row)
        elif is_missed(now - row.admitted_at, deps.config):
            commands.offer(session, row)
        elif isinstance(event, InboundMessage) and event.edited:
            await self._apply_edit(session, row)
        elif deps.kind_of(row) is not None:
            session.offer(row)
        else:
            commands.offer(session, row)

    async def _apply_edit(self, session: Session, row: InboxRow) -> None:
        """An edit of what nobody has answered takes its place; of what is being answered it steers; later: context."""
        original = await self._original(row)
        if original is None:
            session.offer(row)
        elif original.outcome is None and original.turn_id is None:
            await self._replace(session, row, original.id)
        elif original.done_at is None or row.admitted_at < original.done_at or await self._answers_edits(row):
            session.offer(row)  # too late to join, not to be answered
        else:
            await self._settle(row.tenant, row.id, Outcome.CONTEXT, "edited after it was answered")

    async def _answers_edits(self, row: InboxRow) -> bool:
        return (await self._deps.channels.when_loaded(row.event.address)).limits.answers_edits

    async def _replace(self, session: Session, edit: InboxRow, original_id: int) -> None:
        """Let what waits read as its sender wants it now; what it is, a message or a command, is decided anew."""
        as_typed = replace(edit, id=original_id, event=to_typed(edit.event))
        deps, commands = self._part(edit.tenant)
        kind, was_command = deps.kind_of(as_typed), commands.take_out(session, original_id)
        moves = was_command or (kind is None and session.mailbox.take_out(original_id))
        if moves or kind not in {None, CHAT}:
            edit = replace(edit, event=as_typed.event)
        if not moves:
            session.change(original_id, edit)  # before its commit: a claim queued after this has the new text
        now = deps.turns.clock()
        if not await deps.turns.store.write(partial(earlier.replace, original_id=original_id, edit=edit, now=now)):
            session.offer(edit)
        elif moves and kind is None:
            commands.offer(session, as_typed, again=True)
        elif moves:
            session.mailbox.put_back([as_typed])

    async def _take_back(self, row: InboxRow) -> None:
        """What nobody has answered yet is not answered any more, also where a turn is at it."""
        deps, commands = self._part(row.tenant)
        now, has_changed = deps.turns.clock(), deps.agent.toolbox.may_have_changed
        job = partial(earlier.take_back, row=row, now=now, has_changed=has_changed)
        taken = await self._store.of(row.tenant).write(job)
        for key, id_ in taken.waiting:
            session = self.session(row.tenant, key)
            commands.take_out(session, id_)
            session.drop_cleared([id_])
        for key, first_id in taken.stopped:
            self.session(row.tenant, key).cancel(EndReason.STOPPED, first_id + 1, row.user_id)
        deps.turns.parking.release(taken.unparked)

    async def _original(self, row: InboxRow) -> earlier.Original | None:
        return await self._store.of(row.tenant).read(partial(earlier.original_of, row=row), lasting=True)

    async def _settle(self, tenant: str, id_: int, outcome: Outcome, detail: str) -> None:
        now = self._deps.turns.clock()
        await self._store.of(tenant).write(partial(inbox.settle, id_=id_, outcome=outcome, now=now, detail=detail))

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_EVERY_S)
            self.drop_idle()

    def drop_idle(self) -> None:
        """Free the sessions that have been idle for long: the store has what they know."""
        oldest = self._deps.turns.clock() - timedelta(seconds=self._deps.config.idle_s)
        at_work = {queue[:2] for commands in self._runners() for queue in commands.queues}
        for where in [where for where, used_at in self._used_at.items() if used_at < oldest]:
            if where not in at_work and not self._sessions[where].busy:
                del self._sessions[where], self._used_at[where]
