"""A session: one conversation, answered one turn at a time.

`Session.run` takes the next row, gathers what belongs to it, waits for a slot, claims the rows and runs the turn
(`turn`). Sessions run concurrently, each strictly serial inside. The session's mode decides what a message does
that arrives mid-turn.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial

import structlog

from agent.catalogue import language_of
from agent.consent import TurnParked
from agent.errors import Fenced, Refused
from agent.foreign_code import contain_exits
from agent.permission_rules import Mode
from agent.ports import Principal, Spent
from agent.transcript import EndReason, TurnStarted, UserItem
from channels.base import Channel, Reaction
from channels.messages import Address, MessageDeleted, SystemEvent
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.failpoints import failpoint
from gateway.inbound.session_key import agent_of
from gateway.sessions import commits
from gateway.sessions.aside import answer_aside
from gateway.sessions.budgets import note_spender
from gateway.sessions.commits import CostsBeside, JournalPlace
from gateway.sessions.condensing import Condenser
from gateway.sessions.conversation import Conversation
from gateway.sessions.deps import SessionDeps
from gateway.sessions.inbox_rules import (
    CHAT,
    JOIN_WITHIN,
    belongs,
    is_missed,
    is_task,
    join_rows,
    message_id_of,
    new_turn,
    open_until,
    own_route_id,
    text_of,
    title_words,
    to_messages,
)
from gateway.sessions.mailbox import Mailbox
from gateway.sessions.prompt_hooks import NO_MEMORY, MessageRefusal
from gateway.sessions.questions import typed_consent
from gateway.sessions.turn import RunningTurn
from gateway.sessions.turn_lifecycle import Cancellations, Claim
from gateway.sessions.turn_limit import MAX_ATTEMPTS
from gateway.sessions.voice import show_transcript
from gateway.spans import span, trace_id_of
from gateway.store import outbox, people
from gateway.store.causes import Cause, Notice, ReplyTo
from gateway.store.children import SUBAGENT
from gateway.store.engine import Connection
from gateway.store.heads import title_of
from gateway.store.inbox import InboxRow, Outcome
from gateway.store.journal import OpenTurn, SessionState, TurnRow
from gateway.store.outbox import OutboxPart
from gateway.store.people import Person
from gateway.supervision import Supervised, run_again

log = structlog.get_logger()

GATHER_EVERY_S = 0.1
ASIDES_AT_ONCE = 3
"""Questions beside the turn that are answered at one time; further ones wait."""


class Session:
    """One conversation of one person or group with the agent."""

    def __init__(self, deps: SessionDeps, tenant: str, key: str, tasks: Supervised) -> None:
        self._deps = deps
        self._process = deps.process
        self.tenant = tenant
        self.key = key
        self._store = deps.store
        self._clock = deps.process.clocks.now
        self.fence = deps.process.ownership.fence_of(key)
        self.conversation = Conversation(self._store, deps.config, tenant, key, self._clock)
        self.mailbox = Mailbox(self._store, key, deps.config.mailbox_size, deps.kinds)
        self._reactions = deps.shown.signs
        self.cancellations = Cancellations()
        self._condenser = Condenser(deps, tasks)
        self._closed = False
        self._asides = asyncio.Semaphore(ASIDES_AT_ONCE)
        self._open_turns: deque[OpenTurn] = deque()  # begun before, to be resumed; the first may be running
        self._taken: list[InboxRow] = []  # from the mailbox, not claimed yet: an edit may still replace them
        self._has_slot = False  # for the turn of a row, until that turn ends
        self._turn: RunningTurn | None = None  # from the moment its claim is tried; after a failure until it is resumed
        self._tasks = tasks
        self._task: asyncio.Task[None] | None = None  # `run`, while there is anything to do
        self._care = tasks.care_of("session", key)

    # ------------------------------------------------------------ one turn after another

    def _wake(self) -> None:
        """Start `run`, if it does not run and the process does not end."""
        if self._task is None:
            with suppress(RuntimeError):
                self._task = self._tasks.start(self._keep_running)

    async def _keep_running(self) -> None:
        try:
            await run_again(self._care, self.run, self.mailbox.rewind)
        finally:
            self._task = None

    async def run(self) -> None:
        """Answer what waits, one turn after another, until nothing waits."""
        while not self._closed:
            if self._open_turns:
                await self._resume(self._open_turns[0])
            elif (row := await self.mailbox.next()) is None:
                return
            elif not await self._settles_question(row):
                await self._answer(row)

    async def _resume(self, open_turn: OpenTurn) -> None:
        """Resume a turn that was begun before: by an earlier process, or before it waited for its person."""
        try:
            await self._process.turn_limit.pauses.wait_for_end(self.tenant)
            await self._process.channels.when_loaded(open_turn.turn.address)  # no slot is held: it may never come
            async with self._process.turn_limit.slot(self.tenant, open_turn.attempts):
                failpoint("recovery_turn")
                if not self._closed:
                    await self._run_turn(open_turn.turn)
        finally:
            self._turn = None
            self._open_turns.popleft()

    async def _answer(self, row: InboxRow) -> None:
        """Answer a row, and what belongs to it, by a turn."""
        self._taken = [row]
        await self._wait_for_resume(row)
        await self._gather(row)  # no slot is held: a channel may never come
        self._taken += self.mailbox.take_along(row, (await self.conversation.load()).mode)
        async with self._process.turn_limit.begin(self._taken) as may_run:
            rows = list(self._taken)
            if not may_run:
                await self.give_up(rows)
            elif not self._closed:
                await self._claim_and_run(rows)

    async def _wait_for_resume(self, row: InboxRow) -> None:
        """Wait while an operator has paused the agents; the person is told once a pause."""
        pauses = self._process.turn_limit.pauses
        if (pause := pauses.of(self.tenant)) is None:
            return
        if not isinstance(row.event, SystemEvent):
            cause = Notice("paused", hashlib.blake2s(f"{pause.since} {self.key}".encode(), digest_size=16).hexdigest())
            parts = await self._to_parts(row, cause, Refused("answer.paused"))
            await self._store.commit(outbox.put, self.tenant, parts, self._clock())
        await pauses.wait_for_end(self.tenant)

    async def _claim_and_run(self, rows: Sequence[InboxRow]) -> None:
        try:
            self._has_slot = True
            turn = await self._claim()
        except Fenced as fenced:
            self._note_fenced(fenced)
        except Exception:  # noqa: BLE001  one turn that cannot even begin: recorded here, and the person is told
            log.exception("turn_not_begun", inbox_id=rows[0].id, session=self.key)
            await self.give_up(rows)
        else:
            if turn is not None:
                self._reactions.note_taken([row.id for row in rows[1:]])
                await self._run_turn(turn.claim.turn, turn)
        finally:
            self._turn, self._has_slot = None, False
            self._reactions.end_wait([row.id for row in rows])

    async def _run_turn(self, row: TurnRow, turn: RunningTurn | None = None) -> None:
        """Run a turn to its end. Resume it from its journal, unless it was just claimed; an unexpected error counts
        as a crash, and after the last attempt the person reads an apology.
        """
        attempts = 0
        with _turn_span(self.key, row):
            while attempts <= MAX_ATTEMPTS:
                attempts += 1
                try:
                    if turn is None:
                        turn = self._turn = await RunningTurn.resume(self._deps, self, row)
                    attempts = max(attempts, turn.claim.attempts)
                    with contain_exits():
                        await turn.run(gives_up=attempts > MAX_ATTEMPTS)
                except TurnParked:
                    log.info("turn_parked", turn_id=row.id)
                except Fenced as fenced:
                    self._note_fenced(fenced)
                except Exception:  # noqa: BLE001  one turn: recorded here, resumed, and its person told in the end
                    log.exception("turn_broken", attempts=attempts)
                    turn = None
                    continue
                else:
                    if row.kind != SUBAGENT:
                        self._condenser.consider(self, turn.claim, turn.principal, turn.channel)
                return
            log.error("turn_abandoned", session=self.key)

    def _note_fenced(self, fenced: Fenced) -> None:
        """Forget what another process may have changed: it owns the session now."""
        log.error("turn_fenced", session=self.key, error=str(fenced))
        self.conversation.forget()
        self._process.ownership.note_fenced()

    # ------------------------------------------------------------ what others ask of it

    def resume(self, open_turn: OpenTurn) -> None:
        """Resume a turn that was begun before, ahead of what waits in the mailbox."""
        self._open_turns.append(open_turn)
        self._wake()

    def put_back(self, row: InboxRow) -> None:
        """Requeue a row in its place."""
        self.mailbox.put_back([row])
        self._wake()

    def offer(self, row: InboxRow) -> None:
        """Take a message: it starts a turn, joins the running one or waits."""
        interrupts = self.mailbox.interrupts(row, self.conversation.mode)
        if self._process.ownership.is_shared and row.id < self.mailbox.offered_id:  # committed elsewhere meanwhile
            self.put_back(row)
            return
        if self._has_to_wait(row, interrupts=interrupts):
            self._reactions.show(row, Reaction.QUEUED)
        self.mailbox.offer(row)
        self._wake()
        if interrupts and self._turn is not None:
            self._turn.interrupt_for(row)

    def _has_to_wait(self, row: InboxRow, *, interrupts: bool) -> bool:
        """Return True if a turn runs that a message does not join, or is about to."""
        if self._turn is not None and self._turn.is_live:
            return interrupts or not self._turn.takes(row, self.conversation.mode)
        return bool(self._open_turns) or (self._has_slot and self.conversation.mode != "steer")

    def change(self, original_id: int, edit: InboxRow) -> None:
        """Give a message its new text, as long as no turn has claimed it."""
        self.mailbox.change(original_id, edit)
        self._taken[:] = [self.mailbox.current(row) for row in self._taken]  # the list is gathered in

    def drop_cleared(self, ids: Collection[int]) -> None:
        """Forget rows that the store has cleared."""
        self.mailbox.drop(ids)
        self._reactions.end_wait(ids)

    def close(self) -> None:
        """Begin no further turn; the next start finds what waits."""
        self._closed = True

    def abandon(self) -> None:
        """Stop for another process that owns the session by now; what runs ends soon and writes nothing."""
        self._closed = True
        self.mailbox.take(lambda _row: True)
        if self._turn is not None:
            self._turn.interrupt(EndReason.STOPPED)

    @property
    def idle_s(self) -> float:
        """Return how long the session is kept in memory without a message, in seconds."""
        return self._deps.config.idle_s

    def is_of(self, deps: SessionDeps) -> bool:
        """Return True if the session was made for this tenant, not for one that had its name before."""
        return self._deps is deps

    @property
    def running(self) -> bool:
        """True from the claim of a turn to its end."""
        return self._turn is not None

    def running_turn_of(self, user_id: str) -> TurnRow | None:
        """Return the running turn, if it is this person's."""
        row = None if self._turn is None else self._turn.claim.turn
        return row if row is not None and row.user_id == user_id else None

    def may_command(self, user_id: str, where: Address) -> bool:
        """Return True if this person may command the bot there now."""
        return self._process.people.may_command(user_id, f"{where.channel}:{where.account}")

    @property
    def busy(self) -> bool:
        """True if anything runs or waits in memory."""
        return self._task is not None or bool(self.mailbox)

    @property
    def where(self) -> tuple[str, str]:
        """Tenant and key, which identify the session."""
        return self.tenant, self.key

    async def answer_aside(self, row: InboxRow, principal: Principal, question: str) -> str:
        """Answer a question beside the turn; a reaction shows its person that it is being answered."""
        self._reactions.show(row, Reaction.STEERED)
        async with self._asides:
            return await answer_aside(self._deps, self, row, question, principal)

    @property
    def configured_permission_mode(self) -> Mode:
        """Return the permission mode of conversations in which no owner has set one."""
        return self._deps.in_force.of(self.key).permits.mode

    @property
    def tools(self) -> Sequence[str]:
        """Return the names of the agent's tools."""
        return [tool.name for tool in self._deps.in_force.of(self.key).tools]

    def is_missed(self, row: InboxRow) -> bool:
        """Return True if a row waited too long to be answered."""
        return is_missed(self._clock() - row.admitted_at, self._deps.config)

    def takes_command(self, row: InboxRow) -> bool:
        """Return True if a waiting row is a command's, not a turn's."""
        return self._deps.kinds.kind_of(row) is None and not isinstance(row.event, MessageDeleted)

    def cancel(self, reason: EndReason, before_id: int, user_id: str | None) -> bool:
        """Cancel the turn that answers an earlier message of a person (None: anybody); return False if none does."""
        self.cancellations.note(before_id, user_id)
        return self._turn is not None and self._turn.cancel(reason)

    def go_on_in(self, state: SessionState) -> None:
        """Switch to another generation or mode of the conversation; read it anew if it has a history."""
        revived = (state.next_seq > 0 or state.continues) and not self.conversation.is_living(state.id)
        self.conversation.use(state)
        if revived:
            self.conversation.forget()

    # ------------------------------------------------------------ from rows to a claim

    async def _settles_question(self, row: InboxRow) -> bool:
        """Let a row settle the question that a turn of this session waits with; return False if it is about none.

        What the person says is the answer they typed; otherwise it joins the turn, and nothing that was asked for runs
        until the model asks for it again.
        """
        parking = self._process.parking
        await self._end_wait_for_tasks(row)
        parked = parking.joined_by(self.tenant, self.key, row)
        if parked is None or self._deps.kinds.kind_of(row) != CHAT:
            return False
        approval, typed = parked.approval, typed_consent(parked.approval, text_of(row))
        if typed is None and parked.open_turn.session_key != self.key:
            return False  # it is not said to a task
        mode = (await self.conversation.load()).mode
        if typed is None and mode != "steer" and not self.mailbox.interrupts(row, mode):
            return False
        if typed is None:
            self.mailbox.put_back([row])
        await self._store.commit(commits.settle_question, self.fence, approval, typed, row.id, self._clock())
        if parked.open_turn.session_key != self.key:
            parking.release([approval.turn_id])
        elif (open_turn := parking.drop(approval.turn_id)) is not None:
            self._open_turns.append(open_turn)
        return True

    async def _end_wait_for_tasks(self, row: InboxRow) -> None:
        """End the person's turns that wait for tasks, and the tasks, if their message interrupts; others do not wait
        behind them.
        """
        if not self._process.parking.waits_for_task(self.tenant, self.key, row):
            return
        if self.mailbox.interrupts(row, (await self.conversation.load()).mode):
            self.cancellations.note(row.id, row.user_id)
            stop = partial(commits.stop_waiting, fence=self.fence, row=row, now=self._clock())
            self._process.parking.release(await self._store.commit(stop))

    async def _gather(self, row: InboxRow) -> None:
        """Wait for the rest of a message that its client split."""
        limits = (await self._process.channels.when_loaded(row.event.address)).limits
        rows = self._taken
        while (until := open_until(rows[-1], limits)) is not None:
            more = self.mailbox.take_next(lambda other: belongs(rows[-1], other, limits))
            wait_s = (until - self._clock()).total_seconds()
            if more is not None:
                rows.append(more)
            elif 0 < wait_s <= JOIN_WITHIN.total_seconds():  # longer: the clock was set back since it came in
                await asyncio.sleep(min(wait_s, GATHER_EVERY_S))
            else:
                break

    async def _claim(self) -> RunningTurn | None:
        """Claim the taken rows as they read now; return None if they were refused or deleted meanwhile."""
        state = await self.conversation.load()
        spent: list[Spent] = []
        while rows := list(self._taken):
            row, title = rows[0], ""
            if not self.may_command(row.user_id, row.event.address):
                await self._refuse(rows, "the sender may not command the bot any more")
                return None
            await self._note_language(row, title_words(row))
            channel = await self._process.channels.when_loaded(row.event.address)
            new = new_turn(row, state.id, self._deps.kinds.kind_of(row) or CHAT, self._clock())
            note_spender(new, self._deps.principal_of(new, self.key))
            items = await self._read(rows, channel, new)
            if items is None:
                continue
            if items[0].spoken:
                await self._note_language(row, items[0].spoken)
            if self.conversation.is_new(state.id):
                title = title_of(title_words(row) or items[0].spoken)
                items = (await self._deps.user_items.begin(row.event, items[0]), *items[1:])
            items = await self._recall(new, items, spent)
            if rows != self._taken:  # edited meanwhile
                continue
            new = replace(new, started_at=self._clock())
            started = TurnStarted(items)
            claim = Claim(new, row.id, message_id_of(row), own_route_id(row), (started,))
            turn = self._turn = RunningTurn(self._deps, self, channel, claim)
            self._taken = []
            place = JournalPlace(self.fence, new, self.conversation.next_seq(new.session_id, 1))
            ids, costs = [row.id for row in rows], CostsBeside(spent)
            heard = self._show_transcripts(rows, items, turn) if any(item.spoken for item in items) else ()
            commit = partial(
                commits.claim, place=place, ids=ids, started=started, title=title, costs=costs, heard=heard
            )
            failpoint("claim_pre")
            still_open = await self._store.commit(commit)
            if len(still_open) == len(rows):
                self.mailbox.note_begun(rows)
                return turn
            # a part was taken back: the rest is claimed anew, as it reads by now
            self._turn = None
            self._taken = [self.mailbox.current(row) for row in rows if row.id in still_open]
        return None

    def _show_transcripts(
        self, rows: Sequence[InboxRow], items: Sequence[UserItem], turn: RunningTurn
    ) -> list[OutboxPart]:
        """Return the messages that show what was heard in voice messages."""
        messages, locale = to_messages(rows, turn.channel.limits), turn.principal.locale
        pairs = zip(messages, items, strict=True)
        return [part for parts, item in pairs for part in show_transcript(turn.channel, parts[0], item, locale)]

    async def _note_language(self, row: InboxRow, words: str) -> None:
        """Remember the language of a person's words, or that they ask for; commands and reminders use it, too."""
        said, person = self._deps.kinds.language_of(words), self._process.people.principal(row.user_id)
        if said is None or person is None:
            return
        language, keeps = said
        is_same = language_of(person.locale) == language
        if (is_same and person.keeps_language == keeps) or (person.keeps_language and not keeps):
            return

        def note(connection: Connection) -> Person | None:
            people.set_locale(connection, row.user_id, language, keeps=keeps)
            return people.person_of(connection, row.user_id)

        changed = await self._store.commit(note)
        if changed is not None:
            self._process.people.put(changed)

    async def _read(self, rows: Sequence[InboxRow], channel: Channel, turn: TurnRow) -> tuple[UserItem, ...] | None:
        """Return what is said in these rows, an item a message; None if other rows are to be claimed by now.

        That is so if a row was edited, or if some of them were refused. Costs count to the turn.
        """
        messages = to_messages(rows, channel.limits)
        items = [await self._deps.user_items.build(join_rows(parts).event, channel, turn) for parts in messages]
        if rows != self._taken:  # edited while its files were read
            return None
        for why in items:
            if isinstance(why, MessageRefusal):
                refused = [row for parts, item in zip(messages, items, strict=True) if item is why for row in parts]
                self._taken = [row for row in rows if row not in refused]
                await self._refuse(refused, why.detail, why.told_to(self._process.people.principal(refused[0].user_id)))
                return None
        return tuple(item for item in items if not isinstance(item, MessageRefusal))

    async def _recall(self, turn: TurnRow, items: tuple[UserItem, ...], spent: list[Spent]) -> tuple[UserItem, ...]:
        """Return the messages of a turn with the memories that matter to them; `spent` gets what the choice costs."""
        memory = self._deps.memory_of(self.key)
        if turn.kind != CHAT or memory is NO_MEMORY:
            return items

        async def note(response: Spent) -> None:
            spent.append(response)

        principal = self._deps.principal_of(turn, self.key)
        words = "\n".join(item.text for item in items)
        known = self.conversation.recall(turn.session_id, turn.user_id).history
        seen = "\n".join(item.recalled for item in known if isinstance(item, UserItem))
        recalled = await memory.recall(principal, words, seen, note)
        return (*items[:-1], replace(items[-1], recalled=recalled)) if recalled else items

    async def give_up(self, rows: Sequence[InboxRow]) -> None:
        """Fail rows that cannot start a turn and apologise; fail them even if the apology cannot be sent."""
        try:
            await self._refuse(rows, "it could not begin", Refused("answer.broken"), Outcome.FAILED)
        except Exception:  # noqa: BLE001  one turn that cannot even begin: recorded; those behind it go on
            log.exception("apology_broken", inbox_id=rows[0].id, session=self.key)
            await self._refuse(rows, "it could not begin, and nobody could be told", None, Outcome.FAILED)
        self._reactions.end_wait([row.id for row in rows])

    async def _to_parts(self, row: InboxRow, cause: Cause, told: Refused | None) -> list[OutboxPart]:
        """Return the message with these words for the person of a row, in the way that the row can be answered."""
        person = self._process.people.principal(row.user_id) if told else None
        locale = person.locale if person else None
        text = told.text(self._deps.shown.texts, locale) if told else ""
        channel = await self._process.channels.when_loaded(row.event.address)
        said = OutboundMessage(row.event.address, cause, text, reply_route_of=own_route_id(row), locale=locale)
        return to_parts(channel, said)

    async def _refuse(
        self, rows: Sequence[InboxRow], detail: str, told: Refused | None = None, outcome: Outcome = Outcome.REFUSED
    ) -> None:
        """Settle rows without a turn; the person reads these words, or nothing."""
        row = rows[0]
        parts = await self._to_parts(row, ReplyTo(row.id), None if is_task(row) else told)
        refuse = partial(
            commits.refuse, fence=self.fence, rows=rows, parts=parts, outcome=outcome, detail=detail, clock=self._clock
        )
        await self._store.commit(refuse)
        ids = {"inbox_id": row.id, "count": len(rows), "user_id": row.user_id, "session": self.key}
        log.info("message_refused", **ids, outcome=outcome, why=detail)
        if outcome is Outcome.REFUSED:
            self._reactions.show(row, Reaction.REFUSED)


@contextmanager
def _turn_span(session_key: str, turn: TurnRow) -> Iterator[None]:
    """Open the span of a turn; log lines in it name the turn, its session and its person."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": agent_of(session_key),
        "user.id": turn.user_id,
        "gen_ai.conversation.id": turn.session_id,
        "tenk.turn.id": turn.id,
        "tenk.turn.kind": turn.kind,
    }
    ids = {"session_id": turn.session_id, "turn_id": turn.id, "user_id": turn.user_id}
    with span(f"invoke_agent {agent_of(session_key)}", attributes) as current:
        before = structlog.contextvars.bind_contextvars(**ids, **trace_id_of(current))
        try:
            yield
        finally:
            structlog.contextvars.reset_contextvars(**before)
