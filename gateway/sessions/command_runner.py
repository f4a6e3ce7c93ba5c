"""Runs commands in a session: each commits its effect, its reply and its row's outcome in one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from weakref import WeakKeyDictionary

import structlog

from agent.catalogue import Catalogue, escape
from agent.errors import Fenced, Refused
from agent.foreign_code import contain_exits
from agent.permission_rules import Mode
from agent.ports import Principal
from agent.transcript import EndReason, SuggestedReply
from agent.wellformed import cut_text
from channels.base import HasButtons, SendsMedia
from channels.messages import Button, ButtonPressed, InboundMessage, SystemEvent
from gateway.access.api_keys import scopes_at
from gateway.access.buttons import ButtonContent, InvalidPress, SealedButtons
from gateway.commands.base import Cleared, Command, Handle, Invocation, Reply, Write, check_returned
from gateway.commands.decisions import RUN_COMMAND, VOID
from gateway.commands.table import CommandTable
from gateway.delivery.button_closer import close_buttons
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.durable_queue import QueueHead, SerialWorker, load_filtered
from gateway.extensions import first_words
from gateway.failpoints import failpoint
from gateway.inbound.bus import Bus
from gateway.inbound.session_key import in_session
from gateway.operators.actions import OperationRefused
from gateway.sessions.deps import PeopleDirectory, ProcessDeps
from gateway.sessions.inbox_rules import command_words, missed_text, own_route_id, read_words
from gateway.sessions.made_files import keep_files
from gateway.sessions.mailbox import read_waiting
from gateway.sessions.presses import LABEL_CHARS, delete_said, find_asked
from gateway.sessions.prompt_hooks import HeardItems
from gateway.sessions.session import Session
from gateway.sessions.user_items import read_text_file
from gateway.store import approvals, children, inbox, journal, outbox, people, standing_buttons
from gateway.store.causes import DueReply, ReplyTo
from gateway.store.engine import Connection, Store
from gateway.store.inbox import InboxRow, Outcome
from gateway.store.journal import SessionState
from gateway.supervision import Supervised
from gateway.telemetry import log_end


@dataclass(frozen=True, slots=True)
class CommandSession:
    """The `SessionControl` of one command."""

    session: Session
    state: SessionState
    row: InboxRow
    principal: Principal
    channels: ChannelDirectory
    people: PeopleDirectory
    talk: str  # the command whose text is a message

    @property
    def configured_permission_mode(self) -> Mode:
        return self.session.configured_permission_mode

    @property
    def tools(self) -> Sequence[str]:
        return self.session.tools

    @property
    def running(self) -> bool:
        return self.session.running

    @property
    def key(self) -> str:
        """The key by which the tenant's sessions are told apart."""
        return self.session.key

    def cancel(self, user_id: str | None) -> bool:
        """End the turn that answers an earlier message of a person (None: of anybody); False: there is none."""
        return self.session.cancel(EndReason.STOPPED, self.row.id, user_id)

    def clear(self, connection: Connection, why: str, user_id: str | None, now: datetime) -> Cleared:
        """Record that the earlier messages of a person (None: of anybody) are answered no more."""
        rows = inbox.clear_session(connection, self.key, self.row.id, now, why, user_id)
        running = inbox.clear_claimed(connection, self.key, self.row.id, now, why, user_id) > 0
        running = children.stop_under(connection, self.key, now, why, user_id) > 0 or running
        unparked = approvals.withdraw_session(connection, self.row.tenant, self.key, now, user_id)
        texts = [read_words(row.event, self.talk).said for row in rows]
        return Cleared([row.id for row in rows], texts, running, unparked)

    async def answer_aside(self, question: str) -> str:
        """Answer a question beside the turn; "" if it is refused."""
        return await self.session.answer_aside(self.row, self.principal, question)

    async def read_files(self) -> Sequence[str]:
        """Return the text file that came with the command, if one did."""
        event = self.row.event
        files = event.attachments[:1] if isinstance(event, InboundMessage) else ()
        channel = await self.channels.when_loaded(event.address)
        return [text for file in files if (text := await read_text_file(channel, file))]

    async def delete_message(self) -> bool | None:
        """Delete the message that gave the command. False: the platform does not allow it; None: it is no message."""
        return await delete_said(await self.channels.when_loaded(self.row.event.address), self.row.event)

    def mark(self, tenant: str, sender: str) -> str:
        """Return the keyed hash of a sender."""
        return self.people.mark(tenant, sender)


log = structlog.get_logger()


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

OFFERS_HOLD = timedelta(days=1)
"""After this a button under a reply does nothing any more."""

TELL_MISSED_EVERY = timedelta(minutes=1)

TOO_OFTEN = "the gateway ended several times while this command ran"


@dataclass(frozen=True, slots=True)
class CommandDeps:
    """The objects that all commands of a tenant share."""

    process: ProcessDeps
    store: Store
    bus: Bus  # takes what people say with a button
    table: CommandTable
    buttons: SealedButtons  # opens what comes back with a press
    handles: Mapping[str, Handle]  # what buttons do, by the word that they carry
    texts: Catalogue
    user_items: HeardItems  # tells hooks when a conversation is over


class CommandRunner:
    """Runs the commands of a tenant's sessions, one after another within each session."""

    def __init__(self, deps: CommandDeps, tasks: Supervised) -> None:
        """`tasks` is the parent of what runs."""
        self._deps = deps
        self._process = deps.process
        self._tasks = tasks
        self.queues: dict[_CommandQueue, SerialWorker[_Queued]] = {}  # by tenant and key of a session first
        self._told_missed_at: WeakKeyDictionary[Session, datetime] = WeakKeyDictionary()

    @property
    def busy(self) -> bool:
        """Return True if any command runs or waits."""
        return any(queue.running for queue in self.queues.values())

    def offer(self, session: Session, row: InboxRow, *, again: bool = False) -> None:
        """Run a command after those before it in its session; `again`, or seen late: later ones may be done."""
        where = self._queue_of(session, row)
        if where not in self.queues:
            head = QueueHead(COMMANDS_KEPT, partial(self._load, session, where))
            self.queues[where] = SerialWorker(head, self._run, self._tasks, "commands", session.key)
        queue, queued = self.queues[where], _Queued(row, session)
        queue.put_back([queued]) if again or row.id < queue.head.offered_id else queue.offer(queued)

    def take_out(self, session: Session, id_: int) -> bool:
        """Remove a queued command whose text was edited; return False if it is not queued or already runs."""
        mine = [queue for where, queue in self.queues.items() if where[:2] == session.where]
        return any(queue.head.take(lambda queued: queued.id == id_) for queue in mine)

    def _queue_of(self, session: Session, row: InboxRow) -> _CommandQueue:
        """Return the queue of a row; each urgent command has a queue of its own."""
        command = self._parse(row)[0]
        return (*session.where, row.id if command is not None and command.urgent else 0)

    async def _load(self, session: Session, queue: _CommandQueue, after_id: int, limit: int) -> list[_Queued]:
        def is_wanted(row: InboxRow) -> bool:
            return session.takes_command(row) and self._queue_of(session, row) == queue

        load = partial(read_waiting, self._deps.store, session_key=session.key)
        return [_Queued(row, session) for row in await load_filtered(load, is_wanted, after_id, limit)]

    async def _run(self, queued: _Queued) -> None:
        run = self._try
        for _ in range(2):
            try:
                with contain_exits():
                    await run(queued.session, queued.row)
            except Fenced:
                log.info("command_fenced", inbox_id=queued.id)
            except Exception as error:  # noqa: BLE001  one command: recorded here, then the person is told
                log.exception("command_broken", command=self._name(queued.row), inbox_id=queued.id)
                run = partial(self._apologise, why=first_words(error))
                continue
            break
        where = self._queue_of(queued.session, queued.row)
        if where in self.queues and not self.queues[where].head:
            del self.queues[where]

    async def _try(self, session: Session, row: InboxRow) -> None:
        """Run a command; apologise if the process crashed with it too often."""
        await self._process.channels.when_loaded(row.event.address)  # it may never come, and nobody is to wait for that
        with log_end(
            "command_ended", command=self._name(row), inbox_id=row.id, user_id=row.user_id, session=session.key
        ):
            async with self._process.turn_limit.begin([row], takes_slot=False) as may_run:
                await (self._execute(session, row) if may_run else self._apologise(session, row, TOO_OFTEN))

    def _name(self, row: InboxRow) -> str:
        command = self._parse(row)[0]
        return row.event.type if command is None else command.name

    async def _apologise(self, session: Session, row: InboxRow, why: str) -> None:
        person = self._process.people.principal(row.user_id)
        text = self._deps.texts.text(person.locale if person else None, "commands.broken")
        await self._commit(session, row, Reply(text), Outcome.FAILED, detail=self._process.scrubber.scrub(why))

    async def _execute(self, session: Session, row: InboxRow) -> None:
        """Let the command or button decide, and commit what it wants."""
        principal = self._process.people.principal(row.user_id)
        if principal is None:
            await self._commit(session, row, Reply(""), Outcome.REFUSED)
            return
        principal = in_session(principal, session.key)
        if isinstance(row.event, ButtonPressed):
            await self._press(session, row, row.event, principal)
        elif session.is_missed(row):
            await self._tell_missed(session, row, principal)
        else:
            await self._run_command(session, row, principal)

    async def _run_command(self, session: Session, row: InboxRow, principal: Principal) -> None:
        command, name, arguments = self._parse(row)
        if command is None:
            typed = not isinstance(row.event, SystemEvent)
            reply = Reply(self._deps.table.unknown(name, principal) if typed else "")
            await self._commit(session, row, reply, Outcome.ANSWERED if typed else Outcome.FAILED)
            return
        asked = await self._invocation(session, row, principal, name, arguments)
        refusal = self._deps.table.refusal(command, principal, asked.scopes)
        wanted = Reply(refusal) if refusal is not None else await self._ask(command.handle, asked)
        await self._commit(session, row, wanted, Outcome.ANSWERED)

    async def _press(self, session: Session, row: InboxRow, pressed: ButtonPressed, principal: Principal) -> None:
        """Run what a button stands for, and take its buttons away; not if they may be another person's."""
        account, now = f"{pressed.address.channel}:{pressed.address.account}", self._process.clocks.now()
        meant = self._deps.buttons.open(pressed.data, principal.user_id, account, now)
        find = partial(standing_buttons.find_standing, address=pressed.address, data=pressed.data, now=now)
        button = await self._deps.store.read(find, lasting=True)
        handle = self._deps.handles.get(meant.word) if isinstance(meant, ButtonContent) else None
        if handle is None or not isinstance(meant, ButtonContent):
            log.warning("button_void", event_id=pressed.event_id, user_id=principal.user_id, why=str(meant))
            key = await self._void_key(pressed, principal) if meant is InvalidPress.FORGED else VOID
            wanted: Reply | Write = Reply(self._deps.texts.text(principal.locale, key))
        else:
            asked = await self._invocation(session, row, principal, meant.word, meant.subject)
            wanted = await self._ask(handle, replace(asked, button=button))
        is_theirs = meant is not InvalidPress.FORGED
        await self._commit(session, row, wanted, Outcome.ANSWERED, pressed=pressed.data if is_theirs else "")
        if is_theirs and button is None and pressed.message_id:  # else the commit has ended them
            channel = await self._process.channels.when_loaded(pressed.address)
            await close_buttons(channel, pressed.address, pressed.message_id)

    async def _ask(self, handle: Handle, asked: Invocation) -> Reply | Write:
        try:
            return check_returned(await handle(asked), (Reply, Write), handle)
        except Refused as refused:
            return self._refusal(refused, asked.principal.locale)

    def _refusal(self, refused: Refused, locale: str | None) -> Reply:
        """Return what a person reads of a refused command."""
        texts, why = self._deps.texts, refused.text(self._deps.texts, locale)
        of_operators = isinstance(refused, OperationRefused)  # part of a sentence
        return Reply(texts.text(locale, "access.nothing_changed", why=escape(why)) if of_operators else why)

    async def _void_key(self, pressed: ButtonPressed, principal: Principal) -> str:
        """Return the text for a button that was not made for its presser: whether the question is another person's."""
        word, _, rest = pressed.data.partition(":")
        whose = await find_asked(self._deps.store, word, rest.partition(":")[0])
        return VOID if whose in (None, principal.user_id) else "consent.not_yours"

    async def _invocation(
        self, session: Session, row: InboxRow, principal: Principal, name: str, arguments: str
    ) -> Invocation:
        deps = self._deps
        scopes, state = await scopes_at(deps.store, row.event.address), await session.conversation.load()
        control = CommandSession(
            session, state, row, principal, self._process.channels, self._process.people, deps.table.talk
        )
        return Invocation(
            name,
            arguments,
            principal,
            self._process.clocks.dates(),
            row,
            control,
            deps.store,
            deps.texts,
            self._process.clocks.now,
            scopes,
        )

    def _parse(self, row: InboxRow) -> tuple[Command | None, str, str]:
        table = self._deps.table
        if isinstance(row.event, SystemEvent):
            return table.of_system(row.event.name), row.event.name, row.event.arguments
        words = command_words(row.event, table)
        return table.parse(words) or (None, words.removeprefix("/").partition(" ")[0], "")

    async def _commit(
        self,
        session: Session,
        row: InboxRow,
        wanted: Reply | Write,
        outcome: Outcome,
        *,
        pressed: str = "",
        detail: str | None = None,
    ) -> None:
        """Commit what the command writes, its reply and its row's outcome at once; then pass on what changed.

        What replies offered the person before is over, and so is the message with the `pressed` button.
        """
        deps, principal = self._deps, self._process.people.principal(row.user_id)
        channel = await self._process.channels.when_loaded(row.event.address)
        locale = principal.locale if principal else None

        def commit_command(connection: Connection) -> Reply | None:
            journal.check_fence(connection, session.fence)
            now = self._process.clocks.now()
            if not inbox.settle(connection, row.id, outcome, now, detail):
                return None  # a commit whose answer was lost has stored it all
            reply = wanted.run(connection) if isinstance(wanted, Write) else wanted
            if pressed:
                standing_buttons.take(connection, row.event.address, pressed, now)
            if not isinstance(row.event, SystemEvent):
                standing_buttons.overtake(connection, row.event.address, row.user_id, now, replies_alone=True)
            said = OutboundMessage(
                row.event.address,
                DueReply(row.id) if isinstance(row.event, SystemEvent) else ReplyTo(row.id),
                reply.text if isinstance(channel, HasButtons) else _with_lines(reply),
                secret_ref=reply.secret_ref,
                buttons=(*reply.buttons, *self._seal(row, reply.offers, now))
                if isinstance(channel, HasButtons)
                else (),
                buttons_of=row.user_id,
                reply_route_of=own_route_id(row),
                locale=locale,
            )
            if isinstance(channel, SendsMedia):
                said = replace(said, media=keep_files(connection, row, reply.files, now))
            elif reply.files:
                command = channel.limits.export_command
                key = "commands.no_files_but" if command else "commands.no_files"
                said = replace(said, text=_without_files(reply, deps.texts.text(locale, key, command=command)))
            if reply.redact:
                inbox.redact(connection, row.id)
            failpoint("command_pre")
            outbox.put(connection, row.tenant, to_parts(channel, said), now)
            return reply

        try:
            done = await deps.store.commit(commit_command)
        except Refused as refused:  # by the job of a `Write`: its commit has changed nothing
            await self._commit(session, row, self._refusal(refused, locale), outcome, pressed=pressed)
            return
        if done is None:
            await self._reread(session, row)
        else:
            await self._announce(session, row, done)

    def _seal(self, row: InboxRow, offers: Sequence[SuggestedReply], now: datetime) -> tuple[Button, ...]:
        """Return buttons for the commands that a reply offers; the words of each are kept with the message."""
        account, seal = f"{row.event.address.channel}:{row.event.address.account}", self._deps.buttons.seal
        return tuple(
            Button(
                cut_text(offer.label, LABEL_CHARS),
                seal(RUN_COMMAND, f"{row.id}.{index}", row.user_id, account, now + OFFERS_HOLD),
                words=offer.words,
            )
            for index, offer in enumerate(offers)
        )

    async def _announce(self, session: Session, row: InboxRow, reply: Reply) -> None:
        """Pass on what a commit changed, to whatever holds it in memory."""
        deps, changed = self._deps, reply.changed
        if changed.conversation is not None:
            session.go_on_in(changed.conversation)
        if changed.permissions:
            session.conversation.forget()
        session.drop_cleared(changed.cleared)
        if changed.said is not None:
            deps.bus.publish(changed.said)
        self._process.parking.release(changed.unparked)
        if changed.person is not None:
            self._process.people.put(changed.person)
        if changed.forgotten:
            self._process.people.forget(row.user_id, changed.forgotten)
        if changed.after is not None:
            changed.after()
        if changed.ended:
            await deps.user_items.end(row.event)

    async def _reread(self, session: Session, row: InboxRow) -> None:
        """Read anew what a command may have changed in a commit whose answer was lost."""
        deps = self._deps
        session.conversation.forget()
        self._process.delivery.reread(row.event.address)
        deps.bus.reread()
        await self._process.parking.look()
        person = await deps.store.read(partial(people.person_of, user_id=row.user_id), lasting=True)
        if person is not None:
            self._process.people.put(person)

    async def _tell_missed(self, session: Session, row: InboxRow, principal: Principal) -> None:
        """Tell the person that a message waited too long; at most once a minute for all that did."""
        now = self._process.clocks.now()
        told_at = self._told_missed_at.get(session)
        told = told_at is not None and now - told_at < TELL_MISSED_EVERY
        text = "" if told else missed_text(self._deps.texts, now - row.admitted_at, principal.locale)
        await self._commit(session, row, Reply(text), Outcome.FAILED)
        if not told:
            self._told_missed_at[session] = now


def _without_files(reply: Reply, refusal: str) -> str:
    """Return the text of a reply where its channel takes no files: what they show in words, or else the refusal."""
    shown = [escape(file.description) for file in reply.files if file.description]
    return "\n\n".join(shown or [reply.text, refusal])


def _with_lines(reply: Reply) -> str:
    """Return a reply with its offers as lines, for a channel without buttons: each says what to type."""
    if reply.typed:
        return f"{reply.text}\n\n{reply.typed}"
    lines = [f"- {escape(offer.label)}: `{offer.words}`" for offer in reply.offers]
    return "\n\n".join(filter(None, (reply.text, "\n".join(lines))))
