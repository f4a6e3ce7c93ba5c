"""Runs commands in a session: each commits its effect, its reply and its row's outcome in one transaction."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

import structlog

from agent.catalogue import Catalogue
from agent.errors import Fenced
from agent.foreign_code import contain_exits
from agent.ports import Change, LocalEffect, Principal
from agent.tools.base import ToolError
from agent.transcript import EndReason
from channels.base import SendsMedia
from channels.messages import ButtonPressed, SystemEvent
from gateway.access.api_keys import scopes_at
from gateway.access.buttons import SealedButtons
from gateway.access.codes import AccessKeys
from gateway.access.roles import Role
from gateway.commands.base import (
    AnswerApproval,
    Command,
    DropCredential,
    ForgetPermission,
    ForgetPerson,
    KeepCredential,
    PermissionsForgotten,
    Reply,
    ResumeConversation,
    SaySuggested,
    SessionAction,
    SessionCleared,
    SetLanguage,
    SetMode,
    SetModel,
    SetName,
    SetTimezone,
    SetTitle,
)
from gateway.commands.decisions import Decision
from gateway.commands.table import CommandTable
from gateway.delivery.delivery import Delivery
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.durable_queue import QueueHead, SerialWorker, load_filtered
from gateway.failpoints import failpoint
from gateway.inbound.bus import Bus
from gateway.sessions.choices import allow_forgetting, ask_to_forget, change_conversation, keep_choice
from gateway.sessions.deps import PeopleDirectory
from gateway.sessions.inbox_rules import command_words, missed_text, own_route_id, words_of
from gateway.sessions.invocations import to_invocation
from gateway.sessions.made_files import keep_files
from gateway.sessions.mailbox import read_waiting
from gateway.sessions.parking import Parking
from gateway.sessions.presses import (
    OfAnother,
    PressHandler,
    answer_approval,
    close_buttons,
    take_offer,
    take_press,
    unparked_before,
)
from gateway.sessions.prompt_hooks import HeardItems
from gateway.sessions.session import Session
from gateway.sessions.turn_limit import TurnLimit
from gateway.store import approvals, erasure, inbox, journal, offers, outbox
from gateway.store.engine import Connection, Store
from gateway.store.inbox import InboxRow, Outcome
from gateway.store.journal import SessionState
from gateway.store.outbox import OutboxRow
from gateway.store.people import Person
from gateway.supervision import care_of
from gateway.telemetry import log_end

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Done:
    """What a command's commit made."""

    replies: list[OutboxRow]
    state: SessionState | None = None
    person: Person | None = None
    cleared: tuple[int, ...] = ()  # rows that wait no more
    before: bool = False  # it had been made before
    said: InboxRow | None = None  # what the person has said with it
    unparked: Sequence[str] = ()  # turns that wait no more
    asked: erasure.ErasureAsked | None = None  # the person is nobody now


@dataclass(frozen=True, slots=True)
class _Stop:
    """What a command that clears its session is to stop."""

    whose: str | None  # this person's; None: everybody's
    stopped: bool  # a turn was asked to end


@dataclass(frozen=True, slots=True)
class _Queued:
    """A row on its way through its session's commands."""

    row: InboxRow
    session: Session

    @property
    def id(self) -> int:
        """The row's place."""
        return self.row.id


_CommandQueue = tuple[str, str, int]
"""Tenant and key of a session, and the row where it is one that cannot wait; 0 for all others."""

COMMANDS_KEPT = 100
"""Commands of a session kept in memory; the rest stay in the store."""

TELL_MISSED_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class CommandDeps:
    """What every command of a gateway shares."""

    store: Store
    bus: Bus  # takes what people say with a button
    table: CommandTable
    delivery: Delivery
    channels: ChannelDirectory
    people: PeopleDirectory
    decisions: Mapping[str, Decision]  # by the word that a button carries
    turn_limit: TurnLimit
    clock: Callable[[], datetime]
    texts: Catalogue  # what people read
    parking: Parking
    user_items: HeardItems  # tells hooks when a conversation is over
    of_another: OfAnother  # tells who presses a button of a question that is another's
    buttons: SealedButtons = field(default_factory=lambda: SealedButtons(AccessKeys.fresh().buttons))
    """Opens what comes back with a press; by default no button holds."""
    dates: Callable[[], datetime] | None = None  # the wall clock, for people's days; None: the same clock


class CommandRunner:
    """Runs the commands of every session, one after another within each."""

    def __init__(self, deps: CommandDeps, tasks: asyncio.TaskGroup) -> None:
        """`tasks` is the parent of what runs."""
        self._store = deps.store
        self._bus = deps.bus
        self._table = deps.table
        self._delivery = deps.delivery
        self._channels = deps.channels
        self._people = deps.people
        self._turn_limit = deps.turn_limit
        self._clock = deps.clock
        self._texts = deps.texts
        self._parking = deps.parking
        self._user_items = deps.user_items
        self._presses = PressHandler(deps.buttons, deps.decisions, deps.texts, deps.of_another)
        self._dates = deps.dates or deps.clock
        self._tasks = tasks
        self.queues: dict[_CommandQueue, SerialWorker[_Queued]] = {}  # by tenant and key of a session first
        self._told_missed_at: dict[tuple[str, str], datetime] = {}

    @property
    def busy(self) -> bool:
        """Whether any command runs or waits."""
        return any(queue.running for queue in self.queues.values())

    def offer(self, session: Session, row: InboxRow, *, again: bool = False) -> None:
        """Run a command after those before it in its session; `again`, or seen late: later ones may be done."""
        where = self._queue_of(session, row)
        if where not in self.queues:
            head = QueueHead(COMMANDS_KEPT, partial(self._load, session, where))
            care = care_of(self._tasks, "commands", session.key)
            self.queues[where] = SerialWorker(head, self._run, self._tasks, care)
        queue, queued = self.queues[where], _Queued(row, session)
        queue.put_back([queued]) if again or row.id < queue.head.offered_id else queue.offer(queued)

    def take_out(self, session: Session, id_: int) -> bool:
        """Let a command wait no more, as it reads otherwise now; False where none waits, or it is being carried out."""
        mine = [queue for where, queue in self.queues.items() if where[:2] == session.where]
        return any(queue.head.take(lambda queued: queued.id == id_) for queue in mine)

    def _queue_of(self, session: Session, row: InboxRow) -> _CommandQueue:
        """What passes the backlog by has a queue to itself: a queue takes rows in the order of their ids alone."""
        command = self._parse(row)[0]
        return (*session.where, row.id if command is not None and command.urgent else 0)

    async def _load(self, session: Session, queue: _CommandQueue, after_id: int, limit: int) -> list[_Queued]:
        def is_wanted(row: InboxRow) -> bool:
            return session.takes_command(row) and self._queue_of(session, row) == queue

        load = partial(read_waiting, self._store, session_key=session.key)
        return [_Queued(row, session) for row in await load_filtered(load, is_wanted, after_id, limit)]

    async def _run(self, queued: _Queued) -> None:
        for run in (self._try, self._apologise):
            try:
                with contain_exits():
                    await run(queued.session, queued.row)
            except Fenced:
                log.info("command_fenced", inbox_id=queued.id)
            except Exception:  # noqa: BLE001  one command: recorded here, then the person is told
                log.exception("command_broken", inbox_id=queued.id)
                continue
            break
        where = self._queue_of(queued.session, queued.row)
        if where in self.queues and not self.queues[where].head:
            del self.queues[where]

    async def _try(self, session: Session, row: InboxRow) -> None:
        """Run a command; apologise if the process crashed with it too often."""
        await self._channels.when_loaded(row.event.address)  # it may never come, and nobody is to wait for that
        command = self._parse(row)[0]
        name = row.event.type if command is None else command.name
        with log_end("command_ended", command=name, inbox_id=row.id, user_id=row.user_id, session=session.key):
            async with self._turn_limit.begin([row], takes_slot=False) as may_run:
                await (self._execute if may_run else self._apologise)(session, row)

    async def _apologise(self, session: Session, row: InboxRow) -> None:
        person = self._people.principal(row.user_id)
        text = self._texts.text(person.locale if person else None, "commands.broken")
        await self._commit(session, row, Reply(text), Outcome.FAILED)

    async def _execute(self, session: Session, row: InboxRow) -> None:
        principal = self._people.principal(row.user_id)
        if principal is None:
            await self._commit(session, row, Reply(""), Outcome.REFUSED)
            return
        if isinstance(row.event, ButtonPressed):
            await self._decide(session, row, row.event, principal)
            return
        if session.is_missed(row):
            await self._tell_missed(session, row, principal)
            return
        command, name, arguments = self._parse(row)
        if command is None:
            typed = not isinstance(row.event, SystemEvent)
            reply = Reply(self._table.unknown(name, principal) if typed else "")
            await self._commit(session, row, reply, Outcome.ANSWERED if typed else Outcome.FAILED)
            return
        scopes = await scopes_at(self._store, row.event.address)
        if (refusal := self._table.refusal(command, principal, scopes)) is not None:
            await self._commit(session, row, Reply(refusal), Outcome.ANSWERED)
            return
        await session.conversation.load()
        asked = to_invocation(session, row, principal, name, arguments, self._channels, self._dates(), scopes)
        reply = await command.handle(asked)
        if isinstance(reply.session, ForgetPerson):  # before anything is stopped for it
            reply = await self._store.read(partial(allow_forgetting, row=row, reply=reply, texts=self._texts))
        await self._commit(session, row, reply, Outcome.ANSWERED)

    async def _decide(self, session: Session, row: InboxRow, pressed: ButtonPressed, principal: Principal) -> None:
        """What a button stands for; they see that it was taken."""
        reply, taken = await self._presses.decide(pressed, principal, self._clock())
        if isinstance(reply.session, SaySuggested):
            reply = await self._run_offer(session, row, reply.session, principal) or reply
        await self._commit(session, row, reply, Outcome.ANSWERED)
        if taken:
            await close_buttons(await self._channels.when_loaded(pressed.address), pressed.address, pressed.message_id)

    async def _run_offer(self, session: Session, row: InboxRow, said: SaySuggested, who: Principal) -> Reply | None:
        """Return what the command of a pressed button wants; None if it needs a row of its own, or is no command."""
        words = await self._store.read(partial(offers.words_of, turn_id=said.turn_id, index=said.index))
        command, name, arguments = self._table.parse(words) or (None, "", "")
        scopes = await scopes_at(self._store, row.event.address)
        if command is None or command.turn or self._table.refusal(command, who, scopes):
            return None
        asked = to_invocation(session, row, who, name, arguments, self._channels, self._dates(), scopes)
        wanted = await command.handle(asked)
        needs_row = isinstance(wanted.session, SessionAction | ForgetPerson | ResumeConversation)
        return None if needs_row else replace(wanted, offer=said)

    def _parse(self, row: InboxRow) -> tuple[Command | None, str, str]:
        if isinstance(row.event, SystemEvent):
            return self._table.of_system(row.event.name), row.event.name, row.event.arguments
        words = command_words(row.event, self._table)
        return self._table.parse(words) or (None, words.removeprefix("/").partition(" ")[0], "")

    async def _commit(self, session: Session, row: InboxRow, wanted: Reply, outcome: Outcome) -> None:
        channel = await self._channels.when_loaded(row.event.address)
        state = await session.conversation.load()
        principal = self._people.principal(row.user_id) or Principal(row.user_id, row.tenant)
        whose = None if Role(principal.role).allows(Role.OPERATOR) else row.user_id  # in a group: of one's own
        whose = row.user_id if isinstance(wanted.session, ForgetPerson) else whose
        stops = isinstance(wanted.session, SessionAction | ForgetPerson | ResumeConversation)
        stopped = stops and session.cancel(EndReason.STOPPED, row.id, whose)

        def job(connection: Connection) -> _Done:
            journal.check_fence(connection, session.fence)
            now = self._clock()
            if not inbox.settle(connection, row.id, outcome, now):
                return _Done([], before=True, unparked=unparked_before(connection, wanted))
            reply = take_offer(connection, row, wanted, self._table.talk, self._texts, principal.locale)
            reply = allow_forgetting(connection, row, reply, self._texts)
            results: list[object] = [
                _run(effect, Change(connection, principal, f"inbox:{row.id}/{index}", self._dates()))
                for index, effect in enumerate(reply.changes)
            ]
            done = self._act(connection, session, state, row, reply, _Stop(whose, stopped), results, now)
            text = reply.text if isinstance(reply.text, str) else reply.text(results)
            said = OutboundMessage(
                row.event.address, f"inbox:{row.id}", text, secret_ref=reply.secret_ref, buttons=reply.buttons,
                reply_route_of=own_route_id(row), locale=principal.locale,
            )  # fmt: skip
            if isinstance(channel, SendsMedia):
                said = replace(said, media=keep_files(connection, row, reply.files, now))
            elif reply.files:
                said = replace(said, text=f"{text}\n\n{self._texts.text(principal.locale, 'commands.no_files')}")
            parts = to_parts(channel, said)
            if reply.redact:
                inbox.redact(connection, row.id)
            failpoint("command_pre")
            return replace(done, replies=outbox.put(connection, row.tenant, parts, now))

        done = await self._store.write(job, then=lambda done: self._announce(session, row, done))
        failpoint("command_post")
        ends = wanted.session is SessionAction.NEW or isinstance(wanted.session, ResumeConversation)
        if ends and not done.before:
            await self._user_items.end(row.event)

    def _act(
        self,
        connection: Connection,
        session: Session,
        state: SessionState,
        row: InboxRow,
        reply: Reply,
        stop: _Stop,
        results: list[object],
        now: datetime,
    ) -> _Done:
        """Carry out what the command does to its session or its person, and add what came of it to the results."""
        match reply.session:
            case AnswerApproval() as answer:
                unparked = answer_approval(connection, row.user_id, answer, results, now)
                return _Done([], unparked=unparked)
            case ForgetPermission(tool):
                results.append(PermissionsForgotten(approvals.forget(connection, row.tenant, row.user_id, tool)))
                return _Done([])
            case SessionAction.STOP | SessionAction.NEW | ResumeConversation():
                why = "/sessions" if isinstance(reply.session, ResumeConversation) else f"/{reply.session}"
                cleared = inbox.clear_session(connection, session.key, row.id, now, why, stop.whose)
                running = inbox.clear_claimed(connection, session.key, row.id, now, why, stop.whose) > 0 or stop.stopped
                texts = [text for other in cleared if (text := words_of(other.event, self._table.talk))]
                unparked = approvals.withdraw_session(connection, row.tenant, session.key, now, stop.whose)
                begun = change_conversation(connection, session.where, row.user_id, state, reply.session, now)
                results.append(SessionCleared(len(cleared), texts, running, begun is not None))
                return _Done([], begun, cleared=tuple(other.id for other in cleared), unparked=unparked)
            case ForgetPerson(extent):
                asked = ask_to_forget(connection, row, extent, now, self._people.mark)
                begun = change_conversation(connection, session.where, row.user_id, state, None, now)
                return _Done([], begun, unparked=asked.unparked, asked=asked)
            case SetMode() | SetTitle():
                return _Done([], change_conversation(connection, session.where, row.user_id, state, reply.session, now))
            case SaySuggested():
                said, taken = take_press(connection, row, reply.session, self._table.talk)
                results.append(taken)
                return _Done([], said=said)
            case KeepCredential() | DropCredential() | SetTimezone() | SetLanguage() | SetModel() | SetName() as chosen:
                return _Done([], person=keep_choice(connection, row, chosen, results, now))
        return _Done([])

    def _announce(self, session: Session, row: InboxRow, done: _Done) -> None:
        if done.before:  # a commit nobody heard of held: what it made is in the store alone
            session.conversation.forget()
            self._delivery.reread(row.event.address)
            self._bus.reread()
        if done.state is not None:
            session.go_on_in(done.state)
        session.drop_cleared(done.cleared)
        if done.said is not None:
            self._bus.publish(done.said)
        self._parking.release(done.unparked)
        if done.person is not None:
            self._people.put(done.person)
        if done.asked is not None and done.asked.forgotten:
            self._people.forget(row.user_id, done.asked.forgotten)
        self._delivery.publish(done.replies)

    async def _tell_missed(self, session: Session, row: InboxRow, principal: Principal) -> None:
        """Tell the person that a message waited too long; at most once a minute, for all that did."""
        now = self._clock()
        told_at = self._told_missed_at.get(session.where)
        told = told_at is not None and now - told_at < TELL_MISSED_EVERY
        text = "" if told else missed_text(self._texts, now - row.admitted_at, principal.locale)
        await self._commit(session, row, Reply(text), Outcome.FAILED)
        if not told:
            self._told_missed_at[session.where] = now


def _run(effect: LocalEffect, change: Change) -> object:
    """Make a change; return its result, or the data of its refusal. A refusal is raised before anything is written."""
    try:
        return effect.run(change)
    except ToolError as refused:
        return refused.data
