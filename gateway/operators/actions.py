"""Declarations of actions: the least rank, the audit record, and the commit that checks the rank."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import structlog

from agent.errors import Refused
from gateway.access import ranks
from gateway.access.ranks import Rank
from gateway.errors import GatewayError
from gateway.store import people
from gateway.store.engine import Connection, Store
from gateway.store.people import AuditRow
from gateway.texts import HARNESS

LEAST_NUMBER_CHARS = 4
"""Fewest characters of an abbreviated id; lists show the last eight."""

log = structlog.get_logger()

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class OperationRefused(Refused, GatewayError):
    """A refusal: nothing was changed. The message says why and what to do."""

    def __str__(self) -> str:
        return self.text(HARNESS, None)


class NotAllowed(OperationRefused):
    """A refusal because the actor's rank is too low for the action."""


class HasStore(Protocol):
    """An object whose methods are actions."""

    @property
    def store(self) -> Store: ...

    @property
    def clock(self) -> Callable[[], datetime]: ...


S = TypeVar("S", bound=HasStore)


@dataclass(frozen=True, slots=True)
class Declaration:
    """The declaration of one action."""

    name: str
    least: Rank
    audit: str | None  # the audit row that its commit writes; None: it changes no rows of its own


ACTIONS: dict[str, Declaration] = {}
"""Every action of the service by the name of its method."""


@dataclass(frozen=True, slots=True)
class ActionCall:
    """One execution of an action by an actor."""

    action: Declaration
    by: str
    """An actor of `gateway.access.ranks`: "cli", "key:ID" or a user's id."""
    now: datetime
    store: Store

    async def check(self) -> None:
        """Check the actor's rank before an action that commits nothing.

        Raises:
            NotAllowed: the rank is too low.
        """
        if self.by != ranks.BY_CLI and (refused := await self.store.read(self.refusal)) is not None:
            raise refused

    async def commit(self, job: Callable[[Connection], T | OperationRefused]) -> T:
        """Check the actor's rank and run the job in one commit. Raise the refusal if the job returns one.

        A refused job's changes are committed, too: they count wrong codes.

        Raises:
            OperationRefused: the rank is too low, or the job refused.
        """

        def decide(connection: Connection) -> T | OperationRefused:
            return self.refusal(connection) or job(connection)

        done = await self.store.commit(decide)
        if isinstance(done, OperationRefused):
            log.warning("operation_refused", action=self.action.name, approver=self.by, why=str(done))
            raise done
        log.info(self.action.audit or self.action.name, approver=self.by)
        return done

    def record(self, connection: Connection, tenant: str, subject: str, detail: str = "") -> None:
        """Write the audit row that the action declares."""
        assert self.action.audit is not None, "the action declares an audit row"
        people.record(connection, tenant, AuditRow(self.now, self.by, self.action.audit, subject, detail))

    def of_tenant(self, tenant: str) -> "ActionCall":
        """Return the same call on one tenant's rows."""
        return replace(self, store=self.store.of(tenant))

    def refusal(self, connection: Connection) -> NotAllowed | None:
        """Return the refusal of an actor whose rank is too low."""
        allowed = ranks.of(connection, self.by) >= self.action.least
        return None if allowed else NotAllowed("access.why_not_allowed")


def action(
    least: Rank, audit: str | None = None
) -> Callable[[Callable[Concatenate[S, ActionCall, P], Awaitable[R]]], Callable[Concatenate[S, str, P], Awaitable[R]]]:
    """Declare a method as an action. Callers pass the actor, the method receives an `ActionCall`.

    Args:
        least: the lowest rank that may do it. `ActionCall.commit` checks it in the commit.
        audit: the audit row of the commit; None if the action commits nothing. Then the rank is checked first.
    """

    def declare(
        method: Callable[Concatenate[S, ActionCall, P], Awaitable[R]],
    ) -> Callable[Concatenate[S, str, P], Awaitable[R]]:
        declared = ACTIONS[method.__name__] = Declaration(method.__name__, least, audit)

        @wraps(method)
        async def act(self: S, by: str, /, *args: P.args, **kwargs: P.kwargs) -> R:
            call = ActionCall(declared, by[:128], self.clock(), self.store)
            if audit is None:
                await call.check()
            return await method(self, call, *args, **kwargs)

        return act

    return declare


def action_in_commit(
    least: Rank, audit: str
) -> Callable[
    [Callable[Concatenate[S, ActionCall, Connection, P], R]], Callable[Concatenate[S, str, Connection, P], R]
]:
    """Declare a method as an action inside its caller's commit, such as a chat command's.

    Callers pass the actor and the connection. It raises `NotAllowed` if the actor's rank is below `least`.
    """

    def declare(
        method: Callable[Concatenate[S, ActionCall, Connection, P], R],
    ) -> Callable[Concatenate[S, str, Connection, P], R]:
        declared = ACTIONS[method.__name__] = Declaration(method.__name__, least, audit)

        @wraps(method)
        def act(self: S, by: str, connection: Connection, /, *args: P.args, **kwargs: P.kwargs) -> R:
            call = ActionCall(declared, by[:128], self.clock(), self.store)
            if (refused := call.refusal(connection)) is not None:
                raise refused
            return method(self, call, connection, *args, **kwargs)

        return act

    return declare
