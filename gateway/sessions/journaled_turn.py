"""Carries out what a running turn wants of the world: the agent's three ports over journal, mailbox and delivery.

It composes commits; `commits` says what each of them writes. The agent decides what is said, the lane when it is sent.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NoReturn, Self

import structlog

from agent.consent import AskedCall, Consent, Parked, TurnParked
from agent.fallbacks import Fallback, Recovered
from agent.journal import models_and_tools, turn_figures
from agent.ports import Change, LocalEffect, Principal, Spent, Summary, TextDelta, TextDiscarded, TurnEvent
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
from agent.turn_progress import HistoryShortened, QuestionPut, ToolEnded, TurnFinished
from channels.base import Channel, Reaction, SendsMedia
from channels.messages import Button
from gateway.delivery.live_answer import LiveAnswer, followers
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.failpoints import failpoint
from gateway.sessions import commits
from gateway.sessions.commits import CostsBeside, JournalPlace
from gateway.sessions.condensing import SummaryKeeper
from gateway.sessions.deps import SessionContext, SessionDeps
from gateway.sessions.made_files import made_files
from gateway.sessions.parking import ParkedTurn
from gateway.sessions.prompt_hooks import MessageRefusal
from gateway.sessions.questions import is_numbered
from gateway.sessions.turn import ClaimedTurn
from gateway.spans import note_attributes
from gateway.store import approvals, journal, outbox
from gateway.store.approvals import Approval
from gateway.store.engine import Connection
from gateway.store.journal import OpenTurn
from gateway.store.outbox import MediaRef, OutboxPart, OutboxRow, files_of
from gateway.store.tables.base import new_id
from gateway.telemetry import TURN_SECONDS, TURNS, series

WITHHELD = UserItem("(The input guard withheld a message here.)")

SPOKEN = (Consent.ALLOWED, Consent.REMEMBERED, Consent.DENIED, Consent.EXPIRED)
"""The answers that hold for a question; a withdrawn question is asked anew."""
log = structlog.get_logger()

EVENT_FAILPOINTS = {ModelResponded: "response", ToolIntended: "intent", ToolReturned: "result", Steered: "steer"}


@dataclass(frozen=True, slots=True)
class _Said:
    """The additions to an answer's text."""

    buttons: tuple[Button, ...]
    lines: str  # the suggestions, where there are no buttons
    files: tuple[MediaRef, ...]
    nothing_left: str  # stands where there are none


STOPPED_SIGN = "⏹"
"""Stands for an empty answer that was stopped; the command tells the person."""


class JournaledTurn:
    """Journal, consents and watchers of one attempt at a turn. It ends with `finish`, or with the process."""

    def __init__(
        self,
        deps: SessionDeps,
        session: SessionContext,
        channel: Channel,
        claimed: ClaimedTurn,
        principal: Principal,
    ) -> None:
        """Start the turn, whose claim is committed."""
        self._deps = deps
        self._process = deps.process
        self._session = session
        self._channel = channel
        self._claimed = claimed
        self._turn = claimed.turn
        self._principal = principal
        self._stop: asyncio.Future[EndReason] = asyncio.get_running_loop().create_future()
        self._has_streamed = False
        self._watched = TurnEvents(
            deps.shown.watch.note_event, *followers(channel, claimed.turn, deps.process.scrubber.last_look)
        )
        answer = OutboundMessage(
            claimed.turn.address,
            claimed.source_id,
            "",
            claimed.turn.reply_to,
            reply_route_of=claimed.answers,
            locale=principal.locale,
        )
        self._live = LiveAnswer(
            deps.shown.live, channel, claimed.turn.tenant, answer, session.fence, self._watched.reader()
        )
        self.events = list(claimed.events)
        session.turn.run(steers=session.conversation.mode == "steer", on_cancel=self._stop.set_result)

    async def __aenter__(self) -> Self:
        """Begin to show the answer, from what an earlier attempt left of it in the chat."""
        claimed = self._claimed
        standing: Sequence[outbox.RecoveredPart] = ()
        if claimed.resumed:
            query = partial(outbox.recovered_parts, turn_id=claimed.source_id)
            standing = await self._deps.store.read(query, lasting=True)
        self._live.start(claimed.message_id, standing, answer_text(claimed.events))
        return self

    async def __aexit__(self, *_broke: object) -> None:
        self._live.cancel()

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
            change = Change(connection, self._principal, returned.call_key, dates())
            return self.scrub(success_result(effect.run(change)))

        failpoint("effect_pre")
        event = await self._deps.store.commit(commits.apply, place=place, returned=returned, run=run, clock=clock)
        self._note_journaled((event,))
        return event

    async def keep_summary(self, summary: Summary, responses: Sequence[Spent]) -> None:
        """Let notes stand for the older part of the conversation, in one commit."""
        keeper = SummaryKeeper(self._deps, self._session, self._channel, self._claimed, self._principal.locale)
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

    def steering_waits(self) -> bool:
        """Return True if a queued message can steer this turn."""
        return self._session.turn.may_steer and bool(self._session.mailbox.steering(self._turn))

    async def steer(self, step: int, overtaken: Sequence[ToolReturned]) -> tuple[UserItem, ...]:
        """Claim what the principal said meanwhile, with the results it causes, in one commit."""
        if not self.steering_waits():
            return ()
        mailbox = self._session.mailbox
        waiting = mailbox.steering(self._turn)
        built = [await self._deps.user_items.build(row.event, self._channel) for row in waiting]
        items = [WITHHELD if isinstance(item, MessageRefusal) else item for item in built]
        rows = mailbox.take_rows(waiting)  # what was edited meanwhile is read at the next checkpoint
        read = [(row, item) for row, item in zip(waiting, items, strict=True) if row in rows]
        place, clock = self._reserve(len(overtaken) + 1), self._process.clocks.now
        try:
            failpoint("steer_pre")
            claimed = await self._deps.store.commit(
                commits.steer, place=place, step=step, overtaken=overtaken, read=read, clock=clock
            )
        except BaseException:
            mailbox.put_back(rows)
            raise
        mailbox.note_begun(row for row, _ in claimed)
        taken = tuple(item for _, item in claimed)
        if taken:
            self._note_journaled((*overtaken, Steered(step, taken)))
        for row, _ in claimed:
            self._session.reactions.show(row, Reaction.STEERED)
        return taken

    async def consent(self, ask: AskedCall) -> Consent | None:
        """Return the answer to this call, a no to the same call earlier in the turn, or a remembered consent."""

        def look(connection: Connection) -> Consent | None:
            said = approvals.newest(connection, self._turn.id, ask.call_key)
            if said is not None and said.fingerprint == ask.fingerprint and said.state in SPOKEN:
                return said.state
            if approvals.is_denied(connection, self._turn.id, ask.fingerprint):
                return Consent.DENIED
            mine = self._turn.tenant, self._turn.user_id
            known = ask.may_remember and approvals.is_remembered(connection, *mine, ask.tool)
            return Consent.REMEMBERED if known else None

        return await self._deps.store.read(look, lasting=True)

    async def park(self, ask: AskedCall, left_s: float) -> NoReturn:
        """Put the question, let the turn wait: one commit. A stop that came too early for it takes it back."""
        await self._live.settle()
        approval = self._approval(ask)
        parked = Parked(ask.step, ask.call_key, ask.tool, approval.id, left_s, ask.backfilled)
        said = self._deps.shown.questions.message(self._channel, self._claimed, self._principal, ask, approval)
        parts = to_parts(
            self._channel, said, pieces=self._live.pages.all_of(said.text), standing=self._live.standing
        )  # what stands there already becomes the question
        rows = await self._deps.store.commit(commits.park, self._reserve(1), parked, approval, parts)
        self._process.parking.add(ParkedTurn(OpenTurn(self._turn, self._session.key, parked=True), approval))
        self._process.delivery.publish(rows)
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
            may_remember=ask.may_remember,
            numbered=is_numbered(self._channel),
            asked_at=now,
            until=now + self._deps.shown.questions.valid,
        )

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
        nothing_left = self._deps.shown.texts.text(self._principal.locale, "answer.nothing_left")
        buttons = self._deps.shown.replies.buttons(self._channel, self._turn, ended)
        lines = self._deps.shown.replies.lines(self._channel, ended, self._principal.locale)
        overtaken = await self._deps.shown.replies.standing(self._session.key, self._turn) if buttons else None
        said = _Said(buttons, lines, await self._made_files(reason), nothing_left)
        look = partial(self._last_look, reason, text, said)
        text, parts = await self._process.delivery.long_texts.run(len(text), look)
        note = text if text == nothing_left else self._process.scrubber.last_look(note).strip()
        if reason is EndReason.COMPLETED and self.steering_waits():
            self._live.resume()
            return False
        await self._end(TurnEnded(reason, text, note, busy_s, why), response, parts)
        if overtaken is not None:
            self._deps.shown.replies.close(self._channel, self._turn.address, overtaken)
        self._live.show_wait(busy_s)
        return True

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
        turn, user_id = self._session.turn, self._turn.user_id
        if turn.cancelled is None and not self._session.may_command(user_id, self._turn.address):
            turn.cancel(EndReason.STOPPED, self._claimed.first_id + 1, user_id)
        waiting = self._session.mailbox.first_to_interrupt(self._turn, self._session.conversation.mode)
        if turn.cancelled is None and waiting is not None:  # it came before this ran, perhaps before a crash
            turn.interrupt(waiting)
        return turn.cancelled

    def until_stopped(self) -> asyncio.Future[EndReason]:
        """Return a future of the reason to end."""
        return self._stop

    async def _made_files(self, reason: EndReason) -> tuple[MediaRef, ...]:
        """Return the files that this turn's tools made for its answer and that are still kept."""
        named = made_files(self.events) if reason is EndReason.COMPLETED else ()
        if not named or not isinstance(self._channel, SendsMedia):
            return ()
        ids = [file.blob for file in named]
        kept = await self._deps.store.read(partial(files_of, ids=ids), lasting=True)
        return tuple(file for file in named if file.blob in kept)

    def _last_look(self, reason: EndReason, text: str, beside: "_Said") -> tuple[str, list[OutboxPart]]:
        """Return the final text and the parts that say it. Pure: it may run in a thread."""
        locale = self._principal.locale
        nothing_left = beside.nothing_left  # nobody waits for silence
        text = self._process.scrubber.last_look(text).strip()
        if reason is EndReason.STOPPED:
            quiet = not self._live.standing and not self._has_streamed  # the command tells whoever stopped it
            wordless = text in {"", self._deps.shown.texts.text(locale, "answer.alone_stopped")}
            text = "" if quiet else STOPPED_SIGN if wordless else text
        else:
            text = text or nothing_left
        if not text:
            return "", []
        turn = self._turn
        shown = f"{text}\n\n{beside.lines}" if beside.lines and text != nothing_left else text
        pieces, buttons = self._live.pages.all_of(shown), beside.buttons
        if text == nothing_left or not pieces:
            pieces, buttons = self._live.pages.all_of(nothing_left), ()
        said = OutboundMessage(
            turn.address,
            self._claimed.source_id,
            shown,
            turn.reply_to,
            reply_route_of=self._claimed.answers,
            buttons=buttons,
            media=beside.files,
            locale=locale,
        )
        return text, to_parts(self._channel, said, pieces=pieces, standing=self._live.standing)

    async def _end(self, ended: TurnEnded, response: ModelResponded | None, parts: Sequence[OutboxPart]) -> None:
        self._session.turn.finish()
        reason = ended.reason
        events = (ended,) if response is None else (response, ended)
        delivery = self._process.delivery
        place, first_id, clock = self._reserve(len(events)), self._claimed.first_id, self._process.clocks.now
        first_by = delivery.ownership.sends(self._turn.address) if parts and delivery.reserve(parts[0]) else None

        def commit_end(connection: Connection) -> list[OutboxRow]:
            rows = commits.end(connection, place, events, reason, first_id, parts, clock, first_by=first_by)
            failpoint("final_pre")
            return rows

        try:
            rows = await self._deps.store.commit(commit_end)
        except Exception:
            if parts:
                delivery.release(parts[0])
            raise
        delivery.publish(rows)
        self._note_journaled(events)
        self._live.clear_reaction()
        series(TURNS, reason.value).inc()
        duration_s = self._claimed.time_since_start(self._process.clocks.now()).total_seconds()
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
            elif isinstance(event, TurnEnded):
                self._watched.publish(TurnFinished(event.reason))
