"""Intake in pairing mode over a real store, with a channel in memory, an operator and a clock that is moved."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa

from channels.base import ChannelState
from channels.messages import InboundEvent, InboundMessage
from gateway.access.agents import AgentChoice
from gateway.access.codes import AccessKeys
from gateway.access.config import AccessConfig
from gateway.access.invites import Terms
from gateway.access.policy import AccessSnapshot
from gateway.inbound.intake import ChannelSink, Intake
from gateway.inbound.reception import ReceptionDeps, take_up
from gateway.operators.process import AccessChange, DetachedProcess
from gateway.operators.service import Operators
from gateway.store.engine import Connection
from gateway.store.inbox import InboxRow
from gateway.store.people import Person
from tests.fakes.outages import FickleEngine
from tests.fakes.people import KEY, NOON
from tests.fakes.spine import QuickStore, Spine

KEYS = AccessKeys.derive_from(KEY)
AGENTS = AgentChoice("coach", AccessSnapshot())


class UnheardHealth:
    def note(self, state: ChannelState, detail: str, number: int) -> None:
        pass

    def note_missing(self, detail: str, number: int) -> None:
        pass


class DoorProcess(DetachedProcess):
    """The process behind the intake: it admits what people said before they were let in."""

    def __init__(self, door: "Door") -> None:
        super().__init__()
        self._door = door

    def take_up(
        self, connection: Connection, said: InboundEvent | None, person: Person, now: datetime
    ) -> InboxRow | None:
        return take_up(connection, said, person, now, AGENTS)

    def announce(self, change: AccessChange) -> None:
        self._door.changed(change)


@dataclass
class Door:
    """An intake in pairing mode over a real store, with an operator and a clock that is moved."""

    spine: Spine
    access: AccessConfig = field(default_factory=AccessConfig)
    snapshot: AccessSnapshot = field(default_factory=AccessSnapshot)
    rows: list[InboxRow] = field(default_factory=list)
    terminal: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.spine.channel.limited(max_text=2000)
        self.operators = Operators(self.spine.store, KEY, lambda: self.spine.now, DoorProcess(self))
        self.under(self.access)

    def under(self, access: AccessConfig) -> None:
        """Begin anew with these rules."""
        deps = ReceptionDeps(
            AGENTS,
            KEYS,
            self.spine.vault,
            show=self.terminal.append,
            clock_s=self.seconds,
        )
        self.snapshot.configure("default", access)
        self.intake = Intake(
            self.spine.store,
            access,
            self.snapshot,
            self.spine.delivery,
            self,
            lambda _key: 0,
            lambda: self.spine.now,
            deps,
        )

    def seconds(self) -> float:
        return (self.spine.now - NOON).total_seconds()

    def changed(self, change: AccessChange) -> None:
        """Publish an operator's change, as a running gateway does."""
        if change.person is not None:
            self.snapshot.put(change.person)
        if change.row is not None:
            self.rows.append(change.row)

    def publish(self, row: InboxRow) -> None:
        self.rows.append(row)

    def reread(self) -> None:
        pass

    async def receive(self, *events: InboundEvent) -> None:
        """Take in an event as a channel hands it in."""
        sink = ChannelSink(self.spine.store, {"default": self}, self.spine.channel, UnheardHealth(), "default")
        await sink.receive(events)

    async def say(self, text: str, who: str = "7", **more: object) -> InboundMessage:
        event = self.spine.message(text, who, f"c{who}", **more)
        await self.receive(event)
        return event

    async def told(self, who: str = "7") -> list[str]:
        """Return what this person has been told by now."""
        await self.spine.quiet()
        return self.spine.channel.shown(f"c{who}")

    async def approve(self, who: str = "7") -> None:
        """Let this person in, as an operator does."""
        waiting = (await self.operators.list_requests("cli")).requests
        (request,) = [one.request for one in waiting if one.sender == f"sim:{who}"]
        await self.operators.approve_request("cli", request)

    async def invite(self, terms: Terms | None = None) -> str:
        return (await self.operators.invite_by("cli", terms or Terms())).code

    @property
    def taken(self) -> list[str]:
        return [row.event.text for row in self.rows if isinstance(row.event, InboundMessage)]

    async def everything(self) -> str:
        """Return every row of every table."""

        def dump(connection: sa.Connection) -> str:
            tables = connection.execute(sa.text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars().all()
            return "\n".join(str(connection.execute(sa.text(f'SELECT * FROM "{name}"')).all()) for name in tables)

        return await self.spine.store.read(dump)


@asynccontextmanager
async def pairing_door(directory: Path) -> AsyncIterator[Door]:
    """Return an intake in pairing mode that has let in no one yet."""
    store = await QuickStore(FickleEngine(directory / "tenk.db")).start()
    spine = Spine(store)
    spine.now = NOON
    await spine.begin()
    yield Door(spine)
    await spine.kill()
    await store.aclose()
