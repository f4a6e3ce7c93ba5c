"""What a running turn can do to the world: the agent's `TurnPort` over journal, mailbox and delivery.

Every write of a turn carries its fence and is one commit. What the agent decides is the agent's matter; when the
answer is sent is the lane's.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Protocol

from agent.ports import LocalCommand, Principal, TextDelta, TextDiscarded, ToolEnded, TurnProgress
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
from channels.base import Channel, Sign
from channels.messages import Button
from gateway.delivery.compose import Said, compose
from gateway.delivery.drafts import LiveAnswer
from gateway.delivery.growing import Settled
from gateway.delivery.outbox import Delivery
from gateway.failpoints import failpoint
from gateway.sessions.conversation import Conversation
from gateway.sessions.items import Reader
from gateway.sessions.mailbox import Mailbox
from gateway.sessions.signs import Signs
from gateway.sessions.suggested import SuggestedReplies
from gateway.store import inbox, journal, outbox
from gateway.store.engine import Connection, Store
from gateway.store.inbox import InboxRow, Outcome
from gateway.store.journal import Fence, TurnRow
from gateway.store.outbox import NewPart, OutboxRow
from gateway.telemetry import TURN_SECONDS, TURNS, series

ApplyCommand = Callable[[Connection, Principal, LocalCommand, str, datetime], str]
"""Apply a local command within a commit, once a key; its result as a JSON object {"success", "data", "error"}."""


WITHHELD = UserItem("(The input guard withheld a message here.)")

NOTHING_LEFT = "My answer came out empty. Please ask me again."
"""Said where the last look at an answer left nothing of it: nobody waits for silence."""


class Surroundings(Protocol):
    """What a running turn sees of its session."""

    mailbox: Mailbox
    conversation: Conversation
    signs: Signs

    def may_command(self, user_id: str) -> bool:
        """Whether this person may command the bot at this moment."""
        ...


@dataclass(frozen=True, slots=True)
class TurnTools:
    """What every turn of a gateway shares."""

    store: Store
    delivery: Delivery
    apply: ApplyCommand
    clean: Callable[[str], str]  # model text to what a person may see
    reader: Reader
    clock: Callable[[], datetime]
    journaled: Callable[[Iterable[JournalEvent]], None]  # told of every event that is durable
    replies: SuggestedReplies


@dataclass(frozen=True, slots=True)
class Begun:
    """A turn that runs, and where it stands."""

    turn: TurnRow
    first_id: int  # the inbox row that it answers
    message_id: str | None
    answers: int | None  # the inbox row whose own way to answer it may use
    events: tuple[JournalEvent, ...]
    resumed: bool = False  # whether an earlier attempt may have left traces


OUTCOMES = {
    EndReason.STOPPED: Outcome.CLEARED,
    EndReason.MODEL_ERROR: Outcome.FAILED,
    EndReason.CONTEXT_EXHAUSTED: Outcome.FAILED,
}
"""The outcome of a turn's first row by how it ended; all others are answered."""

EVENT_FAILPOINTS = {ModelResponded: "response", ToolIntended: "intent", ToolReturned: "result", Steered: "steer"}


class RunningTurn:
    """The port of one turn. It ends with `finish`, or with the process."""

    def __init__(
        self,
        tools: TurnTools,
        session: Surroundings,
        channel: Channel,
        live: LiveAnswer,
        begun: Begun,
        fence: Fence,
        principal: Principal,
    ) -> None:
        """The turn has begun: its claim is committed."""
        self._tools = tools
        self._session = session
        self._channel = channel
        self._live = live
        self.begun = begun
        self._turn = begun.turn
        self._fence = fence
        self._principal = principal
        self._stop: asyncio.Future[EndReason] = asyncio.get_running_loop().create_future()
        self._fed = False
        self.events = list(begun.events)
        self.steers = True  # mode followup turns this off

    # ------------------------------------------------------------ the agent's port

    async def record(self, *events: JournalEvent) -> None:
        """Append events, durable when this returns."""
        point = EVENT_FAILPOINTS.get(type(events[-1]), "response")
        seq = self._session.conversation.next_seq(self._turn.session_id, len(events))

        def job(connection: Connection) -> None:
            now = self._tools.clock()
            journal.hold(connection, self._fence)
            journal.append(connection, self._turn, seq, events, now)
            for event in events:
                if isinstance(event, ModelResponded):
                    journal.note_usage(connection, self._turn, event, now)

        failpoint(f"{point}_pre")
        await self._tools.store.write(job)
        failpoint(f"{point}_post")
        self._journaled(events)

    async def apply(self, command: LocalCommand, returned: ToolReturned) -> ToolReturned:
        """Apply a local effect and journal its result in one commit."""
        seq = self._session.conversation.next_seq(self._turn.session_id, 1)

        def job(connection: Connection) -> ToolReturned:
            journal.hold(connection, self._fence)
            earlier = journal.result_of(connection, returned.call_key)
            if earlier is not None:
                return earlier
            now = self._tools.clock()
            content = self._tools.apply(connection, self._principal, command, returned.call_key, now)
            event = replace(returned, content=content)
            journal.append(connection, self._turn, seq, [event], now)
            return event

        failpoint("effect_pre")
        event = await self._tools.store.write(job)
        failpoint("effect_post")
        self._journaled((event,))
        return event

    def steering_waits(self) -> bool:
        """Whether something waits that may join."""
        return self.steers and not self._stop.done() and bool(self._session.mailbox.steering(self._turn))

    async def steer(self, step: int, overtaken: Sequence[ToolReturned]) -> tuple[UserItem, ...]:
        """Claim what the principal said meanwhile, with the results it causes, in one commit."""
        if not self.steering_waits():
            return ()
        waiting = self._session.mailbox.steering(self._turn)
        items = [await self._tools.reader.read(row.event, self._channel) or WITHHELD for row in waiting]
        rows = self._session.mailbox.take(waiting)  # what was edited meanwhile is read at the next checkpoint
        read = [(row, item) for row, item in zip(waiting, items, strict=True) if row in rows]
        seq = self._session.conversation.next_seq(self._turn.session_id, len(overtaken) + 1)

        def job(connection: Connection) -> list[tuple[InboxRow, UserItem]]:
            """What was cleared or deleted meanwhile is left out; where nothing is left, nothing was overtaken."""
            journal.hold(connection, self._fence)
            claimed = [(row, item) for row, item in read if inbox.claim(connection, [row.id], self._turn.id)]
            if claimed:
                events: tuple[JournalEvent, ...] = (*overtaken, Steered(step, tuple(item for _, item in claimed)))
                journal.append(connection, self._turn, seq, events, self._tools.clock())
            return claimed

        try:
            failpoint("steer_pre")
            claimed = await self._tools.store.write(job)
        except BaseException:
            self._session.mailbox.put_back(rows)
            raise
        failpoint("steer_post")
        taken = tuple(item for _, item in claimed)
        if taken:
            self._journaled((*overtaken, Steered(step, taken)))
        for row, _ in claimed:
            self._session.signs.show(row, Sign.STEERED)
        return taken

    async def finish(self, reason: EndReason, text: str, response: ModelResponded | None) -> bool:
        """End the turn in one commit; False when a message came in that it should read first."""
        if reason is EndReason.COMPLETED and self.steering_waits():
            return False
        settled = await self._live.settle()
        ended = (*self.events, *([response] if response else []), TurnEnded(reason, text))
        buttons = self._tools.replies.buttons(self._channel, self._turn, ended)
        look = partial(self._last_look, reason, text, settled, buttons)
        text, parts = await self._tools.delivery.aside.run(len(text), look)
        if reason is EndReason.COMPLETED and self.steering_waits():
            self._live.resume()
            return False
        await self._end(reason, text, response, parts)
        return True

    def progress(self, event: TurnProgress) -> None:
        """Show the answer as it grows."""
        if isinstance(event, TextDelta):
            if not self._fed:
                self._fed = True
                failpoint("model_first_text")
            self._live.feed(event.text)
        elif isinstance(event, TextDiscarded):
            self._live.discard(answer_text(self.events))  # the response under way is void, not the answers before it
        elif isinstance(event, ToolEnded):
            failpoint("tool_done")

    def stopping(self) -> EndReason | None:
        """Why the turn should end now; asked before every step and every tool (A33)."""
        if not self._stop.done() and not self._session.may_command(self._turn.user_id):
            self.stop(EndReason.STOPPED)
        return self._stop.result() if self._stop.done() else None

    async def until_stopped(self) -> EndReason:
        """Wait for the reason to end."""
        return await asyncio.shield(self._stop)

    # ------------------------------------------------------------ the session's side

    def stop(self, reason: EndReason) -> None:
        """Ask the turn to end; it does so at its next checkpoint, a stream at once."""
        if not self._stop.done():
            self._stop.set_result(reason)

    def _last_look(
        self, reason: EndReason, text: str, settled: Settled, buttons: tuple[Button, ...]
    ) -> tuple[str, list[NewPart]]:
        """What a person is told, and the parts that tell it. Pure: it may run in a thread."""
        text = self._tools.clean(text).strip()
        if reason is EndReason.STOPPED:
            quiet = not settled.standing and not self._fed  # nothing was begun; the command tells whoever stopped it
            text = "" if quiet else text or "⏹"
        else:
            text = text or NOTHING_LEFT
        if not text:
            return "", []
        turn = self._turn
        pieces = settled.pages.all_of(text)
        if text == NOTHING_LEFT or not pieces:
            pieces, buttons = settled.pages.all_of(NOTHING_LEFT), ()
        said = Said(turn.address, turn.id, text, turn.reply_to, answers=self.begun.answers, buttons=buttons)
        return text, compose(self._channel, said, pieces=pieces, standing=settled.standing)

    async def _end(
        self, reason: EndReason, text: str, response: ModelResponded | None, parts: Sequence[NewPart]
    ) -> None:
        ended = TurnEnded(reason, text)
        events: tuple[JournalEvent, ...] = (ended,) if response is None else (response, ended)
        turn = self._turn
        seq = self._session.conversation.next_seq(turn.session_id, len(events))
        claimed = bool(parts) and self._tools.delivery.reserve(turn.address.lane)

        def job(connection: Connection) -> list[OutboxRow]:
            now = self._tools.clock()
            journal.hold(connection, self._fence)
            journal.append(connection, turn, seq, events, now)
            if response is not None:
                journal.note_usage(connection, turn, response, now)
            journal.end_turn(connection, turn.id, reason, now)
            inbox.settle_turn(
                connection, turn.id, self.begun.first_id, OUTCOMES.get(reason, Outcome.ANSWERED), now, reason.value
            )
            rows = outbox.put(connection, turn.tenant, parts, now, first_claimed=claimed)
            failpoint("final_pre")
            return rows

        try:
            await self._tools.store.write(job, self._tools.delivery.publish)
        except BaseException:
            self._tools.delivery.release(turn.address.lane)
            raise
        failpoint("final_post")
        self._journaled(events)
        self._live.finished()
        series(TURNS, reason.value).inc()
        TURN_SECONDS.observe((self._tools.clock() - turn.started_at).total_seconds())

    def _journaled(self, events: Sequence[JournalEvent]) -> None:
        self.events += events
        self._tools.journaled(events)
