"""A turn of a session: one run of the agent, from its claim to its end.

The agent decides what is said, `commits` what each commit writes, the lane when it is sent.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NoReturn, Self

import structlog

from agent.consent import AskedCall, Consent, Parked, TurnParked
from agent.fallbacks import Fallback, Recovered
from agent.journal import models_and_tools, turn_figures
from agent.ports import (
    Change,
    LocalEffect,
    Spent,
    Summary,
    TextDelta,
    TextDiscarded,
    Turn,
    TurnEvent,
    TurnPorts,
)
from agent.schedules.prompts import drop_silence
from agent.tools.base import ToolError
from agent.tools.results import success_result
from agent.transcript import (
    EndReason,
    JournalEvent,
    ModelResponded,
    Steered,
    ToolIntended,
    ToolReturned,
    TurnEnded,
    UserItem,
    answer_text,
)
from agent.turn_events import TurnEvents
from agent.turn_progress import HistoryShortened, ModelAnswered, QuestionPut, ToolEnded, TurnFinished
from channels.base import Channel, Reaction, SendsMedia
from channels.messages import SystemEvent
from gateway.delivery.followers import followers
from gateway.delivery.live_answer import HiddenAnswer, LiveAnswer
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.failpoints import failpoint
from gateway.sessions import commits
from gateway.sessions.budgets import note_spender
from gateway.sessions.commits import CostsBeside, JournalPlace
from gateway.sessions.condensing import SummaryKeeper
from gateway.sessions.deps import SessionContext, SessionDeps
from gateway.sessions.inbox_rules import is_missed, missed_text
from gateway.sessions.made_files import made_files
from gateway.sessions.parking import ParkedTurn
from gateway.sessions.prompt_hooks import MessageRefusal
from gateway.sessions.questions import is_numbered, on_one_line
from gateway.sessions.speech import may_speak, spoken_parts
from gateway.sessions.turn_end import final_parts, final_text
from gateway.sessions.turn_lifecycle import Claim, TurnLifecycle
from gateway.sessions.voice import show_transcript
from gateway.spans import note_attributes
from gateway.store import approvals, children, inbox, journal, outbox
from gateway.store.approvals import Approval
from gateway.store.children import SUBAGENT
from gateway.store.engine import Connection
from gateway.store.journal import OpenTurn, TurnRow
from gateway.store.outbox import MediaRef, OutboxPart, files_of
from gateway.store.schedules import HEARTBEAT
from gateway.store.tables.base import new_id
from gateway.telemetry import TURN_SECONDS, TURNS, series

ABOUT_CHARS = 120
"""Characters of a call's arguments that are kept with a question."""

WITHHELD = UserItem("(The input guard withheld a message here.)")

SPOKEN = (Consent.ALLOWED, Consent.REMEMBERED, Consent.DENIED, Consent.EXPIRED)
"""The answers that hold for a question; a withdrawn question is asked anew."""
log = structlog.get_logger()

BUGS = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError, ValueError)
"""Errors in the code of a local effect, which end its call; any other ends the attempt at the turn."""

EVENT_FAILPOINTS = {ModelResponded: "response", ToolIntended: "intent", ToolReturned: "result", Steered: "steer"}


class RunningTurn(TurnLifecycle):
    """One attempt at a turn: its claim and cancellation, and the agent's journal, consents and watchers.

    It ends with `finish`, with `park`, or with the process. Its name is not `Turn`: `agent.ports.Turn` is what the
    agent reads of it.
    """

    def __init__(self, deps: SessionDeps, session: SessionContext, channel: Channel, claim: Claim) -> None:
        """Take a claim that is committed, or about to be."""
        stop: asyncio.Future[EndReason] = asyncio.get_running_loop().create_future()
        super().__init__(claim, session.cancellations, stop.set_result)
        turn = claim.turn
        self.channel = channel
        self.principal = deps.principal_of(turn, session.key)
        self._deps = deps
        self._process = deps.process
        self._session = session
        self._turn = turn
        self.events = list(claim.events)
        self._stop = stop
        self._has_streamed = False
        self._is_read = turn.kind != SUBAGENT  # by a person, in the chat
        is_seen = turn.kind not in (SUBAGENT, HEARTBEAT)  # while it runs
        clean = deps.process.scrubber.last_look
        followed = followers(channel, turn, clean, deps.shown.texts, self.principal.locale) if is_seen else ()
        self._watched = TurnEvents(deps.shown.watch.note_event, *followed)
        self._answer = OutboundMessage(
            turn.address,
            claim.answer,
            "",
            turn.reply_to,
            reply_route_of=claim.answers,
            buttons_of=turn.user_id,
            locale=self.principal.locale,
        )
        self._live = (LiveAnswer if is_seen else HiddenAnswer)(
            deps.shown.live, channel, turn.tenant, self._answer, session.fence, self._watched.reader()
        )

    # ---------------------------------------------------------------- its life

    @classmethod
    async def resume(cls, deps: SessionDeps, session: SessionContext, turn: TurnRow) -> Self:
        """Read a turn that was begun before from its journal, and count the attempt."""
        store, conversation = deps.store, session.conversation
        attempts = await store.commit(commits.count_attempt, session.fence, turn.id)
        await conversation.reload()
        next_seq = await store.read(partial(journal.next_seq, session_id=turn.session_id), lasting=True)
        conversation.number_from(turn.session_id, next_seq)
        rows = await store.read(partial(inbox.rows_of_turn, turn_id=turn.id), lasting=True)
        events = await store.read(partial(journal.events_of_turn, turn_id=turn.id), lasting=True)
        waited = await store.read(partial(approvals.waiting_time, turn_id=turn.id), lasting=True)
        first_id, event = rows[0]
        if await store.read(partial(inbox.is_settled, id_=first_id), lasting=True):
            session.cancellations.note(first_id + 1, turn.user_id)  # `/stop` was committed, the turn's own end was not
        answers = first_id if inbox.route_of(event) is not None else None
        message_id = getattr(event, "message_id", None)
        claim = Claim(turn, first_id, message_id, answers, events, attempts, resumed=True, waited=waited)
        return cls(deps, session, await deps.process.channels.when_loaded(turn.address), claim)

    async def run(self, *, gives_up: bool) -> None:
        """Let the agent run to the end of the turn; if it `gives_up`, apologise instead.

        Raises:
            TurnParked: the turn waits for its person's approval.
            Fenced: another process owns the session now.
        """
        turn, claim = self._turn, self.claim
        note_spender(turn, self.principal)
        log.debug("turn_started", kind=turn.kind, attempt=claim.attempts, resumed=claim.resumed)
        self.begin()
        try:
            await self._show_recovered()
            if gives_up:
                await self._end_unanswered(EndReason.MODEL_ERROR, self._text("answer.broken"))
            elif is_missed(behind := claim.time_since_start(self._process.clocks.now()), self._deps.config):
                missed = missed_text(self._deps.shown.texts, behind, self.principal.locale)
                await self._end_unanswered(EndReason.TIMEOUT, missed)
            else:
                failpoint("model_asked")
                await self._run_agent()
        finally:
            self._live.cancel()
        self._session.conversation.note_ended(turn.session_id, turn.user_id, turn.id, self.events)

    async def _show_recovered(self) -> None:
        """Begin to show the answer, from what an earlier attempt left of it in the chat."""
        claim = self.claim
        standing: Sequence[outbox.RecoveredPart] = ()
        if claim.resumed:
            query = partial(outbox.recovered_parts, answer=claim.answer)
            standing = await self._deps.store.read(query, lasting=True)
        self._live.start(claim.message_id, standing, answer_text(claim.events))

    async def _run_agent(self) -> None:
        turn, conversation = self._turn, self._session.conversation
        await conversation.load()  # it may have been told to forget what it knew
        known = conversation.recall(turn.session_id, turn.user_id, turn.id)
        asked = Turn(
            turn.id,
            self.principal,
            known.history,
            self.claim.events,
            turn.started_at,
            self._process.channels.hints(turn.address),
            known.starts,
            known.summary,
            conversation.prefix,
            conversation.pieces,
            known.tokens,
            conversation.permissions_of(turn.session_id, turn.user_id),
            await self._deps.memory_of(self._session.key).read_memory(self.principal),
            f"{turn.session_id}:{turn.user_id}",
        )
        agent = self._deps.in_force.of(self._session.key)
        await self._deps.turns_of[turn.kind](asked, TurnPorts(self, self, self, self), agent)

    async def _end_unanswered(self, reason: EndReason, text: str) -> None:
        await self.finish(reason, text, None, text)

    def _text(self, key: str) -> str:
        return self._deps.shown.texts.text(self.principal.locale, key)

    # ---------------------------------------------------------------- the journal

    async def record(self, *events: JournalEvent) -> None:
        """Append events, durable when this returns."""
        point = EVENT_FAILPOINTS.get(type(events[-1]), "response")
        place = self._reserve(len(events))
        failpoint(f"{point}_pre")
        await self._deps.store.commit(commits.record, place=place, events=events, clock=self._process.clocks.now)
        self._note_journaled(events)

    async def apply(self, effect: LocalEffect, returned: ToolReturned) -> ToolReturned:
        """Run a local effect and journal its result in one commit."""
        place, clock, dates = self._reserve(1), self._process.clocks.now, self._process.clocks.dates

        def run(connection: Connection) -> str:
            change = Change(connection, self.principal, returned.call_key, dates())
            try:
                return self.scrub(success_result(effect.run(change)))
            except BUGS as bug:
                log.exception("effect_broken", tool=returned.name, call_key=returned.call_key)
                why = f"{returned.name} failed: {type(bug).__name__}. Nothing was changed."
                raise ToolError(why) from None

        failpoint("effect_pre")
        event = await self._deps.store.commit(commits.apply, place=place, returned=returned, run=run, clock=clock)
        self._note_journaled((event,))
        return event

    async def keep_summary(self, summary: Summary, responses: Sequence[Spent]) -> None:
        """Let notes stand for the older part of the conversation, in one commit."""
        keeper = SummaryKeeper(self._deps, self._session, self.channel, self.claim, self.principal.locale)
        await keeper.keep(summary, responses)
        self._watched.publish(HistoryShortened("summary"))

    async def note_cost(self, response: Spent) -> None:
        """Count what a model call cost that is no step of the turn."""
        fence, turn, clock = self._session.fence, self._turn, self._process.clocks.now
        await self._deps.store.commit(
            commits.note_cost, fence=fence, turn=turn, costs=CostsBeside((response,)), clock=clock
        )

    def scrub(self, text: str) -> str:
        """Return a tool's result without secrets, before it is journaled."""
        return self._process.scrubber.scrub(text)

    async def whole_result(self, handle: str) -> str | None:
        """Return the raw result of a call of this conversation, if it ran for the person of this turn."""
        turn = self._turn
        look = partial(journal.whole_result, session_id=turn.session_id, user_id=turn.user_id, call_key=handle)
        return await self._deps.store.read(look)

    async def load_pictures(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the bytes of those of these pictures of the conversation that are still kept."""
        return await self._deps.store.read(partial(files_of, ids=ids), lasting=True)

    def _reserve(self, count: int) -> JournalPlace:
        """Places for the next events, fixed before anything is awaited."""
        seq = self._session.conversation.next_seq(self._turn.session_id, count)
        return JournalPlace(self._session.fence, self._turn, seq)

    def _note_journaled(self, events: Sequence[JournalEvent]) -> None:
        self.events += events
        self._deps.shown.watch.note_journaled(events)
        for event in events:
            if isinstance(event, Recovered) and event.fallback is Fallback.COMPACTED:
                self._watched.publish(HistoryShortened(event.fallback))
            elif isinstance(event, ModelResponded):
                self._watched.publish(ModelAnswered(event.model, event.usage))
            elif isinstance(event, TurnEnded):
                self._watched.publish(TurnFinished(event.reason))

    # ---------------------------------------------------------------- messages that join it

    def steering_waits(self, *, by_person: bool = False) -> bool:
        """Return True if a queued message can steer this turn."""
        if not self.may_steer(self._session.conversation.mode):
            return False
        waiting = self._session.mailbox.steering(self._turn)
        return any(not by_person or not isinstance(row.event, SystemEvent) for row in waiting)

    async def steer(self, step: int, overtaken: Sequence[ToolReturned]) -> tuple[UserItem, ...]:
        """Claim what the principal said meanwhile, with the results it causes, in one commit."""
        if not self.steering_waits():
            return ()
        mailbox = self._session.mailbox
        waiting = mailbox.steering(self._turn)
        built = [await self._deps.user_items.build(row.event, self.channel, self._turn) for row in waiting]
        items = [item.instead or WITHHELD if isinstance(item, MessageRefusal) else item for item in built]
        rows = mailbox.take_rows(waiting)  # what was edited meanwhile is read at the next checkpoint
        read = [(row, item) for row, item in zip(waiting, items, strict=True) if row in rows]
        locale = self.principal.locale
        heard = {row.id: parts for row, item in read if (parts := show_transcript(self.channel, row, item, locale))}
        place, clock = self._reserve(len(overtaken) + 1), self._process.clocks.now
        try:
            failpoint("steer_pre")
            claimed = await self._deps.store.commit(
                commits.steer, place=place, step=step, overtaken=overtaken, read=read, heard=heard, clock=clock
            )
        except BaseException:
            mailbox.put_back(rows)
            raise
        mailbox.note_begun(row for row, _ in claimed)
        taken = tuple(item for _, item in claimed)
        if taken:
            self._note_journaled((*overtaken, Steered(step, taken)))
        for row, _ in claimed:
            self._deps.shown.signs.show(row, Reaction.STEERED)
        return taken

    # ---------------------------------------------------------------- approvals

    async def consent(self, ask: AskedCall) -> Consent | None:
        """Return the answer to this call, or a remembered consent."""

        def look(connection: Connection) -> Consent | None:
            said = approvals.newest(connection, self._turn.id, ask.call_key)
            if said is not None and said.fingerprint == ask.fingerprint and said.state in SPOKEN:
                return said.state
            mine = self._turn.tenant, self._turn.user_id
            known = ask.may_remember and approvals.is_remembered(connection, *mine, ask.tool)
            return Consent.REMEMBERED if known else None

        return await self._deps.store.read(look, lasting=True)

    async def park(self, ask: AskedCall, left_s: float) -> NoReturn:
        """Put the question, let the turn wait: one commit. A stop that came too early for it takes it back."""
        await self._live.settle()
        approval = self._approval(ask)
        parked = Parked(ask.step, ask.call_key, ask.tool, approval.id, left_s, ask.backfilled)
        find = partial(children.of_session, session_key=self._session.key)
        task = None if self._is_read else await self._deps.store.read(find, lasting=True)
        about = "" if task is None else task.description
        said = self._deps.shown.questions.message(self.channel, self.claim, self.principal, ask, approval, about)
        parts = to_parts(
            self.channel, said, pieces=self._live.pages.all_of(said.text), standing=self._live.standing
        )  # what stands there already becomes the question
        await self._deps.store.commit(commits.park, self._reserve(1), parked, approval, parts)
        self._process.parking.add(ParkedTurn(OpenTurn(self._turn, self._session.key, parked=True), approval))
        self._note_journaled((parked,))
        self._watched.publish(QuestionPut(ask.tool))
        self._live.clear_reaction()
        if self.stopping() is not None:
            await self._deps.store.commit(approvals.settle, approval, Consent.WITHDRAWN, self._process.clocks.now())
            self._process.parking.release([self._turn.id])
        raise TurnParked

    def _approval(self, ask: AskedCall) -> Approval:
        now = self._process.clocks.now()
        return Approval(
            id=new_id(),
            tenant=self._turn.tenant,
            turn_id=self._turn.id,
            user_id=self._turn.user_id,
            call_key=ask.call_key,
            tool=ask.tool,
            fingerprint=ask.fingerprint,
            about=self._process.scrubber.scrub(on_one_line(ask.arguments))[:ABOUT_CHARS],
            may_remember=ask.may_remember,
            numbered=is_numbered(self.channel),
            asked_at=now,
            until=now + self._deps.shown.questions.valid,
        )

    # ---------------------------------------------------------------- tasks whose results come later

    async def begin_work(self, effect: LocalEffect, call_key: str) -> None:
        """Start the work of a call in a commit of its own."""
        dates = self._process.clocks.dates

        def run(connection: Connection) -> None:
            effect.run(Change(connection, self.principal, call_key, dates()))

        await self._deps.store.commit(commits.begin_effect, self._session.fence, run)

    async def wait(self, step: int, calls: Mapping[str, str], left_s: float) -> None:
        """Let the turn wait for the first of these tasks to end, unless one has; a stop that came too early ends it."""
        await self._live.settle()
        store, place = self._deps.store, self._reserve(len(calls))
        parked = tuple(Parked(step, key, tool, "", left_s) for key, tool in calls.items())
        if not await store.commit(commits.wait, place, parked, self._process.clocks.now):
            self._live.resume()
            return
        open_turn = OpenTurn(self._turn, self._session.key, parked=True)
        self._process.parking.add(ParkedTurn(open_turn, None))
        self._note_journaled(parked)
        is_parked = await store.read(partial(children.is_parked, turn_id=self._turn.id), lasting=True)
        if not is_parked or self.stopping() is not None:  # the task has ended before it was known that the turn waits
            self._process.parking.release([self._turn.id])
        raise TurnParked

    # ---------------------------------------------------------------- its watchers

    def progress(self, event: TurnEvent) -> None:
        """Tell the live answer, metrics and logs."""
        if isinstance(event, TextDelta):
            if not self._has_streamed:
                self._has_streamed = True
                failpoint("model_first_text")
        elif isinstance(event, TextDiscarded):
            event = TextDiscarded(answer_text(self.events))  # the response under way is void, not the answers before it
        elif isinstance(event, ToolEnded):
            failpoint("tool_done")
        self._watched.publish(event)

    async def let_watchers_read(self) -> None:
        """Wait until the live answer is not too far behind."""
        await self._watched.drain()

    def stopping(self) -> EndReason | None:
        """Why the turn should end now; asked before every step and every tool (A33)."""
        if self.cancelled is None and not self._session.may_command(self._turn.user_id, self._turn.address):
            self.interrupt(EndReason.STOPPED)
        waiting = self._session.mailbox.first_to_interrupt(self._turn, self._session.conversation.mode)
        if waiting is not None:  # it came before this ran, perhaps before a crash
            self.interrupt(EndReason.STOPPED)
        return self.cancelled

    def until_stopped(self) -> asyncio.Future[EndReason]:
        """Return a future of the reason to end."""
        return self._stop

    # ---------------------------------------------------------------- its end

    async def finish(
        self,
        reason: EndReason,
        text: str,
        response: ModelResponded | None,
        note: str = "",
        *,
        busy_s: float | None = None,
        why: str = "",
    ) -> bool:
        """End the turn in one commit; False when a message came in that it should read first."""
        if reason is EndReason.COMPLETED and self.steering_waits():
            return False
        await self._live.settle()
        ended = (*self.events, *([response] if response else []), TurnEnded(reason, text))
        locale = self.principal.locale
        nothing_left, alone_stopped = self._text("answer.nothing_left"), self._text("answer.alone_stopped")
        buttons = self._deps.shown.replies.buttons(self.channel, self._turn, ended, locale) if self._is_read else ()
        lines = self._deps.shown.replies.lines(self.channel, ended, locale)
        files = await self._made_files(reason)
        standing, pages = self._live.standing, self._live.pages
        is_shown = bool(standing) or self._has_streamed
        is_asked = self._turn.kind not in commits.BY_ITSELF
        speech_chars = self._deps.shown.speech_chars if is_asked and may_speak(self.channel, self.principal) else 0

        def compose() -> tuple[str, list[OutboxPart]]:
            said = self._process.scrubber.last_look(text).strip()
            if self._is_silent(reason, said if response is None else response.text):
                return said, []
            said = drop_silence(said) if self._turn.kind == HEARTBEAT else said
            said = final_text(reason, said, alone_stopped=alone_stopped, nothing_left=nothing_left, is_shown=is_shown)
            if not self._is_read:
                return said, []
            answer = replace(self._answer, text=said, buttons=buttons, media=files)
            parts = final_parts(
                self.channel, answer, lines=lines, nothing_left=nothing_left, pages=pages, standing=standing
            )
            if speech_chars and reason is EndReason.COMPLETED and said != nothing_left:
                number = max([len(standing), *(part.number + 1 for part in parts)])
                parts += spoken_parts(answer, self._turn.id, speech_chars, number)
            return said, parts

        said, parts = await self._process.delivery.long_texts.run(len(text), compose)
        note = said if said == nothing_left else self._process.scrubber.last_look(note).strip()
        if reason is EndReason.COMPLETED and self.steering_waits():
            self._live.resume()
            return False
        await self._end(TurnEnded(reason, said, note, busy_s, why), response, parts)
        self._live.show_wait(busy_s)
        return True

    def _is_silent(self, reason: EndReason, last: str) -> bool:
        """Return True for a heartbeat that has nothing to say, or fails, unless its person has written meanwhile."""
        if self._turn.kind != HEARTBEAT or any(isinstance(event, Steered) for event in self.events):
            return False
        return reason is not EndReason.COMPLETED or not drop_silence(last)

    async def _made_files(self, reason: EndReason) -> tuple[MediaRef, ...]:
        """Return the files that this turn's tools made for its answer and that are still kept."""
        named = made_files(self.events) if reason is EndReason.COMPLETED else ()
        if not named or not isinstance(self.channel, SendsMedia):
            return ()
        ids = [file.blob for file in named]
        kept = await self._deps.store.read(partial(files_of, ids=ids), lasting=True)
        return tuple(file for file in named if file.blob in kept)

    async def _end(self, ended: TurnEnded, response: ModelResponded | None, parts: Sequence[OutboxPart]) -> None:
        self.begin_end()
        reason = ended.reason
        events = (ended,) if response is None else (response, ended)
        delivery = self._process.delivery
        place, first_id, clock = self._reserve(len(events)), self.claim.first_id, self._process.clocks.now
        first_by = delivery.ownership.sends(self._turn.address) if parts and delivery.reserve(parts[0]) else None

        def commit_end(connection: Connection) -> None:
            commits.end(connection, place, events, reason, first_id, parts, clock, first_by=first_by)
            failpoint("final_pre")

        try:
            await self._deps.store.commit(commit_end)
        except Exception:
            if parts:
                delivery.release(parts[0])
            raise
        self._note_journaled(events)
        self._live.clear_reaction()
        self._measure_end(ended, parts)

    def _measure_end(self, ended: TurnEnded, parts: Sequence[OutboxPart]) -> None:
        reason = ended.reason
        series(TURNS, reason.value).inc()
        duration_s = self.claim.time_since_start(self._process.clocks.now()).total_seconds()
        TURN_SECONDS.observe(duration_s)
        figures = turn_figures(self.events)
        note_attributes(
            {
                "tenk.turn.end_reason": reason.value,
                "gen_ai.usage.input_tokens": figures["input_tokens"],
                "gen_ai.usage.output_tokens": figures["output_tokens"],
            }
        )
        log.info(
            "turn_ended",
            kind=self._turn.kind,
            reason=reason.value,
            why=ended.why or None,
            duration_s=round(duration_s, 3),
            parts=len(parts),
            **models_and_tools(self.events),
            **figures,
        )
