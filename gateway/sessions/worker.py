"""A session: one turn at a time from its mailbox, begun again from its journal when it broke.

Sessions run side by side, each strictly serial inside. What a message does that arrives mid-turn is decided by the
session's mode; what a turn does is the agent's matter, what it may touch is `turn`'s.
"""

import asyncio
from collections.abc import Collection, Sequence

import structlog

from agent.errors import Fenced
from agent.ports import Principal
from agent.transcript import EndReason, TurnStarted
from channels.base import Sign
from channels.messages import MessageDeleted
from gateway.delivery.compose import Said, compose
from gateway.failpoints import failpoint
from gateway.sessions.conversation import Conversation
from gateway.sessions.joining import JOIN_WITHIN, belongs, joined, open_until
from gateway.sessions.mailbox import Mailbox
from gateway.sessions.rows import answering, message_id_of, missed, new_turn
from gateway.sessions.runner import TurnRunner
from gateway.sessions.shared import SessionTools
from gateway.sessions.signs import Signs
from gateway.sessions.trials import Admitted, GivenUp
from gateway.sessions.turn import Begun
from gateway.store import inbox, journal, outbox
from gateway.store.engine import Connection
from gateway.store.inbox import InboxRow, Outcome
from gateway.store.journal import Fence, OpenTurn, SessionState

log = structlog.get_logger()

GATHER_EVERY_S = 0.1

GUARDED = "I do not take messages that give me orders like this one."


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
        self.signs = Signs(tools.channels, wanted=tools.live.config.signs != "off")
        self._taking: list[InboxRow] = []  # taken from the mailbox, not claimed yet: an edit may still replace them
        self._runner = TurnRunner(tools, self, self._fence)
        self._closed = False
        self._serial = asyncio.Lock()  # a resumed turn goes before the mailbox

    def offer(self, row: InboxRow) -> None:
        """Take a message: it starts a turn, joins the running one or waits."""
        if self._runner.turn is not None and not self._runner.takes(row):
            self.signs.show(row, Sign.QUEUED)
        self.mailbox.offer(row)

    def change(self, original_id: int, edit: InboxRow) -> None:
        """Put the new text of a message in its place, as long as no turn has claimed it."""
        self.mailbox.change(original_id, edit)
        self._taking[:] = [self.mailbox.current(row) for row in self._taking]  # the list is gathered in

    def cleared(self, ids: Collection[int]) -> None:
        """These rows wait no more: the store has them cleared."""
        self.mailbox.drop(ids)
        self.signs.waited(ids)

    def close(self) -> None:
        """Begin no further turn: what waits is left to the next start."""
        self._closed = True

    async def resume(self, open_turn: OpenTurn) -> None:
        """Go on with a turn that was running when its process ended."""
        self.mailbox.hold()  # a row taken out to wait for this turn would be overtaken by what steers it
        try:
            async with self._serial:
                await self._tools.channels.loaded(open_turn.turn.address)  # no slot is held: it may never come
                async with self._tools.trials.turn(open_turn.turn) as admitted:
                    failpoint("recovery_turn")
                    if not self._closed:
                        await self._runner.run(open_turn.turn, None, admitted)
        finally:
            self._runner.begun = None
            self.mailbox.release()

    @property
    def running(self) -> bool:
        """Whether a turn runs now, from its claim on."""
        return self._runner.begun is not None

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
        """Ask the turn that answers an earlier message of a person (None: of anybody) to end; False: there is none."""
        return self._runner.stop(reason, before_id, user_id)

    def may_command(self, user_id: str) -> bool:
        """Whether this person may command the bot at this moment."""
        return self._tools.people.principal(user_id) is not None

    def go_on_in(self, state: SessionState) -> None:
        """Go on in another generation or mode of the conversation."""
        self.conversation.use(state)
        if self._runner.turn is not None:
            self._runner.turn.steers = state.mode == "steer"

    async def _take_turn(self, row: InboxRow) -> None:
        self._taking = [row]
        async with self._serial:
            await self._gather(row)  # no slot is held: a channel may never come
            async with self._tools.trials.rows(self._taking) as admitted:
                if not self._closed:
                    await self._answer(admitted)

    async def _answer(self, admitted: Admitted) -> None:
        rows = list(self._taking)
        try:
            begun = await self._begin(admitted)
        except Fenced as fenced:
            log.error("turn_fenced", inbox_id=rows[0].id, session=self.key, error=str(fenced))
            self.conversation.forget()
        except Exception:  # noqa: BLE001  one turn that cannot even begin: recorded here, and the person is told
            log.exception("turn_not_begun", inbox_id=rows[0].id, session=self.key)
            await self._give_up(rows, self._tools.sorry(Principal(rows[0].user_id, rows[0].tenant)))
        else:
            if begun is not None:
                await self._runner.run(begun.turn, begun, admitted)
        finally:
            self._runner.begun = None
            self.signs.waited([row.id for row in rows])

    async def _give_up(self, rows: Sequence[InboxRow], text: str) -> None:
        """What cannot begin ends here and the person is told; it ends all the same where nobody can be."""
        try:
            await self._refuse(rows, "it could not begin", text, Outcome.FAILED)
        except Exception:  # noqa: BLE001  one turn that cannot even begin: recorded; those behind it go on
            log.exception("apology_broken", inbox_id=rows[0].id, session=self.key)
            await self._refuse(rows, "it could not begin, and nobody could be told", "", Outcome.FAILED)

    async def _begin(self, admitted: Admitted) -> Begun | None:
        """Claim the message as it stands now; None where it is refused, or was taken back meanwhile."""
        if admitted is Admitted.GIVEN_UP:
            raise GivenUp
        state = await self.conversation.loaded()
        while rows := list(self._taking):
            row = joined(rows)
            if not self.may_command(row.user_id):
                await self._refuse(rows, "the sender may not command the bot any more", "")
                return None
            channel = await self._tools.channels.loaded(row.event.address)
            item = await self._tools.turns.reader.read(row.event, channel)
            if rows != self._taking:  # edited while its files were read
                continue
            if item is None:
                await self._refuse(rows, "the input guard", GUARDED)
                return None
            kind, now = self._tools.kind_of(row) or "chat", self._tools.turns.clock()
            turn = new_turn(row, state.id, kind, now)
            begun = Begun(turn, row.id, message_id_of(row), answering(row), (TurnStarted((item,)),))
            self._runner.begun, self._taking = begun, []
            claimed = await self._claim(begun, [one.id for one in rows])
            if len(claimed) == len(rows):
                return begun
            # a part was taken back: the rest is claimed anew, as it reads by now
            self._taking = [self.mailbox.current(one) for one in rows if one.id in claimed]
        return None

    async def _gather(self, row: InboxRow) -> None:
        """Wait for what its client split off the row and sent right behind."""
        limits = (await self._tools.channels.loaded(row.event.address)).limits
        rows = self._taking
        while (until := open_until(rows[-1], limits)) is not None:
            more = self.mailbox.take_next(lambda other: belongs(rows[-1], other, limits))
            wait_s = (until - self._tools.turns.clock()).total_seconds()
            if more is not None:
                rows.append(more)
            elif 0 < wait_s <= JOIN_WITHIN.total_seconds():  # longer: the clock was set back since it came in
                await asyncio.sleep(min(wait_s, GATHER_EVERY_S))
            else:
                break

    async def _refuse(
        self, rows: Sequence[InboxRow], detail: str, text: str, outcome: Outcome = Outcome.REFUSED
    ) -> None:
        row = rows[0]
        channel = await self._tools.channels.loaded(row.event.address)
        parts = compose(channel, Said(row.event.address, f"inbox:{row.id}", text, answers=answering(row)))

        def job(connection: Connection) -> list[outbox.OutboxRow]:
            now = self._tools.turns.clock()
            for one in rows:
                inbox.settle(connection, one.id, outcome, now, detail)
            return outbox.put(connection, row.tenant, parts, now)

        await self._store.write(job, self._tools.turns.delivery.publish)

    async def _claim(self, begun: Begun, ids: Sequence[int]) -> Sequence[int]:
        """Begin the turn in one commit, if every one of its rows is open still; those that are."""
        seq = self.conversation.next_seq(begun.turn.session_id, 1)

        def job(connection: Connection) -> Sequence[int]:
            journal.hold(connection, self._fence)
            still_open = inbox.open_of(connection, ids, begun.turn.id) if len(ids) > 1 else ids
            if len(still_open) < len(ids):
                return still_open
            if not inbox.claim(connection, ids, begun.turn.id):
                return ()
            journal.begin_turn(connection, begun.turn)
            journal.append(connection, begun.turn, seq, begun.events, begun.turn.started_at)
            return ids

        failpoint("claim_pre")
        return await self._store.write(job)
