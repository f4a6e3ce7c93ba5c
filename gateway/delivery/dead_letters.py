"""Operators say again, or give up, what could not be delivered; one commit with its audit row."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from channels.messages import Address
from gateway.store import outbox, people
from gateway.store.engine import Connection, Store
from gateway.store.outbox import FAILED, PartState
from gateway.store.people import AuditRow
from gateway.store.reports import MAX_ROW_ID, OutboxLine, outbox_words
from gateway.texts import TranslatedError

T = TypeVar("T")


class NoSuchPart(TranslatedError):
    """There is no part of this id."""


class PartNotFailed(TranslatedError):
    """The part is not one that failed; the message says what became of it."""


class DeadLetters:
    """The failed parts of one store."""

    def __init__(self, store: Store, clock: Callable[[], datetime], reread: Callable[[Address], None]) -> None:
        """`reread` tells a lane that it has something to say again; nothing where no gateway runs."""
        self._store = store
        self._clock = clock
        self._reread = reread
        self.tenant = store.home_tenant
        """Whose they are where nobody says."""

    async def retry(self, tenant: str, id_: int, by: str) -> OutboxLine:
        """Say a failed part again, as it was; the part as it was. One that may be there already is marked as such.

        Raises:
            NoSuchPart, PartNotFailed: nothing was changed.
        """

        def change(connection: Connection) -> Address | None:
            return outbox.redrive(connection, tenant, id_)

        audit = AuditRow(self._clock(), by, "outbox_retried", f"outbox:{id_}", "")
        line, address = await self._change(tenant, id_, audit, change)
        if address is not None:
            self._reread(address)
        return line

    async def discard(self, tenant: str, id_: int, by: str) -> OutboxLine:
        """Give a failed part up; the part as it was.

        Raises:
            NoSuchPart, PartNotFailed: nothing was changed.
        """
        now = self._clock()

        def change(connection: Connection) -> None:
            outbox.discard(connection, tenant, id_, now)

        audit = AuditRow(now, by, "outbox_discarded", f"outbox:{id_}", "")
        line, _ = await self._change(tenant, id_, audit, change)
        return line

    async def _change(
        self,
        tenant: str,
        id_: int,
        audit: AuditRow,
        change: Callable[[Connection], T],
    ) -> tuple[OutboxLine, T]:
        ran: list[tuple[OutboxLine, T]] = []

        def job(connection: Connection) -> tuple[OutboxLine, T]:
            found = outbox_words(connection, tenant, id_) if 0 < id_ <= MAX_ROW_ID else None
            if found is None:
                raise NoSuchPart("ops.no_part", id=id_)
            if found.line.state in FAILED:
                ran[:] = [(found.line, change(connection))]
                people.record(connection, tenant, audit)
            elif not ran:  # else an earlier try of this commit holds, whose outcome nobody heard
                raise what_became_of(found.line)
            return ran[0]

        return await self._store.commit(job)


def what_became_of(line: OutboxLine) -> PartNotFailed:
    """Where a part stands that is nobody's to decide on."""
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
