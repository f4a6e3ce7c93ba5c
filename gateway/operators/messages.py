"""Actions about messages: list the inbox and outbox, trace messages, retry or discard failed parts."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TypeVar

from gateway.access.ranks import Rank
from gateway.operators.actions import ActionCall, OperationRefused, action
from gateway.operators.base import OperatorsBase
from gateway.operators.models import (
    Inbox,
    InboxQuery,
    Outbox,
    OutboxChange,
    OutboxQuery,
    OutboxText,
    PartLine,
    Trace,
    TraceQuery,
)
from gateway.operators.tracing import trace_person
from gateway.store import outbox, reports
from gateway.store.engine import Connection
from gateway.store.inbox import Outcome
from gateway.store.outbox import FAILED, PartState
from gateway.store.reports import MAX_ROW_ID, OPEN, OutboxLine
from gateway.store.tenancy import whose_rows

T = TypeVar("T")


class NoSuchPart(OperationRefused):
    """No part has this id."""


class PartNotFailed(OperationRefused):
    """The part has not failed; the message says its state."""


class MessageActions(OperatorsBase):
    """The actions about messages of one tenant; of the default tenant if the store is the whole."""

    @action(Rank.OPERATOR)
    async def list_inbox(self, _call: ActionCall, wanted: InboxQuery) -> Inbox:
        """Return the newest received rows, newest first.

        Raises:
            OperationRefused: there is no such outcome.
        """
        outcomes = (OPEN, *map(str, Outcome))
        if wanted.outcome is not None and wanted.outcome not in outcomes:
            raise OperationRefused("ops.no_outcome", given=wanted.outcome, known=", ".join(outcomes))
        rows = await self.store.read(
            lambda connection: reports.inbox_lines(connection, whose_rows(), wanted.limit, wanted.outcome)
        )
        return Inbox(rows=tuple(rows))

    @action(Rank.OPERATOR)
    async def list_outbox(self, _call: ActionCall, wanted: OutboxQuery) -> Outbox:
        """Return the newest parts in some states, newest first.

        Raises:
            OperationRefused: there is no such state.
        """
        states = [state.strip() for state in wanted.state.split(",")]
        if unknown := [state for state in states if state not in (*PartState,)]:
            raise OperationRefused("ops.no_state", given=unknown[0], known=", ".join(PartState))
        lines = await self.store.read(
            lambda connection: reports.outbox_lines(connection, whose_rows(), wanted.limit, states)
        )
        return Outbox(parts=tuple(map(to_part, lines)))

    @action(Rank.OPERATOR)
    async def show_part(self, _call: ActionCall, id_: int) -> PartLine:
        """Return one part.

        Raises:
            NoSuchPart: no part has this id.
        """
        return to_part((await self._load_part(id_)).line)

    @action(Rank.MACHINE)
    async def show_part_text(self, _call: ActionCall, id_: int) -> OutboxText:
        """Return one part with its text.

        Raises:
            NoSuchPart: no part has this id.
        """
        found = await self._load_part(id_)
        return OutboxText(line=to_part(found.line), plain=found.plain, files=found.files)

    async def _load_part(self, id_: int) -> reports.OutboxWords:
        found = None
        if 0 < id_ <= MAX_ROW_ID:
            found = await self.store.read(lambda connection: reports.outbox_words(connection, whose_rows(), id_))
        if found is None:
            raise NoSuchPart("ops.no_part", id=id_)
        return found

    @action(Rank.OPERATOR, audit="outbox_retried")
    async def retry_part(self, call: ActionCall, id_: int) -> OutboxChange:
        """Send a failed part again unchanged. Mark it if it may have arrived.

        Raises:
            NoSuchPart, PartNotFailed: nothing was changed.
        """
        await self._decide(call, id_, lambda c: outbox.redrive(c, self.store.home_tenant, id_))
        return OutboxChange(id=id_, state="ready")

    @action(Rank.OPERATOR, audit="outbox_discarded")
    async def discard_part(self, call: ActionCall, id_: int) -> OutboxChange:
        """Discard a failed part.

        Raises:
            NoSuchPart, PartNotFailed: nothing was changed.
        """
        await self._decide(call, id_, lambda c: outbox.discard(c, self.store.home_tenant, id_, call.now))
        return OutboxChange(id=id_, state="discarded")

    async def _decide(self, call: ActionCall, id_: int, change: Callable[[Connection], T]) -> T:
        tenant, ran = self.store.home_tenant, list[T]()

        def job(connection: Connection) -> T | OperationRefused:
            found = reports.outbox_words(connection, tenant, id_) if 0 < id_ <= MAX_ROW_ID else None
            if found is None:
                return NoSuchPart("ops.no_part", id=id_)
            if found.line.state in FAILED:
                ran[:] = [change(connection)]
                call.record(connection, tenant, f"outbox:{id_}")
            elif not ran:  # else an earlier attempt of this commit succeeded without our knowing
                return not_failed(found.line)
            return ran[0]

        return await call.commit(job)

    @action(Rank.OPERATOR)
    async def trace(self, call: ActionCall, wanted: TraceQuery) -> Trace:
        """Trace a person's messages around a time, or their last ones.

        Raises:
            OperationRefused: no person fits, or several do, or the time cannot be read.
        """
        return await self.store.read(lambda connection: trace_person(connection, wanted, call.now))


def to_part(line: OutboxLine) -> PartLine:
    """Return an outbox row as the operators' model."""
    channel, _, account = line.account.partition(":")
    return PartLine(**{**asdict(line), "channel": channel, "account": account})


def not_failed(line: OutboxLine) -> PartNotFailed:
    """Return the refusal to retry or discard a part: it was sent or discarded, or is still under way."""
    match line.state:
        case PartState.SENT:
            at = "" if line.done_at is None else f"{line.done_at:%Y-%m-%d %H:%M:%S}"
            return PartNotFailed("ops.part_sent", id=line.id, at=at, message=line.platform_id)
        case PartState.DISCARDED:
            return PartNotFailed("ops.part_discarded", id=line.id)
        case _ if line.parked is not None:
            return PartNotFailed("ops.part_parked", id=line.id, why=line.parked)
        case _:
            return PartNotFailed("ops.part_under_way", id=line.id, tries=line.attempts)
