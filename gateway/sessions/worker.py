"""A session: one turn at a time from its mailbox, begun again from its journal when it broke.

Sessions run side by side, each strictly serial inside. What a message does that arrives mid-turn is decided by the
session's mode; what a turn does is the agent's matter, what it may touch is `turn`'s.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

import structlog

from agent.errors import Fenced
from agent.ports import Principal, Turn, TurnPort
from agent.transcript import EndReason, TurnStarted, spoken
from channels.base import Channel, Sign
from channels.messages import Address, ChatKind, InboundMessage, MessageDeleted
from gateway.delivery.compose import Said, compose
from gateway.delivery.drafts import LiveAnswer, LiveTools
from gateway.failpoints import failpoint
from gateway.sessions.config import SessionsConfig
from gateway.sessions.conversation import Conversation
from gateway.sessions.joining import belongs, joined, open_until
from gateway.sessions.mailbox import KindOf, Mailbox
from gateway.sessions.stops import Stops
from gateway.sessions.turn import Begun, RunningTurn, TurnTools
from gateway.store import attempts, inbox, journal, outbox
from gateway.store.engine import Connection
from gateway.store.inbox import InboxRow, Outcome
from gateway.store.journal import Fence, OpenTurn, SessionState, TurnRow
from gateway.store.tables.base import new_id

log = structlog.get_logger()

GATHER_EVERY_S = 0.1

MAX_ATTEMPTS = 3
"""Times a turn is begun; after that it is failed and the person is told."""

GUARDED = "I do not take messages that give me orders like this one."

RunTurn = Callable[[Turn, TurnPort], Awaitable[EndReason]]
"""What runs one kind of turn: `agent.loop.run_turn` with its agent."""


class People(Protocol):
    """Who a user is now."""

    def principal(self, user_id: str) -> Principal | None:
        """The person; None where they may not command the bot any more."""
        ...


class Channels(Protocol):
    """What a session needs of the channels."""

    async def loaded(self, address: Address) -> Channel:
        """The channel of an address, as soon as it is loaded."""
        ...

    def configured(self, address: Address) -> bool:
        """Whether the account of an address is configured."""
        ...

    def hints(self, address: Address) -> str:
        """How text is formatted there, for the model."""
        ...

    def react(self, address: Address, message_id: str, sign: Sign) -> None:
        """Show a sign, sooner or later, if the channel can."""
        ...


@dataclass(frozen=True, slots=True)
class SessionTools:
    """What every session of a gateway shares."""

    config: SessionsConfig
    turns: TurnTools
    live: LiveTools
    channels: Channels
    people: People
    agents: Mapping[str, RunTurn]  # by kind of turn
    kind_of: KindOf
    slots: asyncio.Semaphore  # turns in flight
    epoch: int
    deadline_s: float  # a turn's own limit
    sorry: Callable[[Principal], str]  # what a person reads when a turn failed for good


class Session:
    """One conversation of one person or group with the agent."""

    def __init__(self, tools: SessionTools, tenant: str, key: str, tasks: asyncio.TaskGroup) -> None:
        """Nothing is read before the first message."""
        self._tools = tools
        self.tenant = tenant
        self.key = key
        self._store = tools.turns.store
        self._fence = Fence(journal.shard_of(key), tools.epoch)
        self.conversation = Conversation(self._store, tools.config, tenant, key, tools.turns.clock)
        self.mailbox = Mailbox(self._store, key, tools.config.mailbox_size, tools.kind_of, self._take_turn, tasks)
        self._taking: list[InboxRow] = []  # taken from the mailbox, not claimed yet: an edit may still replace them
        self._begun: Begun | None = None  # what is answered now, from its claim on
        self._turn: RunningTurn | None = None
        self._stops = Stops()
        self._closed = False
        self._serial = asyncio.Lock()  # a resumed turn goes before the mailbox

    # ------------------------------------------------------------ what the router calls

    def offer(self, row: InboxRow) -> None:
        """Take a message: it starts a turn, joins the running one or waits."""
        if self._turn is not None and not (self._turn.steers and row.user_id == self._turn.begun.turn.user_id):
            self.sign(row, Sign.QUEUED)
        self.mailbox.offer(row)

    def change(self, original_id: int, edit: InboxRow) -> None:
        """Put the new text of a message in its place, as long as no turn has claimed it."""
        self.mailbox.change(original_id, edit)
        for index, row in enumerate(self._taking):
            if row.id == original_id:
                self._taking[index] = replace(row, event=edit.event)

    def close(self) -> None:
        """Begin no further turn: what waits is left to the next start."""
        self._closed = True

    async def resume(self, open_turn: OpenTurn) -> None:
        """Go on with a turn that was running when its process ended."""
        self.mailbox.hold()  # a row taken out to wait for this turn would be overtaken by what steers it
        try:
            async with self._serial:
                await self._tools.channels.loaded(open_turn.turn.address)  # no slot is held: it may never come
                async with self._tools.slots:
                    failpoint("recovery_turn")
                    await self._run(open_turn.turn, None)
        finally:
            self._begun = None
            self.mailbox.release()

    @property
    def running(self) -> bool:
        """Whether a turn runs now, from its claim on."""
        return self._begun is not None

    @property
    def busy(self) -> bool:
        """Whether anything runs or waits in memory."""
        return self.mailbox.busy or self._serial.locked()

    @property
    def where(self) -> tuple[str, str]:
        """Tenant and key: what the session is known by."""
        return self.tenant, self.key

    def missed(self, row: InboxRow) -> bool:
        """Whether a row waited too long to be answered."""
        return missed(row.admitted_at, self._tools.turns.clock(), self._tools.config)

    def takes_command(self, row: InboxRow) -> bool:
        """Whether a waiting row is one for the commands, not for a turn."""
        return self._tools.kind_of(row) is None and not isinstance(row.event, MessageDeleted)

    @property
    def mode(self) -> str:
        """What a message does that arrives mid-turn."""
        return self.conversation.mode

    def stop(self, reason: EndReason, before_id: int, user_id: str | None) -> bool:
        """Ask the turn that answers an earlier message of this person (None: of anybody) to end; False where none is."""
        self._stops.add(before_id, user_id)
        if self._begun is None or not self._stops.cover(self._begun.first_id, self._begun.turn.user_id):
            return False
        if self._turn is not None:
            self._turn.stop(reason)
        return True

    def may_command(self, user_id: str) -> bool:
        """Whether this person may command the bot at this moment."""
        return self._tools.people.principal(user_id) is not None

    def go_on_in(self, state: SessionState) -> None:
        """Go on in another generation or mode of the conversation."""
        self.conversation.use(state)
        if self._turn is not None:
            self._turn.steers = state.mode == "steer"

    def sign(self, row: InboxRow, sign: Sign) -> None:
        """Show the person what became of a message."""
        if isinstance(row.event, InboundMessage) and self._tools.live.config.signs != "off":
            self._tools.channels.react(row.event.address, row.event.message_id, sign)

    # ------------------------------------------------------------ turns

    async def _take_turn(self, row: InboxRow) -> None:
        self._taking = [row]
        async with self._serial:
            await self._gather(row)  # no slot is held: a channel may never come
            async with self._tools.slots:
                if not self._closed:
                    await self._answer()

    async def _answer(self) -> None:
        row = self._taking[0]
        try:
            begun = await self._begin()
        except Fenced as fenced:
            log.error("turn_fenced", inbox_id=row.id, session=self.key, error=str(fenced))
            self.conversation.forget()
        except Exception:  # noqa: BLE001  one turn that cannot even begin: recorded here, and the person is told
            log.exception("turn_not_begun", inbox_id=row.id, session=self.key)
            text = self._tools.sorry(Principal(row.user_id, row.tenant))
            await self._refuse(row, "it could not begin", text, Outcome.FAILED)
        else:
            if begun is not None:
                await self._run(begun.turn, begun)
        finally:
            self._begun = None

    async def _begin(self) -> Begun | None:
        """Claim the message as it stands now; None where it is refused, or was taken back meanwhile."""
        state = await self.conversation.loaded()
        rows, self._taking = self._taking, []
        row = joined(rows)
        if not self.may_command(row.user_id):
            await self._refuse(row, "the sender may not command the bot any more", "")
            return None
        channel = await self._tools.channels.loaded(row.event.address)
        item = await self._tools.turns.reader.read(row.event, channel)
        if item is None:
            await self._refuse(row, "the input guard", GUARDED)
            return None
        turn = self._new_turn(row, state)
        begun = self._begun = Begun(turn, row.id, message_id_of(row), answering(row), (TurnStarted((item,)),))
        return begun if await self._claim(begun, [more.id for more in rows[1:]]) else None

    async def _gather(self, row: InboxRow) -> None:
        """Wait for what its client split off the row and sent right behind."""
        limits = (await self._tools.channels.loaded(row.event.address)).limits
        rows = self._taking
        while (until := open_until(rows[-1], limits)) is not None:
            more = self.mailbox.take_next(lambda other: belongs(rows[-1], other, limits))
            wait_s = (until - self._tools.turns.clock()).total_seconds()
            if more is not None:
                rows.append(more)
            elif wait_s > 0:
                await asyncio.sleep(min(wait_s, GATHER_EVERY_S))
            else:
                break

    async def _refuse(self, row: InboxRow, detail: str, text: str, outcome: Outcome = Outcome.REFUSED) -> None:
        channel = await self._tools.channels.loaded(row.event.address)
        parts = compose(channel, Said(row.event.address, f"inbox:{row.id}", text, answers=answering(row)))

        def job(connection: Connection) -> list[outbox.OutboxRow]:
            now = self._tools.turns.clock()
            inbox.settle(connection, row.id, outcome, now, detail)
            return outbox.put(connection, row.tenant, parts, now)

        await self._store.write(job, self._tools.turns.delivery.publish)

    def _new_turn(self, row: InboxRow, state: SessionState) -> TurnRow:
        now = self._tools.turns.clock()
        event = row.event
        in_group = isinstance(event, InboundMessage) and event.kind is ChatKind.GROUP
        return TurnRow(
            id=new_id(),
            tenant=self.tenant,
            session_id=state.id,
            user_id=row.user_id,
            kind=self._tools.kind_of(row) or "chat",
            address=event.address,
            reply_to=message_id_of(row) if in_group else None,
            started_at=now,
            deadline_at=now + timedelta(seconds=self._tools.deadline_s),
        )

    async def _claim(self, begun: Begun, more_ids: Sequence[int]) -> bool:
        """Begin the turn in one commit; False where its message was taken back meanwhile."""
        seq = self.conversation.next_seq(begun.turn.session_id, 1)

        def job(connection: Connection) -> bool:
            journal.hold(connection, self._fence)
            if not inbox.claim(connection, [begun.first_id], begun.turn.id):
                return False
            inbox.claim(connection, more_ids, begun.turn.id)
            journal.begin_turn(connection, begun.turn)
            journal.append(connection, begun.turn, seq, begun.events, begun.turn.started_at)
            return True

        failpoint("claim_pre")
        claimed = await self._store.write(job)
        failpoint("claim_post")
        return claimed

    async def _run(self, turn: TurnRow, begun: Begun | None) -> None:
        """Run a turn to its end; an unexpected error begins it again from its journal, a few times."""
        attempts = min(turn.attempts, MAX_ATTEMPTS)  # one that was abandoned is apologised for at the next start
        while attempts <= MAX_ATTEMPTS + 1:
            try:
                begun = self._begun = begun or await self._take_up(turn)
                attempts = begun.turn.attempts
                await self._attempt(begun)
            except Fenced as fenced:
                log.error("turn_fenced", turn_id=turn.id, session=self.key, error=str(fenced))
                self.conversation.forget()
            except Exception:  # noqa: BLE001  one turn: recorded here, begun again, told after three times
                log.exception("turn_broken", turn_id=turn.id, attempts=attempts)
                attempts += 1
                begun = None
                continue
            return
        log.error("turn_abandoned", turn_id=turn.id, session=self.key)

    async def _take_up(self, turn: TurnRow) -> Begun:
        """Count the attempt and read what the turn had come to."""
        attempts = await self._store.write(partial(journal.count_attempt, turn_id=turn.id))
        await self.conversation.reload()
        next_seq = await self._store.read(partial(journal.next_seq, session_id=turn.session_id), lasting=True)
        self.conversation.number_from(turn.session_id, next_seq)
        rows = await self._store.read(partial(inbox.rows_of_turn, turn_id=turn.id), lasting=True)
        events = await self._store.read(partial(journal.events_of_turn, turn_id=turn.id), lasting=True)
        first_id, event = rows[0]
        if await self._store.read(partial(inbox.is_settled, id_=first_id), lasting=True):
            self._stops.add(first_id + 1, turn.user_id)  # `/stop` was committed, the turn's own end was not
        answers = first_id if inbox.route_of(event) is not None else None
        message_id = getattr(event, "message_id", None)
        return Begun(replace(turn, attempts=attempts), first_id, message_id, answers, events)

    async def _attempt(self, begun: Begun) -> None:
        tools, turn = self._tools, begun.turn
        principal = tools.people.principal(turn.user_id) or Principal(turn.user_id, turn.tenant)
        channel = await tools.channels.loaded(turn.address)
        live = LiveAnswer(
            tools.live, channel, turn.tenant, Said(turn.address, turn.id, "", turn.reply_to, answers=begun.answers)
        )
        port = RunningTurn(tools.turns, self, channel, live, begun, self._fence, principal)
        port.steers = self.mode == "steer"
        self._turn = port
        if self._stops.cover(begun.first_id, turn.user_id):
            port.stop(EndReason.STOPPED)
        try:
            live.start(begun.message_id, await self._placeholder(begun))
            live.go_on_from(spoken(begun.events))
            if turn.attempts > MAX_ATTEMPTS:
                await port.finish(EndReason.MODEL_ERROR, tools.sorry(principal), None)
            elif missed(turn.started_at, now := tools.turns.clock(), tools.config):
                await port.finish(EndReason.TIMEOUT, missed_text(now - turn.started_at), None)
            else:
                failpoint("model_asked")
                hints = tools.channels.hints(turn.address)
                history = self.conversation.history_of(turn.session_id)
                await tools.agents[turn.kind](
                    Turn(turn.id, principal, history, begun.events, turn.started_at, hints), port
                )
        finally:
            self._turn = None
            live.cancel()
        self.conversation.remember(turn.session_id, port.events)

    async def _placeholder(self, begun: Begun) -> attempts.Placeholder | None:
        if not begun.resumed:
            return None
        return await self._store.read(partial(attempts.placeholder_of, cause=begun.turn.id), lasting=True)


def missed(at: datetime, now: datetime, config: SessionsConfig) -> bool:
    """Whether what came in at `at` waited too long to be answered."""
    return now - at > timedelta(seconds=config.missed_after_s)


def missed_text(waited: timedelta) -> str:
    """What a person reads whose message waited too long."""
    hours = waited.total_seconds() / 3600
    return f"I was away for {hours:.0f} hours and missed what you wrote; please send it again."


def answering(row: InboxRow) -> int | None:
    """The row itself where it has its own way to be answered; None where the answer goes to the chat."""
    return row.id if inbox.route_of(row.event) is not None else None


def message_id_of(row: InboxRow) -> str | None:
    """The platform's id of the message behind a row; None where it is none."""
    return row.event.message_id if isinstance(row.event, InboundMessage) else None
