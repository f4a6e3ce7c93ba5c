"""A session: one turn at a time from its mailbox, begun again from its journal when it broke.

Sessions run side by side, each strictly serial inside. What a message does that arrives mid-turn is decided by the
session's mode; what a turn does is the agent's matter, what it may touch is `turn`'s.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Protocol

import structlog

from agent.errors import Fenced
from agent.ports import Principal, Turn, TurnPort
from agent.transcript import EndReason, TurnStarted, spoken
from channels.base import Channel, Sign
from channels.messages import Address, ChatKind, InboundMessage
from gateway.delivery.compose import compose
from gateway.delivery.drafts import LiveAnswer, LiveTools
from gateway.failpoints import failpoint
from gateway.sessions.config import SessionsConfig
from gateway.sessions.conversation import Conversation
from gateway.sessions.mailbox import KindOf, Mailbox
from gateway.sessions.turn import Begun, RunningTurn, TurnTools
from gateway.store import attempts, inbox, journal, outbox
from gateway.store.engine import Connection
from gateway.store.inbox import InboxRow, Outcome
from gateway.store.journal import Fence, OpenTurn, SessionState, TurnRow
from gateway.store.tables.base import new_id

log = structlog.get_logger()

MAX_ATTEMPTS = 3
"""Times a turn is begun; after that it is failed and the person is told."""

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
        self._turn: RunningTurn | None = None
        self._serial = asyncio.Lock()  # a resumed turn goes before the mailbox

    # ------------------------------------------------------------ what the router calls

    def offer(self, row: InboxRow) -> None:
        """Take a message: it starts a turn, joins the running one or waits."""
        if self._turn is not None and not self._turn.steers:
            self.sign(row, Sign.QUEUED)
        self.mailbox.offer(row)

    async def resume(self, open_turn: OpenTurn) -> None:
        """Go on with a turn that was running when its process ended."""
        self.mailbox.hold()  # a row taken out to wait for this turn would be overtaken by what steers it
        try:
            async with self._serial, self._tools.slots:
                failpoint("recovery_turn")
                await self._run(open_turn.turn, None)
        finally:
            self.mailbox.release()

    @property
    def running(self) -> bool:
        """Whether a turn runs now."""
        return self._turn is not None

    @property
    def busy(self) -> bool:
        """Whether anything runs or waits in memory."""
        return self.mailbox.busy or self._serial.locked()

    @property
    def mode(self) -> str:
        """What a message does that arrives mid-turn."""
        return self.conversation.mode

    def stop(self, reason: EndReason) -> bool:
        """Ask the running turn to end; False where none runs."""
        if self._turn is None:
            return False
        self._turn.stop(reason)
        return True

    def go_on_in(self, state: SessionState) -> None:
        """Go on in another generation or mode of the conversation."""
        self.conversation.use(state)
        if self._turn is not None:
            self._turn.steers = state.mode == "steer"

    def sign(self, row: InboxRow, sign: Sign) -> None:
        """Show the person what became of a message."""
        if isinstance(row.event, InboundMessage):
            self._tools.channels.react(row.event.address, row.event.message_id, sign)

    # ------------------------------------------------------------ turns

    async def _take_turn(self, row: InboxRow) -> None:
        async with self._serial, self._tools.slots:
            if self._tools.people.principal(row.user_id) is None:
                await self._refuse(row, "the sender may not command the bot any more", "")
                return
            item = self._tools.turns.reader.read(row.event)
            if item is None:
                await self._refuse(row, "the input guard", "I do not take messages that give me orders like this one.")
                return
            turn = self._new_turn(row, await self.conversation.loaded())
            begun = Begun(turn, row.id, message_id_of(row), (TurnStarted((item,)),))
            if await self._claim(begun):
                await self._run(turn, begun)

    async def _refuse(self, row: InboxRow, detail: str, text: str) -> None:
        channel = await self._tools.channels.loaded(row.event.address)
        parts = compose(channel, row.event.address, f"inbox:{row.id}", text)

        def job(connection: Connection) -> list[outbox.OutboxRow]:
            now = self._tools.turns.clock()
            inbox.settle(connection, row.id, Outcome.REFUSED, now, detail)
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

    async def _claim(self, begun: Begun) -> bool:
        """Begin the turn in one commit; False where its message was taken back meanwhile."""
        seq = self.conversation.next_seq(1)

        def job(connection: Connection) -> bool:
            journal.hold(connection, self._fence)
            if not inbox.claim(connection, [begun.first_id], begun.turn.id):
                return False
            journal.begin_turn(connection, begun.turn)
            journal.append(connection, begun.turn, seq, begun.events, begun.turn.started_at)
            return True

        failpoint("claim_pre")
        claimed = await self._store.write(job)
        failpoint("claim_post")
        return claimed

    async def _run(self, turn: TurnRow, begun: Begun | None) -> None:
        """Run a turn to its end; an unexpected error begins it again from its journal, a few times."""
        attempts = turn.attempts
        while attempts <= MAX_ATTEMPTS + 1:
            try:
                begun = begun or await self._take_up(turn)
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
        rows = await self._store.read(partial(inbox.rows_of_turn, turn_id=turn.id))
        events = await self._store.read(partial(journal.events_of_turn, turn_id=turn.id))
        first_id, event = rows[0]
        return Begun(replace(turn, attempts=attempts), first_id, getattr(event, "message_id", None), events)

    async def _attempt(self, begun: Begun) -> None:
        tools, turn = self._tools, begun.turn
        principal = tools.people.principal(turn.user_id) or Principal(turn.user_id, turn.tenant)
        channel = await tools.channels.loaded(turn.address)
        live = LiveAnswer(tools.live, channel, turn.tenant, turn.address, turn.id, turn.reply_to)
        port = RunningTurn(tools.turns, self, channel, live, begun, self._fence, principal)
        port.steers = self.mode == "steer"
        self._turn = port
        try:
            live.start(begun.message_id, await self._placeholder(begun))
            if turn.attempts > MAX_ATTEMPTS:
                await port.finish(EndReason.MODEL_ERROR, tools.sorry(principal), None)
            else:
                failpoint("model_asked")
                hints = tools.channels.hints(turn.address)
                history = self.conversation.history
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
        return await self._store.read(partial(attempts.placeholder_of, cause=begun.turn.id))


def message_id_of(row: InboxRow) -> str | None:
    """The platform's id of the message behind a row; None where it is none."""
    return row.event.message_id if isinstance(row.event, InboundMessage) else None
