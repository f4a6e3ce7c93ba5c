"""A use of a command without a gateway, and its commit over an open connection."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar, cast

import sqlalchemy as sa

from agent.catalogue import Catalogue
from agent.permission_rules import Mode
from agent.ports import Principal
from channels.messages import Address, ChatKind, InboundMessage, Sender
from gateway.commands.base import Cleared, Command, Invocation, Reply, Write
from gateway.store.engine import Store
from gateway.store.inbox import InboxRow
from gateway.store.journal import SessionState
from gateway.store.tenancy import run_as
from gateway.texts import HARNESS
from tests.fakes.practice_reader import ANA, NOW

T = TypeVar("T")

KEY = "agent:test:sim:main:direct:1"


@dataclass
class FakeSession:
    """A session as a command sees it, in the state that the test sets."""

    state: SessionState = field(default_factory=lambda: SessionState("s1", 1, "steer", 0, ()))
    running: bool = False
    cancels: bool = False  # whether the running turn is one that the command may end
    cleared: Cleared = field(default_factory=Cleared)
    files: Sequence[str] = ()
    deletes: bool | None = None
    deleted: int = 0
    key: str = KEY
    configured_permission_mode: Mode = Mode.DEFAULT
    tools: Sequence[str] = ("order", "pay", "read_file")

    def cancel(self, _user_id: str | None) -> bool:
        return self.cancels

    def clear(self, _connection: sa.Connection, _why: str, _user_id: str | None, _now: datetime) -> Cleared:
        return self.cleared

    async def answer_aside(self, question: str) -> str:
        return question

    async def read_files(self) -> Sequence[str]:
        return self.files

    async def delete_message(self) -> bool | None:
        self.deleted += 1
        return self.deletes

    def mark(self, tenant: str, sender: str) -> str:
        return f"{tenant}/{sender}"


class ConnectedStore:
    """Reads over an open connection, as one tenant."""

    def __init__(self, connection: sa.Connection, tenant: str) -> None:
        self._connection = connection
        self._tenant = tenant

    async def read(self, query: Callable[[sa.Connection], T], *, lasting: bool = False) -> T:
        return run_as(self._tenant, query, self._connection)


def invocation(
    name: str,
    arguments: str = "",
    who: Principal = ANA,
    session: FakeSession | None = None,
    *,
    direct: bool = True,
    store: Store | sa.Connection | None = None,
    texts: Catalogue = HARNESS,
) -> Invocation:
    """Return a use of a command in a chat of `sim:1`."""
    event = InboundMessage(
        event_id="e1",
        message_id="m1",
        address=Address("sim", "main", "1"),
        sender=Sender("1", "Ana"),
        received_at=NOW,
        kind=ChatKind.DIRECT if direct else ChatKind.GROUP,
        text=f"/{name} {arguments}",
        tenant=who.tenant,
    )
    row = InboxRow(1, who.tenant, KEY, who.user_id, event, NOW)
    reads = (
        cast("Store", ConnectedStore(store, who.tenant)) if isinstance(store, sa.Connection) else cast("Store", store)
    )
    return Invocation(name, arguments, who, NOW, row, session or FakeSession(), reads, texts, lambda: NOW)


async def run(command: Command, asked: Invocation, connection: sa.Connection) -> Reply:
    """Return what a command says, with its job run over the connection."""
    wanted = await command.handle(asked)
    return wanted.run(connection) if isinstance(wanted, Write) else wanted
